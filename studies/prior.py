"""Helleputte and Dupont (2009), Partially supervised feature selection with regularized linear
models, section 4.3: clinical markers favoured by 10, on DLBCL and leukemia.

200 random splits of 90% and 10%; a soft-margin linear SVM (C = 1, columns standardised on the
training rows) on the best 1, 2, 4, ..., 512 genes, and on 30. Five methods: PS-l2-AROM with the
markers favoured by 10, RANDOM with as many random genes, l2-AROM, RFE and S/N. Figures 1 and 2,
claims B5 to B12 and the part of B15 about these experiments.

What the paper leaves open ("arbitrary splits"):

- splits are stratified: a test part has some 8 rows, and BCR needs both classes among them;
- RFE drops a fifth of the genes that are left in every round, C = 1; AROM has a hard margin;
- RANDOM is 10 draws of genes that are no markers. Each draw is run on all 200 splits, on the very
  splits of the other methods; the paper's 200 runs (20 splits a draw) are among these 2,000, and
  stand in the tables beside them. Kuncheva's index is that of the splits within a draw, averaged
  over draws (across draws sets would differ by what was favoured); its expectation does not depend
  on the number of splits.

How claims are tested was written down before the first run. The figures cannot be read from the
text, so its words are tested. Unless said otherwise, a method is above another if the
interval of the difference, averaged over sizes, is above 0, and equal if it contains 0; see
:mod:`studies.prior_measures` for the intervals. "Small" is 64 genes or fewer (powers of two),
"very small" 8 or fewer, the two bounds that the paper names; where it names none, all powers of
two up to 512 are taken.

- B5, "depends only marginally on beta": against beta = 10, each of 2, 5, 20, 50, 100 changes KI by
  less than 0.05 and BCR by less than 0.02, in the mean of absolute changes over sizes, on both
  tables.
- B6, "improves drastically the stability": PS above l2-AROM at every single small size, by at
  least 0.1 on average.
- B7: BCR of PS above l2-AROM, very small signatures.
- B8: KI of RANDOM above l2-AROM, small (Student's interval over the ten draws); BCR not above,
  small (draws averaged within a split).
- B9: mean BCR of RFE, small, neither the best nor the worst of the five; KI of RFE below PS,
  small; BCR of S/N not below PS, all sizes; KI of S/N at 64 to 512 genes above that at 1 to 32.
- B10: as B6 without the 0.1, and B7, on leukemia; both gains larger than on DLBCL (the tables are
  independent: errors add in squares).
- B11: neither KI nor BCR of RANDOM above l2-AROM, small.
- B12: RFE below PS in KI and in BCR, small; BCR of S/N equal to PS, all sizes; KI of S/N below PS,
  small.
- B15: geometric mean of KI and BCR of PS above l2-AROM on both tables, all sizes.
- ours: does the prior make more stable what it does not favour? KI of signatures of 30 genes
  (the paper's size) without the favoured ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from featly import AROM, SVMRFE, Schema, SignalToNoise
from featly.learners import LinearSVM
from featly.study import Results, Study, Subsampling
from studies.prior_claims import claims, compare_methods, compare_others, five, positions
from studies.prior_measures import (
    DRAWS,
    MARKERS,
    PLAIN,
    PS,
    RANDOM,
    RFE,
    SIZES,
    SN,
    WEIGHT,
    WEIGHTS,
    Runs,
    gains_by_size,
    in_numbers,
    line,
    random_names,
    rate_gain,
    runs,
    seconds,
    stability_gain,
    weight_name,
    with_markers,
)

SPLITS = 200
PRINTED = 20  # splits of a random draw in the paper
SPLIT_SEED, DRAW_SEED = 0, 2009
BOTH = tuple(MARKERS)


class Favouring(BaseEstimator):
    """AROM that favours the columns of its schema by another weight, or others at random."""

    def __init__(
        self,
        weight: float = WEIGHT,
        draw: int | None = None,
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.weight = weight
        self.draw = draw
        self.schema = schema
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Rank."""
        columns = [int(column) for column in Schema.of(self.schema).prior]
        if self.draw is not None:
            columns = draw_genes(X.shape[1], columns, self.draw)
        prior = dict.fromkeys(columns, float(self.weight))
        ranked = AROM(schema={"prior": prior}, n_jobs=self.n_jobs).fit(X, y)
        self.order_, self.ranking_ = ranked.order_, ranked.ranking_
        return self


def draw_genes(n_features: int, markers: Sequence[int], draw: int) -> list[int]:
    """Draw as many columns as there are markers, none of them a marker."""
    shuffled = np.random.default_rng([DRAW_SEED, draw]).permutation(n_features).tolist()
    return [column for column in shuffled if column not in markers][: len(markers)]


def methods() -> dict[str, Any]:
    """The paper's five, RANDOM once a draw, and other weights."""
    return {
        PS: AROM(),
        PLAIN: AROM(schema={}),
        RFE: SVMRFE(schema={}),
        SN: SignalToNoise(schema={}),
        **{name: Favouring(draw=draw) for draw, name in enumerate(random_names(), 1)},
        **{weight_name(weight): Favouring(weight=float(weight)) for weight in WEIGHTS},
    }


def study() -> Study:
    """The plan."""
    return Study(
        methods(),
        with_markers(),
        Subsampling(SPLITS, test_size=0.1, random_state=SPLIT_SEED),
        sizes=SIZES,
        learner={"linear SVM": LinearSVM()},
        balanced=False,
        metrics=("bcr",),
        claims=claims(),
        title="Helleputte and Dupont 2009, clinical markers favoured",
    )


def extras(results: Results) -> dict[str, Any]:
    """Return data of figures 1 and 2, other weights, and tables of both."""
    lines = {
        name: {method: line(method_runs) for method, method_runs in five(results, name).items()}
        for name in BOTH
    }
    sweep = {
        name: {
            f"{beta:g}": line([runs(results, name, weight_name(beta))])
            for beta in sorted([*WEIGHTS, WEIGHT])
        }
        for name in BOTH
    }
    names = {name: results.about["datasets"][name]["names"] for name in BOTH}
    markers = positions(results)
    chosen = {
        name: [
            [names[name][j] for j in draw_genes(len(names[name]), markers[name], draw)]
            for draw in range(1, DRAWS + 1)
        ]
        for name in BOTH
    }
    tables = [
        in_numbers(
            f"Figure {number} in numbers: {name}",
            lines[name]
            | {f"{RANDOM}, {PRINTED} splits a draw": line(draws_as_printed(results, name))},
        )
        for number, name in enumerate(BOTH, 1)
    ]
    tables += [
        in_numbers(f"Other weights than 10: {name}", {f"beta {b}": v for b, v in by_weight.items()})
        for name, by_weight in sweep.items()
    ]
    return {
        "lines": lines,
        "weights": sweep,
        "markers": MARKERS,
        "random_genes": chosen,
        "seeds": {"splits": SPLIT_SEED, "random genes": DRAW_SEED},
        "seconds": seconds(results),
        "tables": [*tables, *tables_of_gains(results), table_of_others(results)],
    }


def tables_of_gains(results: Results) -> list[dict[str, Any]]:
    """PS less l2-AROM, size by size."""
    gain_tables = []
    for label, measure in (("KI", stability_gain), ("BCR", rate_gain)):
        gains = {
            name: [compare_methods(measure, results, name, PS, PLAIN, [size]) for size in SIZES]
            for name in BOTH
        }
        gain_tables.append(gains_by_size(label, gains))
    return gain_tables


def draws_as_printed(results: Results, dataset: str) -> list[Runs]:
    """Return RANDOM with 20 splits of its own for every draw, as in the paper."""
    parts = [slice(PRINTED * k, PRINTED * (k + 1)) for k in range(DRAWS)]
    return [
        replace(draw_runs, orders=draw_runs.orders[part], rates=draw_runs.rates[part])
        for draw_runs, part in zip(five(results, dataset)[RANDOM], parts, strict=True)
    ]


def table_of_others(results: Results) -> dict[str, Any]:
    """Stability of the genes that are not favoured, and favoured ones in a signature."""
    rows = []
    for name, favoured in positions(results).items():
        orders = {m: runs(results, name, m).orders for m in (PS, PLAIN)}
        for size in (4, 8, 16, 30, 64, 128):
            with_, without, gain = compare_others(results, name, size, favoured)
            taken = {
                m: np.isin(o[:, :size], favoured).sum(axis=1).mean() for m, o in orders.items()
            }
            cells = (f"{taken[PS]:.1f}", f"{taken[PLAIN]:.1f}", f"{with_:.3f}", f"{without:.3f}")
            rows.append([name, str(size), *cells, str(gain)])
    head = ["table", "genes", "favoured among them, PS", "l2-AROM"]
    head += ["KI of the others, PS", "l2-AROM", "gained"]
    return {"title": "What is not favoured", "head": head, "rows": rows}
