"""Helleputte and Dupont (2009), Partially supervised feature selection with regularized linear
models, section 4.3: two signatures of DLBCL from all rows.

30 genes by l2-AROM and by PS-l2-AROM with TR and LDHA favoured by 10, chosen once on all 77 rows;
then a linear SVM (C = 1) judged by leave-one-out. The paper itself calls that protocol biased, and
so does this study: its rates are too good. Those with the genes chosen anew without the row that is
tested stand beside them. Claims B1 to B4.

How claims are tested was written down before the first run: ranks and the number of common genes
must be those that are printed (there is no chance in them, on the same table); an accuracy holds
if it is inside our 95% interval. That more genes change than are favoured is tested by itself.

After that run, and because B1 did not hold, the same was done with other preparations of the table,
of which the paper says nothing: logarithms, and columns in their units. They change no verdict.
"""

from typing import Any

import polars as pl
import polars.selectors as cs

from featly import AROM
from featly.learners import LinearSVM
from featly.study import Claim, Dataset, Finding, LeaveOneOut, Results, Study
from featly.study.store import ALL_ROWS
from studies.prior_measures import MARKERS, PLAIN, PS, WEIGHT, frame_of, with_markers

SIZE = 30
TABLE = "DLBCL"
PRINTED = {PLAIN: 0.93, PS: 0.92}


def orders(results: Results, table: str = TABLE) -> dict[str, list[str]]:
    """Names of the genes, best first, from all rows."""
    names = results.about["datasets"][table]["names"]
    is_whole_fit = (pl.col("split") == ALL_ROWS) & (pl.col("dataset") == table)
    whole = results.rankings.filter(is_whole_fit)
    return {
        method: [names[column] for column in order]
        for method, order in whole.select("method", "order").rows()
    }


def marker_ranks(order: list[str]) -> dict[str, int]:
    """Return the ranks of the markers, from 1."""
    return {marker: order.index(gene) + 1 for marker, gene in MARKERS[TABLE].items()}


def list_ranks(ranks: dict[str, int]) -> str:
    """Return markers with their ranks, in words."""
    return ", ".join(f"{marker} has rank {rank}" for marker, rank in ranks.items())


def b1(results: Results) -> Finding:
    """Neither marker in the signature without the prior."""
    ranks = marker_ranks(orders(results)[PLAIN])
    return Finding(min(ranks.values()) > SIZE, list_ranks(ranks), min(ranks.values()))


def b2(results: Results) -> Finding:
    """Both markers first with the prior."""
    ranks = marker_ranks(orders(results)[PS])
    return Finding(set(ranks.values()) == {1, 2}, list_ranks(ranks), max(ranks.values()))


def common(results: Results) -> list[str]:
    """Genes of both signatures, in the order of the one without the prior."""
    signatures = orders(results)
    return [gene for gene in signatures[PLAIN][:SIZE] if gene in signatures[PS][:SIZE]]


def b3a(results: Results) -> Finding:
    """Six genes are common."""
    shared = common(results)
    return Finding(len(shared) == 6, ", ".join(shared) or "none", len(shared))


def b3b(results: Results) -> Finding:
    """More genes change than are favoured."""
    n_changed = SIZE - len(common(results))
    text = f"{n_changed} genes of {SIZE} differ, {len(MARKERS[TABLE])} are favoured"
    return Finding(n_changed > len(MARKERS[TABLE]), text, n_changed)


def claims() -> list[Claim]:
    """B1 to B4."""
    where = "sec. 4.3"
    all_claims = [
        Claim("B1", "TR and LDHA outside the 30 genes of l2-AROM", b1, "rank > 30", where),
        Claim("B2", "TR and LDHA have the two largest weights of PS-l2-AROM", b2, "ranks 1, 2",
              where),
        Claim("B3a", "genes common to the two signatures", b3a, 6, where),
        Claim("B3b", "more genes differ between the signatures than are favoured", b3b, None,
              where),
    ]  # fmt: skip
    for name, method in (("B4a", PLAIN), ("B4b", PS)):
        line_key: dict[str, Any] = {
            "dataset": TABLE,
            "method": method,
            "metric": "accuracy",
            "size": SIZE,
        }
        text = f"leave-one-out accuracy with the 30 genes of {method}, chosen on all rows"
        all_claims.append(Claim.value(name, text, PRINTED[method], where=where, **line_key))
    text = "leave-one-out accuracy with the 30 genes of Shipp et al. (2002)"
    why = "their genes and their weighted voting are not here"
    return [*all_claims, Claim.untestable("B4c", text, why, published=0.91, where=where)]


def study(selection: str = "outside") -> Study:
    """The plan; the honest one with ``"inside"``."""
    return Study(
        {PS: AROM(), PLAIN: AROM(schema={})},
        with_markers([TABLE]),
        LeaveOneOut(),
        sizes=[SIZE],
        learner={"linear SVM": LinearSVM()},
        balanced=False,
        metrics=("accuracy", "bcr"),
        selection=selection,
        claims=claims() if selection == "outside" else (),
        title="Helleputte and Dupont 2009, two signatures from all rows",
    )


def rates(results: Results) -> dict[str, dict[str, float]]:
    """Accuracy and BCR by method."""
    return {
        metric: dict(results.curves(metric).select("method", "mean").rows())
        for metric in ("accuracy", "bcr")
    }


def extras(results: Results) -> dict[str, Any]:
    """The signatures, and the rates beside honest ones."""
    biased, honest = rates(results), rates(study("inside").run())
    rows = [
        [
            method,
            f"{PRINTED[method]:.0%}",
            *(
                f"{figures[metric][method]:.1%}"
                for metric in biased
                for figures in (biased, honest)
            ),
        ]
        for method in (PLAIN, PS)
    ]
    head = ["30 genes of", "printed"]
    head += ["accuracy, chosen on all rows", "chosen without the row", "BCR, chosen on all rows"]
    signatures = orders(results)
    return {
        "signatures": {method: order[:SIZE] for method, order in signatures.items()},
        "common": common(results),
        "ranks": {method: marker_ranks(order) for method, order in signatures.items()},
        "rates": {"chosen on all rows": biased, "chosen without the row": honest},
        "markers": MARKERS[TABLE],
        "seeds": {"none": "nothing is drawn: leave-one-out, and methods without chance"},
        "tables": [
            {
                "title": "Leave-one-out, biased and honest",
                "head": [*head, "chosen without the row"],
                "rows": rows,
            },
            other_ways(),
        ],
    }


def logarithms() -> Dataset:
    """The table as arrays of that kind are often prepared: cut at 20 and 16,000, log2."""
    frame = frame_of(TABLE).with_columns(cs.float().clip(20, 16_000).log(2))
    favoured = dict.fromkeys(MARKERS[TABLE].values(), WEIGHT)
    return Dataset.of(frame, "class", name="logarithms", schema={"prior": favoured})


def other_ways() -> dict[str, Any]:
    """Ranks, common genes and biased accuracy with other preparations of the table."""
    units = {f"{PS} in units": AROM(standardize=False)}
    units[f"{PLAIN} in units"] = AROM(standardize=False, schema={})
    tables = {**with_markers([TABLE]), "logarithms": logarithms()}
    results = Study(
        {PS: AROM(), PLAIN: AROM(schema={}), **units},
        tables,
        LeaveOneOut(),
        sizes=[SIZE],
        learner={"linear SVM": LinearSVM()},
        balanced=False,
        metrics=("accuracy",),
        selection="outside",
    ).run()
    rates = results.curves("accuracy").select("dataset", "method", "mean").rows()
    accuracy = {(table, method): mean for table, method, mean in rates}
    rows = []
    for table in tables:
        by_method = orders(results, table)
        for columns, suffix in (("standardised", ""), ("in their units", " in units")):
            plain, favouring = PLAIN + suffix, PS + suffix
            common_genes = set(by_method[plain][:SIZE]) & set(by_method[favouring][:SIZE])
            cells = [
                ", ".join(map(str, marker_ranks(by_method[m]).values())) for m in (plain, favouring)
            ]
            right = [f"{accuracy[table, m]:.1%}" for m in (plain, favouring)]
            values = "as they are" if table == TABLE else "logarithms"
            rows.append([values, columns, *cells, str(len(common_genes)), *right])
    head = ["values", "columns", "TR, LDHA: ranks by l2-AROM", "by PS-l2-AROM", "common genes"]
    head += ["accuracy (biased), l2-AROM", "PS-l2-AROM"]
    return {"title": "Other preparations of the table", "head": head, "rows": rows}
