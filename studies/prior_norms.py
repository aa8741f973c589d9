"""Helleputte and Dupont (2009), Partially supervised feature selection with regularized linear
models, section 5, what it leaves open: is the 2-norm as good as the 1-norm with a prior, too?

Weston et al. (2003) found that l1-AROM and l2-AROM predict alike, which is why the paper has the
2-norm only, and "it would be worthwhile to confirm this observation when partial supervision is
added". DLBCL and leukemia, markers favoured by 10, the splits, the learner and the intervals of
:mod:`studies.prior`; sizes up to 64, because the 1-norm gives a weight to hardly more columns than
there are rows.

How claims are tested was written down before the first run; all of them on both tables:

- N1, without a prior: BCR of l1-AROM equal to l2-AROM (the interval of the difference, averaged
  over 1, 2, 4, ..., 64 genes, contains 0).
- N2, with the prior: BCR of PS-l1-AROM equal to PS-l2-AROM.
- N3, with the prior: KI changes by less than 0.05 in the mean of absolute changes over sizes, which
  is what the study of other weights calls marginal.
- N4: the 2-norm takes less time.
- N5, ours: the prior raises KI with the 1-norm, too, at 64 genes or fewer.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from featly import AROM
from featly.learners import LinearSVM
from featly.study import Claim, Finding, Results, Study, Subsampling
from studies.prior import SPLIT_SEED, SPLITS
from studies.prior_claims import MARGINAL
from studies.prior_measures import (
    MARKERS,
    PLAIN,
    PS,
    SIZES,
    SMALL,
    Gain,
    Runs,
    by_size,
    in_numbers,
    line,
    rate_gain,
    runs,
    seconds,
    stability_gain,
    with_markers,
)

PS1, PLAIN1 = "PS-l1-AROM", "l1-AROM"
BOTH = tuple(MARKERS)


def methods() -> dict[str, Any]:
    """Both norms, with the prior and without."""
    return {
        PS: AROM(),
        PLAIN: AROM(schema={}),
        PS1: AROM(norm=1),
        PLAIN1: AROM(norm=1, schema={}),
    }


def gains(
    measure: Callable[[Runs, Runs, Sequence[int]], Gain], results: Results, first: str, second: str
) -> dict[str, Gain]:
    """A difference of two methods on both tables."""
    return {
        name: measure(runs(results, name, first), runs(results, name, second), SMALL)
        for name in BOTH
    }


def widest(gains_by_table: dict[str, Gain]) -> Gain:
    """The difference that is furthest from 0."""
    return max(gains_by_table.values(), key=lambda table_gain: abs(table_gain.mean))


def format_gains(gains_by_table: dict[str, Gain]) -> str:
    """Return gains in words, table by table."""
    return "; ".join(f"{name} {table_gain}" for name, table_gain in gains_by_table.items())


def same_rate(first: str, second: str) -> Callable[[Results], Finding]:
    """BCR equal on both tables."""

    def check(results: Results) -> Finding:
        rate_gains = gains(rate_gain, results, first, second)
        holds = all(gain.is_null for gain in rate_gains.values())
        return widest(rate_gains).as_finding(
            holds, f"BCR of {first} less that of {second}: {format_gains(rate_gains)}"
        )

    return check


def n3(results: Results) -> Finding:
    """KI of PS-l1-AROM about that of PS-l2-AROM."""
    words, worst = [], 0.0
    for name in BOTH:
        first, second = runs(results, name, PS1), runs(results, name, PS)
        change = (first.stability - second.stability)[first.index_sizes(SMALL)]
        worst = max(worst, float(np.abs(change).mean()))
        words.append(f"{name} {np.abs(change).mean():.3f} ({by_size(SMALL, change)})")
    why = f"mean absolute change of KI, {MARGINAL['KI']} allowed: {'; '.join(words)}"
    return Finding(worst < MARGINAL["KI"], why, worst)


def n4(results: Results) -> Finding:
    """The 2-norm is faster."""
    fits = results.rankings.group_by("dataset", "method").agg(pl.col("select_seconds").mean())
    took = {(d, m): s for d, m, s in fits.rows()}
    ratio = {
        name: (took[name, PS1] + took[name, PLAIN1]) / (took[name, PS] + took[name, PLAIN])
        for name in BOTH
    }
    words = "; ".join(
        f"{name} " + ", ".join(f"{m} {took[name, m]:.3f} s" for m in methods()) for name in BOTH
    )
    return Finding(min(ratio.values()) > 1, f"a fit: {words}", min(ratio.values()))


def n5(results: Results) -> Finding:
    """The prior makes the 1-norm more stable."""
    stability_gains = gains(stability_gain, results, PS1, PLAIN1)
    least = min(stability_gains.values(), key=lambda table_gain: table_gain.lower)
    why = f"KI of {PS1} less that of {PLAIN1}: {format_gains(stability_gains)}"
    return least.as_finding(all(gain.is_positive for gain in stability_gains.values()), why)


def claims() -> list[Claim]:
    """Return the claims of Weston et al., the question of the paper, and one of ours."""
    open_question = "sec. 5, an open question"
    return [
        Claim("N1", "BCR of l1-AROM and l2-AROM does not differ (as Weston et al. found)",
              same_rate(PLAIN1, PLAIN), None, "sec. 4"),
        Claim("N2", "BCR of PS-l1-AROM and PS-l2-AROM does not differ", same_rate(PS1, PS), None,
              open_question),
        Claim("N3", "KI of PS-l1-AROM and PS-l2-AROM hardly differs", n3, None, open_question),
        Claim("N4", "the 2-norm takes less time", n4, None, "sec. 4"),
        Claim("N5", "ours: with the 1-norm, the prior raises KI, too", n5, None,
              "not in the paper"),
    ]  # fmt: skip


def study() -> Study:
    """The plan."""
    return Study(
        methods(),
        with_markers(),
        Subsampling(SPLITS, test_size=0.1, random_state=SPLIT_SEED),
        sizes=[size for size in SIZES if size <= 64],
        learner={"linear SVM": LinearSVM()},
        balanced=False,
        metrics=("bcr",),
        claims=claims(),
        title="Helleputte and Dupont 2009, the 1-norm with a prior",
    )


def extras(results: Results) -> dict[str, Any]:
    """Lines of the four, and the same in numbers."""
    lines = {
        name: {method: line([runs(results, name, method)]) for method in methods()} for name in BOTH
    }
    return {
        "lines": lines,
        "seeds": {"splits": SPLIT_SEED},
        "seconds": seconds(results),
        "tables": [in_numbers(f"1-norm and 2-norm: {name}", lines[name]) for name in BOTH],
    }
