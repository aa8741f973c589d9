"""Helleputte and Dupont (2009), Partially supervised feature selection with regularized linear
models, section 4.4: a prior from another part of the same table, on all four tables.

A stratified 20% of the rows gives the 50 genes with the best S/N. They are favoured by 10 on the
other 80%, which is split at random into 90% and 10%; 10 outer by 20 inner splits; a soft-margin
linear SVM (C = 1) on the best 1, 2, 4, ..., 512 genes, and on 30. PS-l2-AROM, l2-AROM, RFE and S/N,
of which only the first has the prior. Figures 3 to 6, claims B13 to B15.

Every outer split is a dataset of its own, ``DLBCL/1`` to ``DLBCL/10``: its 80%, with the prior in
its schema. Inner splits are stratified, too. Kuncheva's index is that of the 20 splits within an
outer one, averaged over the outer ones.

How claims are tested was written down before the first run. A difference of two methods is taken
within every outer split, averaged over sizes; the mean of the ten has the corrected resampled
interval for parts of 80% that leave 20% out, because outer splits share rows. Above, below and
equal are as in :mod:`studies.prior`, "small" is 64 genes or fewer, and where the paper names no
size, all powers of two are taken.

- B13, on DLBCL and on leukemia: KI and BCR of PS above l2-AROM; "RFE globally worse especially in
  stability": its KI below PS, its mean BCR lower than that of PS; BCR of S/N equal to PS; KI of PS
  above S/N, small.
- B14, on prostate and on colon: KI of PS above l2-AROM.
- B15: geometric mean of KI and BCR of PS above l2-AROM on all four; of the three others S/N has the
  highest, in the mean over the four.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from featly import AROM, SVMRFE, Schema, SignalToNoise
from featly.basics.typing import FloatArray
from featly.learners import LinearSVM
from featly.study import Claim, Dataset, Finding, Results, Study, Subsampling
from studies.prior_measures import (
    FILES,
    PLAIN,
    POWERS,
    PS,
    RFE,
    SIZES,
    SMALL,
    SN,
    VERY_SMALL,
    WEIGHT,
    Gain,
    Runs,
    frame_of,
    gains_by_size,
    in_numbers,
    line,
    of_shares,
    runs,
    seconds,
)

OUTER, INNER = 10, 20
PART = 0.2
TOP = 50
OUTER_SEED, INNER_SEED = 1, 0
FOUR = (PS, PLAIN, RFE, SN)
MARKED = ("DLBCL", "leukemia")
OTHERS = ("prostate", "colon")


def datasets() -> dict[str, Dataset]:
    """Return the 80% of every outer split, with the prior from the other 20%."""
    outer = Subsampling(OUTER, test_size=PART, random_state=OUTER_SEED)
    datasets_by_name = {}
    for name in FILES:
        frame = frame_of(name)
        X, y = frame.drop("class").to_numpy(), frame["class"].cast(str).to_numpy()
        for split in outer.split(None, y):
            ranking = SignalToNoise().fit(X[split.test], y[split.test])
            key = f"{name}/{split.number + 1}"
            datasets_by_name[key] = Dataset.of(
                X[split.train],
                y[split.train],
                name=key,
                schema=Schema.prior_from(ranking, top=TOP, weight=WEIGHT),
            )
    return datasets_by_name


def methods() -> dict[str, Any]:
    """One with the prior, three without."""
    return {
        PS: AROM(),
        PLAIN: AROM(schema={}),
        RFE: SVMRFE(schema={}),
        SN: SignalToNoise(schema={}),
    }


# ---- figures of the results ----------------------------------------------------------------------
def outer_runs(results: Results, dataset: str, method: str) -> list[Runs]:
    """Return the runs of a method within every outer split."""
    return [runs(results, f"{dataset}/{k}", method) for k in range(1, OUTER + 1)]


def stability(method_runs: Runs) -> FloatArray:
    """Kuncheva's index by size."""
    return method_runs.stability


def rate(method_runs: Runs) -> FloatArray:
    """BCR by size."""
    return method_runs.rate


def geometric_mean(method_runs: Runs) -> FloatArray:
    """Return the geometric mean of the two by size."""
    return method_runs.both


Measure = Callable[[Runs], FloatArray]


def gain(
    results: Results,
    dataset: str,
    measure: Measure,
    first: str,
    second: str,
    sizes: Sequence[int] = POWERS,
) -> Gain:
    """A difference of two methods, averaged over sizes and outer splits."""
    pairs = zip(*(outer_runs(results, dataset, m) for m in (first, second)), strict=True)
    return of_shares(
        [float((measure(a) - measure(b))[a.index_sizes(sizes)].mean()) for a, b in pairs], PART
    )


def judge_gains(
    gains: dict[str, Gain], holds: Callable[[Gain], bool], label: str, more: str = ""
) -> Finding:
    """Judge a claim about several tables: it must hold on each; shown is the least of the gains."""
    listing = "; ".join(f"{name} {table_gain}" for name, table_gain in gains.items())
    least = min(gains.values(), key=lambda table_gain: table_gain.lower)
    return least.as_finding(all(map(holds, gains.values())), f"{label}: {listing}{more}")


def above(
    tables: Sequence[str],
    measure: Measure,
    label: str,
    other: str = PLAIN,
    sizes: Sequence[int] = POWERS,
) -> Callable[[Results], Finding]:
    """PS above another method on every table."""

    def check(results: Results) -> Finding:
        gains = {name: gain(results, name, measure, PS, other, sizes) for name in tables}
        return judge_gains(
            gains, lambda table_gain: table_gain.is_positive, f"{label} of PS less that of {other}"
        )

    return check


def b13d(results: Results) -> Finding:
    """The mean BCR of RFE lower than that of PS."""
    gains = {name: gain(results, name, rate, PS, RFE) for name in MARKED}
    return judge_gains(gains, lambda table_gain: table_gain.mean > 0, "BCR of PS less that of RFE")


def b13e(results: Results) -> Finding:
    """S/N predicts as PS does."""
    gains = {name: gain(results, name, rate, SN, PS) for name in MARKED}
    few = "; ".join(f"{name} {gain(results, name, rate, SN, PS, VERY_SMALL)}" for name in MARKED)
    more = f"; at 8 genes or fewer: {few}"
    return judge_gains(
        gains, lambda table_gain: table_gain.is_null, "BCR of S/N less that of PS", more
    )


def levels(results: Results, dataset: str) -> dict[str, float]:
    """Geometric mean of KI and BCR, over sizes and outer splits."""
    return {
        method: float(
            np.mean(
                [
                    method_runs.both[method_runs.index_sizes(POWERS)]
                    for method_runs in outer_runs(results, dataset, method)
                ]
            )
        )
        for method in FOUR
    }


def b15c(results: Results) -> Finding:
    """S/N is the closest rival."""
    table = {name: levels(results, name) for name in FILES}
    mean = {method: float(np.mean([row[method] for row in table.values()])) for method in FOUR}
    rivals = sorted(FOUR[1:], key=lambda method: -mean[method])
    listing = "; ".join(
        f"{name} " + ", ".join(f"{m} {row[m]:.3f}" for m in sorted(row, key=lambda m: -row[m]))
        for name, row in {"mean": mean, **table}.items()
    )
    ahead = [name for name, row in table.items() if row[SN] > row[PS]]
    more = f"; S/N is above PS itself on {', '.join(ahead)}" if ahead else ""
    return Finding(rivals[0] == SN, listing + more, mean[SN])


def claims() -> list[Claim]:
    """B13 to B15."""
    two, all_four = "DLBCL and leukemia", tuple(FILES)
    return [
        Claim("B13a", f"{two}: KI of PS-l2-AROM above l2-AROM", above(MARKED, stability, "KI"),
              None, "fig. 3"),
        Claim("B13b", f"{two}: BCR of PS-l2-AROM above l2-AROM", above(MARKED, rate, "BCR"),
              None, "fig. 4"),
        Claim("B13c", f"{two}: RFE globally less stable than PS-l2-AROM",
              above(MARKED, stability, "KI", RFE), None, "fig. 3"),
        Claim("B13d", f"{two}: RFE predicts globally worse than PS-l2-AROM", b13d, None, "fig. 4"),
        Claim("B13e", f"{two}: BCR of S/N and of PS-l2-AROM equivalent", b13e, None, "fig. 4"),
        Claim("B13f", f"{two}: PS-l2-AROM more stable than S/N for small signatures",
              above(MARKED, stability, "KI", SN, SMALL), None, "fig. 3"),
        Claim("B14", "prostate and colon: KI of PS-l2-AROM above l2-AROM",
              above(OTHERS, stability, "KI"), None, "fig. 5"),
        Claim("B15b", "geometric mean of KI and BCR: PS-l2-AROM above l2-AROM on all four",
              above(all_four, geometric_mean, "geometric mean"), None, "sec. 4.4"),
        Claim("B15c", "geometric mean of KI and BCR: S/N is the closest rival", b15c, None,
              "sec. 4.4"),
    ]  # fmt: skip


def study() -> Study:
    """The plan."""
    return Study(
        methods(),
        datasets(),
        Subsampling(INNER, test_size=0.1, random_state=INNER_SEED),
        sizes=SIZES,
        learner={"linear SVM": LinearSVM()},
        balanced=False,
        metrics=("bcr",),
        claims=claims(),
        title="Helleputte and Dupont 2009, a prior from another part of the table",
    )


def extras(results: Results) -> dict[str, Any]:
    """Return data of figures 3 to 6, and the same in numbers."""
    lines = {
        name: {method: line(outer_runs(results, name, method)) for method in FOUR} for name in FILES
    }
    figures = {"DLBCL": "3 and 4", "leukemia": "3 and 4", "prostate": "5 and 6", "colon": "5 and 6"}
    took: dict[str, dict[str, float]] = {name: dict.fromkeys(FOUR, 0.0) for name in FILES}
    for key, by_method in seconds(results).items():
        for method, value in by_method.items():
            took[key.rpartition("/")[0]][method] += value
    return {
        "lines": lines,
        "seeds": {"outer splits": OUTER_SEED, "inner splits": INNER_SEED},
        "seconds": {n: {m: round(v, 2) for m, v in row.items()} for n, row in took.items()},
        "tables": [
            *(in_numbers(f"Figures {figures[n]} in numbers: {n}", lines[n]) for n in FILES),
            *(
                gains_by_size(
                    label,
                    {n: [gain(results, n, measure, PS, PLAIN, [s]) for s in SIZES] for n in FILES},
                )
                for label, measure in (("KI", stability), ("BCR", rate))
            ),
        ],
    }
