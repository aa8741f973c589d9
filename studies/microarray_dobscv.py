"""Microarrays of Bolón-Canedo et al. (2015), chapter 4, in five DOB-SCV folds.

As microarray, but near rows of a class go to different folds (Moreno-Torres, Sáez and Herrera,
2012). What is compared with plain folds is read from the committed results of that study, repeat by
repeat.

How claims are tested was written down before the first run; those of microarray as there, and

- E5 NB, E5 SVM: accuracy by DOB-SCV less that by plain folds, average over the twelve rows of the
  tables and over sets; Student's interval over repeats is above 0;
- E5 Brain, E5 DLBCL: the same of one set, for SVM and naive Bayes together (4.5.2.2: "DOB-SCV
  outperforms"); above 0;
- E5 CNS: "no important differences": of SVM and naive Bayes together, less than 0.02 either way,
  interval included;
- E7: of the 24 combinations of learner, group of methods (none, subset filters, rankers at 10, at
  50) and way to deal, SVM after subset filters by DOB-SCV has the highest accuracy, average over
  sets, and its lead over the second has an interval over repeats above 0;
- figure 4.4 (written down after the first run of the others): DLBCL, the first two genes of mRMR in
  each training part; the accuracy of the SVM on them falls less from training to test rows in
  DOB-SCV folds than in plain ones, Student's interval over ten repeats of the difference above 0.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.typing import FloatArray
from featly.learners import LinearSVM
from featly.measures.statistics import plain_interval
from featly.preprocessing import Filler
from featly.study import Claim, DistributionBalancedKFold, Finding, KFold, Results, Study
from featly.study.splits import Splitter
from studies import microarray
from studies.microarray_claims import (
    AVERAGES,
    BRAIN,
    FOLDS,
    GROUPS,
    IMPORTANT,
    LEARNERS,
    NAMES,
    ROWS,
    TABLES,
    Check,
    Key,
    by_repeat,
    cells,
    combination,
    deal_gain,
    direction_claims,
    gene_numbers,
    read_printed,
    sets_of,
    stored_repeats,
    table_of,
    table_of_genes,
    table_of_rates,
)
from studies.prior_measures import Gain

PLAIN = Path(__file__).parent / "results" / "microarray.json"
FIGURE_REPEATS = 10
NOT_YET = "the study of plain folds has not been run: python -m studies microarray"


def study() -> Study:
    """The plan."""
    return Study(
        microarray.methods_and_ties(),
        microarray.datasets(),
        DistributionBalancedKFold(FOLDS, n_repeats=microarray.REPEATS),
        sizes=microarray.SIZES,
        learner=microarray.learners(),
        balanced=False,
        metrics=("accuracy", "bcr"),
        fill=True,
        claims=claims(),
        title="book, chapter 4: microarrays, five DOB-SCV folds",
    )


# ---- plain folds and DOB-SCV ---------------------------------------------------------------------
def claim_better(learner: str) -> Check:
    """E5 of a learner, over all sets."""

    def check(results: Results) -> Finding:
        plain = stored_repeats(PLAIN)
        if plain is None:
            return Finding(None, NOT_YET)
        balanced = by_repeat(results)
        each = {name: deal_gain(balanced, plain, learner, [name]) for name in sets_of(plain)}
        overall = deal_gain(balanced, plain, learner, list(each))
        listing = "; ".join(f"{name} {gain}" for name, gain in each.items())
        return overall.as_finding(
            overall.is_positive, f"{listing}; printed over seven sets {printed_gain(learner)}"
        )

    return check


def printed_gain(learner: str) -> str:
    """Return the gain of the printed averages over all seven sets, mean of rows that have both."""
    plain, balanced = (
        next(AVERAGES[table] for table, pair in TABLES.items() if pair == (learner, way))
        for way in ("CV", "DOB-SCV")
    )
    pairs = [(a, b) for a, b in zip(plain, balanced, strict=True) if None not in (a, b)]
    return f"{np.mean([b - a for a, b in pairs]):+.3f}"  # type: ignore[operator]


def mean_gain(results: Results, sets: Sequence[str]) -> Gain | None:
    """Return DOB-SCV less plain folds, mean of SVM and naive Bayes."""
    plain = stored_repeats(PLAIN)
    if plain is None:
        return None
    balanced = by_repeat(results)

    def mean(accuracies: dict[Key, FloatArray]) -> dict[Key, FloatArray]:
        return {
            (dataset, row, "both"): (accuracies[dataset, row, "SVM"] + values) / 2
            for (dataset, row, learner), values in accuracies.items()
            if learner == "naive Bayes"
        }

    return deal_gain(mean(balanced), mean(plain), "both", sets)


def claim_outperforms(dataset: str) -> Check:
    """E5 of a set."""

    def check(results: Results) -> Finding:
        gain = mean_gain(results, [dataset])
        if gain is None:
            return Finding(None, NOT_YET)
        return gain.as_finding(gain.is_positive, "mean of SVM and naive Bayes, over repeats")

    return check


def no_difference(results: Results) -> Finding:
    """E5 of CNS."""
    gain = mean_gain(results, ["CNS"])
    if gain is None:
        return Finding(None, NOT_YET)
    holds = gain.lower > -IMPORTANT and gain.upper < IMPORTANT
    return gain.as_finding(holds, f"mean of SVM and naive Bayes; important is {IMPORTANT} and more")


def combinations(results: Results) -> dict[str, FloatArray] | None:
    """Accuracy by repeat of the 24 combinations, average over sets."""
    plain = stored_repeats(PLAIN)
    if plain is None:
        return None
    ways = {"five folds": plain, "DOB-SCV": by_repeat(results)}
    return {
        f"{learner}, {group}, {way}": combination(accuracies, learner, group)
        for way, accuracies in ways.items()
        for learner in LEARNERS
        for group in GROUPS
    }


def e7(results: Results) -> Finding:
    """SVM after a subset filter by DOB-SCV is best overall."""
    accuracies = combinations(results)
    if accuracies is None:
        return Finding(None, NOT_YET)
    claimed = "SVM, subset filter, DOB-SCV"
    order = sorted(accuracies, key=lambda name: -accuracies[name].mean())
    rival = next(name for name in order if name != claimed)
    n = min(len(accuracies[claimed]), len(accuracies[rival]))
    lead = accuracies[claimed][:n] - accuracies[rival][:n]
    gain = Gain(float(lead.mean()), *plain_interval(lead))
    rank = order.index(claimed) + 1
    listing = ", ".join(f"{name} {accuracies[name].mean():.3f}" for name in order[:4])
    return gain.as_finding(
        gain.is_positive, f"place {rank} of {len(order)}; {listing}; lead over {rival}"
    )


def falls_on_test_rows(splitter: Splitter) -> FloatArray:
    """Return by how much the accuracy on two genes of DLBCL falls from training to test rows.

    The mean of the folds of each repeat.
    """
    X, y, _ = microarray.read("DLBCL")
    mrmr = microarray.methods()["mrmr"].set_params(max_steps=2, n_jobs=1)
    falls = []
    for split in splitter.split(X, y):
        filler = Filler().fit(X[split.train])
        train, test = filler.transform(X[split.train]), filler.transform(X[split.test])
        genes = mrmr.fit(train, y[split.train]).order_[:2]
        machine = LinearSVM().fit(train[:, genes], y[split.train])
        falls.append(
            (machine.predict(train[:, genes]) == y[split.train]).mean()
            - (machine.predict(test[:, genes]) == y[split.test]).mean()
        )
    return np.array(falls).reshape(-1, FOLDS).mean(axis=1)


def figure_4_4(results: Results) -> Finding:
    """Two genes of DLBCL tell the test rows worse in plain folds."""
    plain, balanced = (
        falls_on_test_rows(splitter)
        for splitter in (
            KFold(FOLDS, n_repeats=FIGURE_REPEATS),
            DistributionBalancedKFold(FOLDS, n_repeats=FIGURE_REPEATS),
        )
    )
    gain = Gain(float((plain - balanced).mean()), *plain_interval(plain - balanced))
    why = f"falls by {plain.mean():.3f} in plain folds, by {balanced.mean():.3f} in DOB-SCV folds"
    return gain.as_finding(gain.is_positive, f"{why}; {FIGURE_REPEATS} repeats")


def claims() -> list[Claim]:
    """E3, E5 to E8, and the accuracies of tables 4.12, 4.14 and 4.16."""
    return [
        *gene_numbers("DOB-SCV"),
        Claim(
            "E5 NB",
            "naive Bayes is better on average under DOB-SCV",
            claim_better("naive Bayes"),
            None,
            "4.5.2.2",
        ),
        Claim(
            "E5 SVM",
            "the SVM is better on average under DOB-SCV",
            claim_better("SVM"),
            None,
            "4.5.2.2",
        ),
        Claim(
            "E5 Brain",
            f"{BRAIN}: DOB-SCV outperforms for SVM and naive Bayes",
            claim_outperforms(BRAIN),
            None,
            "4.5.2.2",
        ),
        Claim(
            "E5 CNS",
            "CNS: no important differences between the two",
            no_difference,
            None,
            "4.5.2.2",
        ),
        Claim(
            "E5 DLBCL",
            "DLBCL: DOB-SCV outperforms on average",
            claim_outperforms("DLBCL"),
            None,
            "4.5.2.2",
        ),
        Claim(
            "figure 4.4",
            "DLBCL: mRMR's first two genes separate training rows, and test rows better in DOB-SCV "
            "folds than in plain ones",
            figure_4_4,
            None,
            "figure 4.4",
        ),
        Claim("E7", "best overall: SVM, a subset filter and DOB-SCV", e7, None, "4.5.2.3"),
        *direction_claims("DOB-SCV"),
        *cells("DOB-SCV"),
    ]


# ---- the page ------------------------------------------------------------------------------------
def extras(results: Results) -> dict[str, Any]:
    """The tables again, plain folds beside DOB-SCV, and the data of the figure."""
    shown: dict[str, Any] = {
        "tables": [
            *(table_of(results, table) for table in ("4.12", "4.14", "4.16")),
            table_of_genes(results, "DOB-SCV"),
            table_of_rates(results),
        ]
    }
    accuracies = combinations(results)
    if accuracies is not None:
        rows = [
            [learner, group, *(f"{accuracies[f'{learner}, {group}, {way}'].mean():.3f}"
                               for way in ("five folds", "DOB-SCV"))]
            for learner in LEARNERS
            for group in GROUPS
        ]  # fmt: skip
        shown["tables"].append(
            {
                "title": "Accuracy over the four sets",
                "head": ["learner", "after", "five folds", "DOB-SCV"],
                "rows": rows,
            }
        )
        shown["pairs"] = pairs(results)
    return shown


def pairs(results: Results) -> dict[str, dict[str, list[list[float]]]]:
    """By learner and set, a row of the tables after the other: printed and ours, both ways each."""
    plain, balanced = stored_repeats(PLAIN) or {}, by_repeat(results)
    pairs_by_learner: dict[str, dict[str, list[list[float]]]] = {}
    for learner in LEARNERS:
        tables = [table for table, pair in TABLES.items() if pair[0] == learner]
        for name, dataset in NAMES.items():
            pairs_by_learner.setdefault(learner, {})[dataset] = [
                [
                    *(read_printed(table)[name, row][0] for table in tables),
                    *(
                        round(float(deal[dataset, row, learner].mean()), 4)
                        for deal in (plain, balanced)
                    ),
                ]
                for row in ROWS
            ]
    return pairs_by_learner
