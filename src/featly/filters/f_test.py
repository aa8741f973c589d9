r"""Test of each column against the target: analysis of variance, or a linear regression.

.. math::

    F_j = \frac{\sum_c n_c (\bar x_{cj} - \bar x_j)^2 / (k - 1)}
               {\sum_c \sum_{i \in c} (x_{ij} - \bar x_{cj})^2 / (n - k)}

for classes, and for numbers h

.. math::

    F_j = \frac{(n - 2)\, r_j^2}{1 - r_j^2}, \qquad
    r_j^2 = \frac{(\sum_i (x_{ij} - \bar x_j) (h_i - \bar h))^2}
                 {\sum_i (x_{ij} - \bar x_j)^2 \sum_i (h_i - \bar h)^2}

Fisher, R. A. (1925), *Statistical Methods for Research Workers*. The number h of a survival time is
its martingale residual without columns: Therneau, T. M., Grambsch, P. M. and Fleming, T. R. (1990),
Martingale-based residuals for survival models, *Biometrika* 77, 147-160.
"""

from dataclasses import replace

import numpy as np

from featly.additive import Additive
from featly.base import Problem, Questions, Ranking, rank_by_merit
from featly.basics.typing import FloatArray
from featly.core.ranking.ordering import best_first
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import Comoments, Moments, Source
from featly.core.sources.questions import comoments, moments
from featly.core.stats.tails import f_tail, false_discovery_rates
from featly.problem.parameters import OnDevice, Streaming
from featly.problem.target import Classes, Numbers

__all__ = ["FTest"]

COLUMN_BLOCK = 4096


class FTest(OnDevice, Streaming, Additive):
    r"""Rank columns by the F-test: of analysis of variance over classes, or of regression.

    One pass over the table. A missing value is left out of its column's means, so columns differ
    in their degrees of freedom. The score is therefore the evidence :math:`-\log_{10} p`, which is
    comparable across columns and orders complete columns exactly as F does. Sums are in float64 and
    centred before they are squared. So float32 data with a large offset is exact, where
    scikit-learn's ``f_classif`` returns negative values.

    If the target holds numbers, F is that of a linear regression on the column, as in
    ``f_regression``; for survival times, on the column's relation to their martingale residuals,
    which for a column of two levels is close to the log-rank test.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` and `costs` are used. `prior` is not: it does not enter a p-value.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.

    Attributes
    ----------
    statistic_ : float array of shape (n_features,)
        F; infinite if a column is constant within each class but not overall, 0 if it is constant
        or has too few values for a test.
    p_value_ : float array of shape (n_features,)
        Probability of an F at least as large if the class means are equal, or the column and the
        number of a row are unrelated, if the values of every class are normal with one variance. It
        does not hold where a small class meets skewed columns, many zeros or another variance;
        :class:`UnivariateTest` is for those. NaN where a `sample_weight` is no whole number: then
        the sum of the weights is no number of rows, and the score serves to order columns only.
    q_value_ : float array of shape (n_features,)
        Benjamini-Hochberg: the false discovery rate of selecting all columns up to this one.
    order_, ranking_, scores_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    SVMRFE : Ranks columns jointly.

    References
    ----------
    Fisher, R. A. (1925), *Statistical Methods for Research Workers*. Benjamini, Y. and Hochberg,
    Y. (1995), Controlling the false discovery rate, *J. R. Statist. Soc. B* 57, 289-300.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import FTest
    >>> frame = pl.DataFrame({
    ...     "age": [41, 52, 38, 60, 47, 55],
    ...     "marker": [0.1, 0.2, None, 1.1, 0.9, 1.3],
    ... })
    >>> outcome = ["well", "well", "well", "ill", "ill", "ill"]
    >>> test = FTest(n_features_to_select=1).fit(frame, outcome)
    >>> test.table().select("feature", "rank", "selected", pl.col("p_value").round(4))
    shape: (2, 4)
    ┌─────────┬──────┬──────────┬─────────┐
    │ feature ┆ rank ┆ selected ┆ p_value │
    │ ---     ┆ ---  ┆ ---      ┆ ---     │
    │ str     ┆ i64  ┆ bool     ┆ f64     │
    ╞═════════╪══════╪══════════╪═════════╡
    │ marker  ┆ 1    ┆ true     ┆ 0.0085  │
    │ age     ┆ 2    ┆ false    ┆ 0.1439  │
    └─────────┴──────┴──────────┴─────────┘
    """

    _scores_one_by_one = True
    _takes_bytes = True
    _missing = True
    _targets = ("classes", "numbers", "survival")
    _uses = ("keep", "costs")
    _has_q_values = True

    _adds_targets = ("classes", "numbers")
    _weighs_targets = ("classes", "numbers")

    def _settle(self, problem: Problem) -> float:
        """Return the number from which those of the target are measured."""
        target, weights = problem.target, problem.weights
        if not isinstance(target, Numbers):
            return 0.0
        values = target.values
        return float(values.mean() if weights is None else np.average(values, weights=weights))

    def _asks(self, target: str = "classes") -> Questions:
        return asks_of_target(target)

    def _statistic(self, problem: Problem, settled: float) -> Moments | Comoments:
        return moments_with_target(problem, settled)

    def _judge(self, problem: Problem, statistic: Moments | Comoments, settled: float) -> Ranking:
        def test_block(block: tuple[int, int]) -> tuple[np.ndarray, ...]:
            f, d1, d2 = f_of_columns(statistic, block)
            return f, *f_tail(f, d1, d2)

        parts = run_blocks(test_block, split(problem.source.n_features, COLUMN_BLOCK), self.n_jobs)
        f, p, evidence = (np.concatenate(values) for values in zip(*parts, strict=True))
        order = best_first(evidence)
        if not problem.weights_are_counts:  # how much is known is not known
            p = np.full(len(p), np.nan)
        return rank_by_merit(
            problem.preference,
            evidence,
            extra={
                "statistic": f,
                "p_value": p,
                "q_value": false_discovery_rates(p, order),
            },
            order=order,
        )


def f_of_target(
    problem: Problem, source: Source | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return F of every column and its degrees of freedom, for any kind of target.

    `source` has the columns in place of those of the problem, such as their ranks.
    """
    problem = problem if source is None else replace(problem, source=source)
    return f_of_moments(moments_with_target(problem), problem.source.n_jobs)


def asks_of_target(target: str) -> Questions:
    """Return the questions by which the F of every column is computed."""
    return (moments,) if target == "classes" else (comoments,)


def moments_with_target(problem: Problem, center: float | None = None) -> Moments | Comoments:
    """Return the moments of the columns by class, or with the number of every row.

    Numbers are measured from `center`, their mean by default.
    """
    target = problem.target
    if isinstance(target, Classes):
        return problem.moments(by_class=True)
    if isinstance(target, Numbers) and center is not None:
        return problem.comoments(target.values - center)
    return problem.comoments(target.influence()[:, 0])


def f_of_moments(
    moments: Moments | Comoments, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return F of every column and its degrees of freedom."""
    blocks = split(moments.mean.shape[-1], COLUMN_BLOCK)
    parts = run_blocks(lambda block: f_of_columns(moments, block), blocks, n_jobs)
    statistic, d1, d2 = (np.concatenate(values) for values in zip(*parts, strict=True))
    return statistic, d1, d2


def f_of_columns(
    moments: Moments | Comoments, block: tuple[int, int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return F of a range of columns and its degrees of freedom."""
    if isinstance(moments, Comoments):
        return f_of_regression(moments.columns(*block))
    return f_statistic(moments.columns(*block))


def f_of_regression(comoments: Comoments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return F of every column and its degrees of freedom, from moments with a variable.

    Where a column or the variable is constant, or fewer than three values are left, F is 0 with one
    degree of freedom each.
    """
    n, m2_h = comoments.count, comoments.m2_h
    testable = (n > 2) & (comoments.m2 > 0) & (m2_h > 0)
    # divided before it is squared, which would overflow
    explained = (comoments.product / np.sqrt(np.where(testable, comoments.m2, 1.0))) ** 2
    residual = m2_h - explained
    # what is left of an exact line is rounding
    residual[residual <= n * np.finfo(np.float64).eps * m2_h] = 0.0
    d2 = np.where(testable, n - 2, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = explained / (residual / d2)
    statistic[(comoments.product == 0) | ~testable] = 0.0
    return statistic, np.ones(len(n)), d2


def f_statistic(moments: Moments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return F of every column and its degrees of freedom, from moments by class.

    Classes without a value in a column do not count for it. Where fewer than two are left, or
    every class has a single value, F is 0 with one degree of freedom each.
    """
    count, mean = moments.count, moments.mean
    n = count.sum(axis=0)
    present = count > 0
    n_classes = present.sum(axis=0)
    # relative to one class mean, so that equal means give exactly zero between classes
    columns = np.arange(mean.shape[1])
    offset = np.where(present, mean - mean[present.argmax(axis=0), columns], 0.0)
    center = (count * offset).sum(axis=0) / np.maximum(n, 1)
    between = (count * (offset - center) ** 2).sum(axis=0)
    within = moments.m2.sum(axis=0)
    testable = (n_classes > 1) & (n > n_classes)
    d1 = np.where(testable, n_classes - 1, 1).astype(np.float64)
    d2 = np.where(testable, n - n_classes, 1).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (between / d1) / (within / d2)
    statistic[(between == 0) | ~testable] = 0.0
    return statistic, d1, d2
