r"""Methods compared by their ranks on the same blocks: Friedman, then Nemenyi.

.. math::

    \chi^2_F = (k - 1) \frac{N^2 \sum_j (\bar r_j - \frac{k + 1}{2})^2}
                            {\sum_{ij} (r_{ij} - \frac{k + 1}{2})^2},
    \qquad CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

Demšar, J. (2006), Statistical comparisons of classifiers over multiple data sets, *Journal of
Machine Learning Research* 7, 1-30.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.typing import FloatArray
from featly.measures.corrected_t import FRACTION, as_numbers

__all__ = ["Friedman", "Nemenyi", "friedman", "nemenyi"]


FAR_TAIL = 1e-12  # below, 1 - cdf is rounding noise, and the union bound right to 4 digits


@dataclass(frozen=True, eq=False, repr=False)
class Friedman:
    """Result of :func:`friedman`.

    Attributes
    ----------
    statistic, p_value : float
        Friedman's chi-squared with correction for ties, on k - 1 degrees of freedom.
    mean_ranks : float array of shape (n_methods,)
        1 is best.
    n_blocks : int
        Complete blocks, those used.
    names : tuple of str
    iman_davenport, iman_davenport_p : float
        The F statistic on (k - 1, (k - 1)(N - 1)) degrees of freedom, less conservative.
    n_dropped : int
        Blocks left out because a value was NaN.
    """

    statistic: float
    p_value: float
    mean_ranks: FloatArray
    n_blocks: int
    names: tuple[str, ...]
    iman_davenport: float
    iman_davenport_p: float
    n_dropped: int

    def __repr__(self) -> str:
        return (
            f"Friedman(statistic={self.statistic:.4g}, p_value={self.p_value:.3g}, "
            f"{len(self.names)} methods, {self.n_blocks} blocks)"
        )

    def summary(self) -> str:
        """Return the test and the mean ranks, best first, as text."""
        blocks = blocks_text(self.n_blocks, self.n_dropped)
        return "\n".join(
            [
                f"Friedman: {len(self.names)} methods, {blocks}",
                f"chi-squared {self.statistic:.4g}, p = {self.p_value:.3g}; "
                f"Iman-Davenport F {self.iman_davenport:.4g}, p = {self.iman_davenport_p:.3g}",
                *rank_lines(self.mean_ranks, self.names),
            ]
        )


def friedman(
    scores: npt.ArrayLike, names: Sequence[str] | None = None, greater_is_better: bool = True
) -> Friedman:
    r"""Test whether methods differ in their mean ranks over blocks.

    .. math::

        \chi^2_F = (k - 1) \frac{N^2 \sum_j (\bar r_j - \frac{k + 1}{2})^2}
                                {\sum_{ij} (r_{ij} - \frac{k + 1}{2})^2},
        \qquad F = \frac{(N - 1) \chi^2_F}{N (k - 1) - \chi^2_F}

    Ties share the mean of their ranks; the denominator holds the usual correction for them.

    Parameters
    ----------
    scores : array of shape (n_blocks, n_methods)
        A block is a dataset, a split, or a dataset at one size. A block with NaN is left out.
    names : sequence of str, default=None
        One name a method; None numbers the methods.
    greater_is_better : bool, default=True
        Whether rank 1 goes to the largest score.

    Returns
    -------
    Friedman
        If all scores are tied, the statistic is 0 and p is 1. If all blocks agree, the F of Iman
        and Davenport is infinite and its p is 0.

    References
    ----------
    Friedman, M. (1937), The use of ranks to avoid the assumption of normality, *J. Am. Stat.
    Assoc.* 32, 675-701. Iman, R. L. and Davenport, J. M. (1980), Approximations of the critical
    region of the Friedman statistic, *Communications in Statistics* A9, 571-595.

    Examples
    --------
    >>> from featly.measures.statistics import friedman
    >>> accuracy = [[0.90, 0.85, 0.80], [0.80, 0.70, 0.75], [0.95, 0.90, 0.85], [0.70, 0.60, 0.65]]
    >>> friedman(accuracy, names=["forest", "tree", "bayes"])
    Friedman(statistic=6, p_value=0.0498, 3 methods, 4 blocks)
    """
    table, labels, n_dropped = read_scores(scores, names)
    n_blocks, k = table.shape
    ranks = ranks_of(table, greater_is_better)
    # all multiples of 1/4, so the two comparisons with zero below are exact
    between = float(((ranks - (k + 1) / 2).sum(axis=0) ** 2).sum())
    total = float(((ranks - (k + 1) / 2) ** 2).sum())
    remainder = n_blocks * total - between
    statistic = (k - 1) * between / total if total else 0.0
    certain = math.inf if between else 0.0  # the blocks all agree, or tie throughout
    f = (n_blocks - 1) * between / remainder if remainder else certain
    return Friedman(
        statistic=statistic,
        p_value=float(stats.chi2.sf(statistic, k - 1)),
        mean_ranks=ranks.mean(axis=0),
        n_blocks=n_blocks,
        names=labels,
        iman_davenport=f,
        iman_davenport_p=float(stats.f.sf(f, k - 1, (k - 1) * (n_blocks - 1))),
        n_dropped=n_dropped,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Nemenyi:
    """Result of :func:`nemenyi`, as a critical difference diagram shows it.

    Attributes
    ----------
    mean_ranks : float array of shape (n_methods,)
        1 is best.
    critical_difference : float
        Mean ranks at least this far apart differ significantly.
    p_values : float array of shape (n_methods, n_methods)
    groups : tuple of tuples of int
        The bars of the diagram: the largest runs of two or more methods, best first, whose mean
        ranks differ by less than the critical difference.
    names : tuple of str
    alpha : float
    n_blocks, n_dropped : int
    """

    mean_ranks: FloatArray
    critical_difference: float
    p_values: FloatArray
    groups: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    alpha: float
    n_blocks: int
    n_dropped: int

    def __repr__(self) -> str:
        return (
            f"Nemenyi(critical_difference={self.critical_difference:.4g}, "
            f"{len(self.names)} methods, {self.n_blocks} blocks, alpha={self.alpha:g})"
        )

    def summary(self) -> str:
        """Return as text mean ranks, best first, and the groups that do not differ."""
        groups = [", ".join(self.names[i] for i in group) for group in self.groups]
        return "\n".join(
            [
                f"Nemenyi: {len(self.names)} methods, {blocks_text(self.n_blocks, self.n_dropped)}",
                f"critical difference {self.critical_difference:.4g} at alpha {self.alpha:g}",
                *rank_lines(self.mean_ranks, self.names),
                *(f"no significant difference: {group}" for group in groups),
            ]
        )


def nemenyi(
    scores: npt.ArrayLike,
    names: Sequence[str] | None = None,
    alpha: float = 0.05,
    greater_is_better: bool = True,
) -> Nemenyi:
    r"""Compare all methods with all others after Friedman's test.

    .. math::

        CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

    with :math:`q_\alpha` the quantile of the studentised range of k means with infinite degrees
    of freedom, divided by :math:`\sqrt 2`.

    Parameters
    ----------
    scores : array of shape (n_blocks, n_methods)
        As in :func:`friedman`.
    names : sequence of str, default=None
    alpha : float, default=0.05
        The probability that any two equal methods are found to differ.
    greater_is_better : bool, default=True

    Returns
    -------
    Nemenyi

    References
    ----------
    Demšar, J. (2006), Statistical comparisons of classifiers over multiple data sets, *Journal of
    Machine Learning Research* 7, 1-30.

    Examples
    --------
    >>> from featly.measures.statistics import nemenyi
    >>> error = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.1, 0.3, 0.2], [0.1, 0.2, 0.4]] * 3
    >>> print(nemenyi(error, names=["forest", "tree", "bayes"], greater_is_better=False).summary())
    Nemenyi: 3 methods, 12 blocks
    critical difference 0.9568 at alpha 0.05
       1.00  forest
       2.25  tree
       2.75  bayes
    no significant difference: tree, bayes
    """
    table, labels, n_dropped = read_scores(scores, names)
    quantile = range_quantile(alpha, table.shape[1])
    n_blocks, k = table.shape
    mean_ranks = ranks_of(table, greater_is_better).mean(axis=0)
    scale = math.sqrt(k * (k + 1) / (6 * n_blocks))
    difference = quantile * scale
    return Nemenyi(
        mean_ranks=mean_ranks,
        critical_difference=difference,
        p_values=range_tail(np.abs(np.subtract.outer(mean_ranks, mean_ranks)) / scale, k),
        groups=_find_bars(mean_ranks, difference),
        names=labels,
        alpha=alpha,
        n_blocks=n_blocks,
        n_dropped=n_dropped,
    )


def read_scores(
    scores: npt.ArrayLike, names: Sequence[str] | None, least: int = 2
) -> tuple[FloatArray, tuple[str, ...], int]:
    """Return the complete blocks of a table, its column names, and the number of dropped blocks."""
    table = as_numbers("scores", scores)
    if table.ndim != 2 or table.shape[1] < 2:
        raise DataError(
            f"scores have shape {table.shape}: give one row a block, one column a method, at least "
            "two methods"
        )
    labels = read_names(names, table.shape[1])
    complete = table[~np.isnan(table).any(axis=1)]
    if len(complete) < least:
        raise DataError(
            f"scores have {len(complete)} rows without NaN: at least {least} needed; leave out the "
            "methods that failed"
        )
    return complete, labels, len(table) - len(complete)


def read_names(names: Sequence[str] | None, k: int) -> tuple[str, ...]:
    """Return k different names of methods; "method 1", "method 2", ... by default."""
    if names is None:
        return tuple(f"method {i}" for i in range(1, k + 1))
    labels = tuple(map(str, names))
    if len(labels) != k or len(set(labels)) != k:
        raise ParameterError(f"names={list(labels)}: give {k} different names, one a method")
    return labels


def position(parameter: str, method: int | str, names: tuple[str, ...]) -> int:
    """Return the position of a method from its position or name."""
    if isinstance(method, str) and method in names:
        return names.index(method)
    if Whole().accepts(method) and method in range(len(names)):
        return int(method)
    raise ParameterError(
        f"{parameter}={method!r}: give a position from 0 to {len(names) - 1} or one of the names, "
        f"{', '.join(names)}"
    )


def ranks_of(table: FloatArray, greater_is_better: bool) -> FloatArray:
    """Return ranks within each row, 1 for the best, ties sharing their mean."""
    return np.asarray(stats.rankdata(-table if greater_is_better else table, axis=1))


def range_quantile(alpha: float, k: int) -> float:
    """Return the studentised range of k means at level alpha, in units of a difference."""
    FRACTION.check("alpha", alpha)
    return float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)


def range_tail(z: FloatArray, k: int) -> FloatArray:
    """Return the probability that any two of k equal means are at least z apart."""
    bound: FloatArray = k * (k - 1) * stats.norm.sf(z)
    p: FloatArray = stats.studentized_range.sf(z * math.sqrt(2), k, np.inf)
    return np.where(bound < FAR_TAIL, bound, np.clip(p, 0.0, 1.0))


def _find_bars(mean_ranks: FloatArray, difference: float) -> tuple[tuple[int, ...], ...]:
    order = np.argsort(mean_ranks, kind="stable")
    ordered = mean_ranks[order]
    runs: list[tuple[int, ...]] = []
    reached = 1
    for start in range(len(order)):
        stop = start + int((ordered[start:] - ordered[start] < difference).sum())
        if stop > max(reached, start + 1):
            runs.append(tuple(order[start:stop].tolist()))
            reached = stop
    return tuple(runs)


def rank_lines(mean_ranks: FloatArray, names: tuple[str, ...]) -> list[str]:
    """Return mean ranks and names, best first, one a line."""
    order = np.argsort(mean_ranks, kind="stable")
    return [f"{mean_ranks[i]:7.2f}  {names[i]}" for i in order]


def blocks_text(n_blocks: int, n_dropped: int) -> str:
    """Describe the number of blocks used and, where there are any, dropped."""
    return f"{n_blocks} blocks" + (f" ({n_dropped} dropped)" if n_dropped else "")
