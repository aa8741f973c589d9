r"""Methods compared by unpaired samples: Kruskal-Wallis, then Tukey.

.. math::

    H = \frac{\sum_i n_i (\bar R_i - \frac{N + 1}{2})^2}{S^2}, \qquad
    |\bar R_i - \bar R_j| \ge \frac{q_{\alpha, k, \infty}}{\sqrt 2}
    \sqrt{S^2 \Bigl(\frac{1}{n_i} + \frac{1}{n_j}\Bigr)}

Hsu, J. C. (1996), *Multiple Comparisons: Theory and Methods*, CRC Press.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray
from featly.measures.corrected_t import as_numbers
from featly.measures.friedman import (
    position,
    range_quantile,
    range_tail,
    rank_lines,
    ranks_of,
    read_names,
)

__all__ = ["KruskalTukey", "kruskal_tukey"]


@dataclass(frozen=True, eq=False, repr=False)
class KruskalTukey:
    """Result of :func:`kruskal_tukey`.

    Attributes
    ----------
    statistic, p_value : float
        Kruskal and Wallis' H with correction for ties, on k - 1 degrees of freedom.
    mean_ranks : float array of shape (n_methods,)
        Ranks among all values; 1 is the best value of all.
    p_values : float array of shape (n_methods, n_methods)
        Of Tukey's comparisons.
    critical_differences : float array of shape (n_methods, n_methods)
        Mean ranks at least this far apart differ significantly.
    counts : int array of shape (n_methods,)
    names : tuple of str
    alpha : float
    n_dropped : int
        Values left out because they were NaN.
    """

    statistic: float
    p_value: float
    mean_ranks: FloatArray
    p_values: FloatArray
    critical_differences: FloatArray
    counts: IntArray
    names: tuple[str, ...]
    alpha: float
    n_dropped: int

    def not_worse(self, best: int | str | None = None) -> tuple[int, ...]:
        """List the methods not significantly worse than the best, by position.

        Parameters
        ----------
        best : int, str or None, default=None
            The method to compare with, by position or name; None is that of best mean rank.
        """
        i = int(np.argmin(self.mean_ranks)) if best is None else position("best", best, self.names)
        worse = (self.p_values[i] <= self.alpha) & (self.mean_ranks > self.mean_ranks[i])
        return tuple(np.flatnonzero(~worse).tolist())

    def __repr__(self) -> str:
        return (
            f"KruskalTukey(statistic={self.statistic:.4g}, p_value={self.p_value:.3g}, "
            f"{len(self.names)} methods, {self.counts.sum()} values)"
        )

    def summary(self) -> str:
        """Return as text the test, the mean ranks, and the methods not worse than the best."""
        names = ", ".join(self.names[i] for i in self.not_worse())
        dropped = f" ({self.n_dropped} dropped)" if self.n_dropped else ""
        return "\n".join(
            [
                f"Kruskal-Wallis: {len(self.names)} methods, {self.counts.sum()} values{dropped}",
                f"H {self.statistic:.4g}, p = {self.p_value:.3g}",
                *rank_lines(self.mean_ranks, self.names),
                f"not worse than the best (Tukey, alpha {self.alpha:g}): {names}",
            ]
        )


def kruskal_tukey(
    samples: npt.ArrayLike | Sequence[npt.ArrayLike],
    names: Sequence[str] | None = None,
    alpha: float = 0.05,
    greater_is_better: bool = True,
) -> KruskalTukey:
    r"""Test whether unpaired samples differ, then compare all with all.

    .. math::

        H = \frac{\sum_i n_i (\bar R_i - \frac{N + 1}{2})^2}{S^2}, \qquad
        |\bar R_i - \bar R_j| \ge \frac{q_{\alpha, k, \infty}}{\sqrt 2}
        \sqrt{S^2 \Bigl(\frac{1}{n_i} + \frac{1}{n_j}\Bigr)}

    with :math:`S^2 = \frac{N (N + 1)}{12} - \frac{\sum_t (t^3 - t)}{12 (N - 1)}`, the variance of
    the ranks, ties of t values counted. The second part is Tukey's procedure in Kramer's form for
    unequal sizes, as MATLAB's ``multcompare`` does it on ranks.

    Parameters
    ----------
    samples : list of arrays, or array of shape (n_runs, n_methods)
        One array a method, of any length; or a table, of which every column is a sample. NaN are
        left out.
    names : sequence of str, default=None
    alpha : float, default=0.05
    greater_is_better : bool, default=True
        Whether rank 1 goes to the largest value.

    Returns
    -------
    KruskalTukey

    References
    ----------
    Kruskal, W. H. and Wallis, W. A. (1952), Use of ranks in one-criterion variance analysis, *J.
    Am. Stat. Assoc.* 47, 583-621. Hsu, J. C. (1996), *Multiple Comparisons*, CRC Press.

    Examples
    --------
    >>> from featly.measures.statistics import kruskal_tukey
    >>> samples = [[0.91, 0.93, 0.92, 0.95], [0.90, 0.94, 0.89, 0.96], [0.70, 0.72, 0.69, 0.71]]
    >>> result = kruskal_tukey(samples, names=["forest", "svm", "tree"])
    >>> result, result.not_worse("forest")
    (KruskalTukey(statistic=7.423, p_value=0.0244, 3 methods, 12 values), (0, 1))
    """
    lists = as_samples(samples)
    labels = read_names(names, len(lists))
    k = len(lists)
    quantile = range_quantile(alpha, k)
    complete = [x[~np.isnan(x)] for x in lists]
    counts = np.array([len(x) for x in complete])
    if not counts.all():
        raise DataError(f"sample {labels[int(np.argmin(counts))]!r} has no value: leave it out")
    n = int(counts.sum())
    if n == k:
        raise DataError("every sample has a single value: at least one needs two")
    ranks = ranks_of(np.concatenate(complete)[None, :], greater_is_better)[0]
    mean_ranks = np.array([part.mean() for part in np.split(ranks, np.cumsum(counts)[:-1])])
    variance = float(((ranks - (n + 1) / 2) ** 2).sum()) / (n - 1)
    scale = np.sqrt(variance * np.add.outer(1 / counts, 1 / counts))
    differences = np.abs(np.subtract.outer(mean_ranks, mean_ranks))
    statistic = float(counts @ (mean_ranks - (n + 1) / 2) ** 2) / variance if variance else 0.0
    return KruskalTukey(
        statistic=statistic,
        p_value=float(stats.chi2.sf(statistic, k - 1)),
        mean_ranks=mean_ranks,
        p_values=range_tail(differences / scale, k) if variance else np.ones((k, k)),
        critical_differences=quantile * scale,
        counts=counts,
        names=labels,
        alpha=alpha,
        n_dropped=sum(map(len, lists)) - n,
    )


def as_samples(samples: npt.ArrayLike | Sequence[npt.ArrayLike]) -> list[FloatArray]:
    """Return one array a method; the columns of a table."""
    if isinstance(samples, np.ndarray) and samples.ndim == 2:
        samples = list(samples.T)
    lists = [as_numbers("samples", x) for x in samples]  # type: ignore[union-attr]
    if len(lists) < 2 or any(x.ndim != 1 for x in lists):
        raise DataError("samples: give at least two lists of numbers, one a method")
    return lists
