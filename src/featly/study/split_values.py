r"""Values of splits, and rates of all splits together where each tests one row or one group.

.. math::

    \hat r = \frac{\sum_j h_j}{\sum_j n_j}, \qquad
    \operatorname{var}(\hat r) \approx \sum_j \left(\frac{h_j - \hat r\, n_j}{\sum_i n_i}\right)^2

for :math:`h_j` hits among :math:`n_j` rows of split j: Cochran, W. G. (1977), *Sampling
Techniques*, 3rd edition, Wiley, chapter 6. Rows of one group hit or miss together; with one row a
split the variance is the binomial one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from featly.basics.typing import AnyArray, IntArray
from featly.measures.classification import METRICS
from featly.measures.scores import SCORE_METRICS
from featly.study.score_values import pooled_score_values
from featly.study.store import ALL_ROWS

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = [
    "KEYS",
    "add_pooled_intervals",
    "at_own_size",
    "is_pooled",
    "own_sizes",
    "single_classes",
    "split_values",
    "stacks",
]

KEYS = ["dataset", "method", "learner", "size"]

Stack = IntArray  # splits x classes x classes


def is_pooled(results: "Results") -> bool:
    """Return whether splits test one row or one group each, so that only the rate of all counts."""
    import polars as pl

    if results.about["splitter"] == "LeaveOneOut":
        return True
    tested = results.rankings.filter((pl.col("split") != ALL_ROWS) & (pl.col("n_train") > 0))
    return not tested.is_empty() and tested["n_test"].max() == 1


def split_values(results: "Results", metric: str, *, draws: bool = True) -> "pl.DataFrame":
    """Return the rows of all splits with a column `value`, whose mean is reported.

    If splits test one row each, the value is the share of that split in the rate of all.

    Parameters
    ----------
    results : Results
    metric : str
    draws : bool, default=True
        Whether to include fits to shuffled labels.
    """
    import polars as pl

    values = results.values(metric, draws=draws)
    rows = results.rows.with_columns(values.cast(pl.Float64).alias("value"))
    rows = rows.filter(pl.col("split") != ALL_ROWS)
    if not draws:
        rows = rows.filter(pl.col("null_draw") == 0)
    if not is_pooled(results):
        return rows
    if metric in SCORE_METRICS and SCORE_METRICS[metric].is_pairwise:
        return _with_pooled_scores(rows, results, metric, draws=draws)
    if metric not in METRICS:
        return rows
    rows = rows.with_row_index("at")
    value = np.full(rows.height, np.nan)
    numbered = rows.select(*KEYS, "null_draw", "confusion", "at")
    for _, stack, where in _groups(numbered, [*KEYS, "null_draw"], own_sizes(results)):
        hits, tested = _counts(stack, metric)
        value[where] = len(stack) * (hits / tested.sum(axis=0)).mean(axis=1)
    pooled = rows.drop("at", "value").with_columns(pl.Series("value", value))
    return pooled.with_columns(pl.col("value").fill_nan(None))


def _with_pooled_scores(
    rows: "pl.DataFrame", results: "Results", metric: str, *, draws: bool
) -> "pl.DataFrame":
    """Return rows with the metric of all splits together, which is the value of each of them."""
    import polars as pl

    pooled = pooled_score_values(results, metric, draws=draws)
    keys = ["dataset", "method", "learner", "null_draw"]
    of_own, of_size = (pooled.filter(pl.col("size").is_null() == own) for own in (True, False))
    joined = rows.join(
        of_size, on=[*keys, "size"], how="left", maintain_order="left"
    ).join(
        of_own.drop("size").rename({"pooled": "own"}), on=keys, how="left", maintain_order="left"
    )  # fmt: skip
    value = pl.when(pl.col("confusion").is_not_null()).then(pl.coalesce("own", "pooled"))
    return joined.with_columns(value.alias("value")).drop("pooled", "own")


def own_sizes(results: "Results") -> "pl.DataFrame":
    """Return methods that choose how many columns to take, with the mean of their numbers."""
    import polars as pl

    return (
        results.rankings.filter(
            pl.col("subset") & (pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS)
        )
        .group_by("dataset", "method", maintain_order=True)
        .agg(pl.col("order").list.len().mean().round().cast(pl.Int64).alias("own_size"))
    )


def at_own_size(rows: "pl.DataFrame", own: "pl.DataFrame") -> "pl.DataFrame":
    """Return rows; for methods that choose the number themselves, size is its mean."""
    import polars as pl

    if own.is_empty():
        return rows
    joined = rows.join(own, on=["dataset", "method"], how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("own_size", "size").alias("size")).drop("own_size")


def stacks(
    rows: "pl.DataFrame", keys: list[str], own: "pl.DataFrame"
) -> Iterator[tuple[tuple[Any, ...], Stack]]:
    """Yield the confusion matrices of all splits, for every combination of `keys`."""
    for key, stack, _ in _groups(rows.with_row_index("at"), keys, own):
        yield key, stack


def single_classes(results: "Results") -> list[tuple[str, str, str, int, int]]:
    """Return where all test rows of all splits were predicted as one class.

    Returns
    -------
    list of (dataset, method, learner, size, code of the class)
    """
    import polars as pl

    real = results.rows.filter((pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS))
    lines = []
    for key, stack in stacks(real, KEYS, own_sizes(results)):
        predicted = stack.sum(axis=(0, 1))
        if np.count_nonzero(predicted) == 1:
            dataset, method, learner, size = key
            lines.append((dataset, method, learner, int(size), int(predicted.argmax())))
    return sorted(lines)


def add_pooled_intervals(
    means: "pl.DataFrame", results: "Results", metric: str, level: float, own: "pl.DataFrame"
) -> "pl.DataFrame":
    """Return means of pooled splits with the interval of a rate."""
    import polars as pl

    real = results.rows.filter((pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS))
    errors = {key: _standard_error(stack, metric) for key, stack in stacks(real, KEYS, own)}
    error = [errors.get(key, np.nan) for key in means.select(KEYS).rows()]
    half = pl.Series("half", error, dtype=pl.Float64) * stats.norm.ppf(0.5 + level / 2)
    return means.with_columns(
        (pl.col("mean") - half).alias("lower").fill_nan(None),
        (pl.col("mean") + half).alias("upper").fill_nan(None),
    )


def _groups(
    rows: "pl.DataFrame", keys: list[str], own: "pl.DataFrame"
) -> Iterator[tuple[tuple[Any, ...], Stack, AnyArray]]:
    """Yield key, confusion matrices, and their row numbers (column `at`)."""
    import polars as pl

    usable = at_own_size(rows.filter(pl.col("confusion").is_not_null()), own)
    for key, part in usable.group_by(keys):
        flat = part["confusion"].explode(empty_as_null=False).to_numpy()
        side = round((len(flat) / part.height) ** 0.5)
        yield key, flat.reshape(-1, side, side), part["at"].to_numpy()


def _counts(stack: Stack, metric: str) -> tuple[Stack, Stack]:
    """Return hits and rows of every split; for the balanced rate those of every class."""
    hits, rows = np.diagonal(stack, axis1=1, axis2=2), stack.sum(axis=2)
    totals = rows.sum(axis=1, keepdims=True)
    if metric == "accuracy":
        return hits.sum(axis=1, keepdims=True), totals
    if metric == "error":
        return totals - hits.sum(axis=1, keepdims=True), totals
    if metric == "specificity":
        negative = totals - rows[:, 1:2]
        hits, rows = negative - stack.sum(axis=1)[:, 1:2] + hits[:, 1:2], negative
    elif metric == "sensitivity":
        hits, rows = hits[:, 1:2], rows[:, 1:2]
    elif metric in ("ppv", "npv", "f1"):
        predicted = stack.sum(axis=1)[:, 1:2]
        if metric == "ppv":
            hits, rows = hits[:, 1:2], predicted
        elif metric == "npv":
            missed = rows[:, 1:2] - hits[:, 1:2]
            hits, rows = totals - predicted - missed, totals - predicted
        else:
            hits, rows = 2 * hits[:, 1:2], rows[:, 1:2] + predicted
    occurs = rows.sum(axis=0) > 0
    return hits[:, occurs], rows[:, occurs]


def _standard_error(stack: Stack, metric: str) -> float:
    hits, rows = _counts(stack, metric)
    if not rows.shape[1]:
        return float("nan")
    total = rows.sum(axis=0)
    residuals = (hits - hits.sum(axis=0) / total * rows) / total
    return float(np.sqrt((residuals.mean(axis=1) ** 2).sum()))
