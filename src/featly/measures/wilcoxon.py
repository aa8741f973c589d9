r"""Methods compared two by two on the same blocks: Wilcoxon with Holm's adjustment.

.. math::

    \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

Holm, S. (1979), A simple sequentially rejective multiple test procedure, *Scandinavian Journal of
Statistics* 6, 65-70.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray
from featly.measures.corrected_t import FRACTION, as_numbers
from featly.measures.friedman import blocks_text, position, read_scores

__all__ = ["WilcoxonHolm", "holm", "holm_levels", "wilcoxon_holm"]


@dataclass(frozen=True, eq=False, repr=False)
class WilcoxonHolm:
    """Result of :func:`wilcoxon_holm`.

    Attributes
    ----------
    pairs : tuple of (int, int)
        The methods compared, by position.
    median_differences, statistics, p_values, adjusted : float arrays, one value a pair
        Median of the first method's score less the second's; Wilcoxon's statistic (the smaller
        sum of ranks); its p-value; and that after Holm's adjustment.
    names : tuple of str
    alpha : float
    n_blocks, n_dropped : int
    """

    pairs: tuple[tuple[int, int], ...]
    median_differences: FloatArray
    statistics: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    names: tuple[str, ...]
    alpha: float
    n_blocks: int
    n_dropped: int

    def matrix(self) -> FloatArray:
        """Return adjusted p-values of all pairs: 1 on the diagonal, NaN where not compared."""
        out = np.full((len(self.names), len(self.names)), np.nan)
        np.fill_diagonal(out, 1.0)
        for (i, j), p in zip(self.pairs, self.adjusted, strict=True):
            out[i, j] = out[j, i] = p
        return out

    def __repr__(self) -> str:
        significant = int((self.adjusted <= self.alpha).sum())
        return (
            f"WilcoxonHolm({len(self.pairs)} pairs, {significant} significant at "
            f"alpha={self.alpha:g}, {self.n_blocks} blocks)"
        )

    def summary(self) -> str:
        """Return one line a pair, most significant first, as text."""
        lines = [
            f"Wilcoxon with Holm's adjustment: {len(self.pairs)} pairs, "
            f"{blocks_text(self.n_blocks, self.n_dropped)}"
        ]
        for pair in np.argsort(self.adjusted, kind="stable"):
            first, second = (self.names[i] for i in self.pairs[pair])
            star = " *" if self.adjusted[pair] <= self.alpha else ""
            lines.append(
                f"{first} - {second}: median {self.median_differences[pair]:+.4g}, "
                f"p = {self.p_values[pair]:.3g}, adjusted {self.adjusted[pair]:.3g}{star}"
            )
        return "\n".join(lines)


def wilcoxon_holm(
    scores: npt.ArrayLike,
    names: Sequence[str] | None = None,
    alpha: float = 0.05,
    control: int | str | None = None,
) -> WilcoxonHolm:
    """Compare methods pair by pair with Wilcoxon's signed-rank test, adjusted by Holm.

    Differences of zero are left out; a pair without any other has p 1. The p-value is scipy's:
    exact for few differences, by the normal distribution for many.

    Parameters
    ----------
    scores : array of shape (n_blocks, n_methods)
        A block with NaN is left out.
    names : sequence of str, default=None
    alpha : float, default=0.05
    control : int, str or None, default=None
        Compare all others with this method, by position or name; None compares all pairs.

    Returns
    -------
    WilcoxonHolm

    References
    ----------
    Wilcoxon, F. (1945), Individual comparisons by ranking methods, *Biometrics Bulletin* 1, 80-83.

    Examples
    --------
    >>> from featly.measures.statistics import wilcoxon_holm
    >>> accuracy = [[0.80 + 0.01 * i, 0.79 + 0.001 * i, 0.80 + 0.01 * i] for i in range(8)]
    >>> print(wilcoxon_holm(accuracy, names=["forest", "tree", "bagging"], control=0).summary())
    Wilcoxon with Holm's adjustment: 2 pairs, 8 blocks
    forest - tree: median +0.0415, p = 0.00781, adjusted 0.0156 *
    forest - bagging: median +0, p = 1, adjusted 1
    """
    table, labels, n_dropped = read_scores(scores, names)
    FRACTION.check("alpha", alpha)
    if np.isinf(table).any():
        raise DataError("scores hold infinite values, which have no differences: replace them")
    k = len(labels)
    if control is None:
        pairs = tuple(combinations(range(k), 2))
    else:
        fixed = position("control", control, labels)
        pairs = tuple((fixed, j) for j in range(k) if j != fixed)
    differences = [table[:, i] - table[:, j] for i, j in pairs]
    tests = [
        stats.wilcoxon(d, zero_method="wilcox") if d.any() else (0.0, 1.0) for d in differences
    ]
    p_values = np.array([float(p) for _, p in tests])
    return WilcoxonHolm(
        pairs=pairs,
        median_differences=np.array([np.median(d) for d in differences]),
        statistics=np.array([float(statistic) for statistic, _ in tests]),
        p_values=p_values,
        adjusted=holm(p_values),
        names=labels,
        alpha=alpha,
        n_blocks=len(table),
        n_dropped=n_dropped,
    )


def holm(p_values: npt.ArrayLike) -> FloatArray:
    r"""Adjust p-values so that any false rejection at all has chance at most alpha.

    .. math::

        \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    Parameters
    ----------
    p_values : array of shape (n_tests,)

    Returns
    -------
    float array of shape (n_tests,)
        In the order given. Reject where it is at most alpha.

    References
    ----------
    Holm, S. (1979), A simple sequentially rejective multiple test procedure, *Scandinavian Journal
    of Statistics* 6, 65-70.

    Examples
    --------
    >>> from featly.measures.statistics import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = as_numbers("p_values", p_values)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise DataError("p_values are not a list of numbers from 0 to 1: leave out the others")
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return out


def holm_levels(p_values: npt.ArrayLike, alpha: float = 0.05) -> list[float]:
    """Return the level of the interval of each comparison that agrees with Holm's procedure.

    The comparison of the k-th smallest of m p-values is decided at alpha / (m - k + 1). From the
    first that is not significant on, none is, and all have the level of that one. So an interval
    lies beside 0 exactly where its adjusted p is at most alpha.

    Parameters
    ----------
    p_values : array of shape (n_tests,)
    alpha : float, default=0.05

    Examples
    --------
    >>> from featly.measures.statistics import holm_levels
    >>> [round(level, 4) for level in holm_levels([0.01, 0.04])]
    [0.975, 0.95]
    """
    p = np.asarray(p_values, dtype=np.float64)
    levels, m, step = [0.0] * len(p), len(p), 0
    for place, k in enumerate(np.argsort(p, kind="stable").tolist()):
        is_next = place == step and bool(p[k] <= alpha / (m - step))
        levels[k] = 1 - alpha / (m - step)
        step += is_next
    return levels
