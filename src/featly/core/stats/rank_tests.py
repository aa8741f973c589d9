r"""The Kruskal-Wallis test of many columns over the classes.

.. math::

    H = \frac{(n - 1) \sum_c n_c (\bar r_c - \bar r)^2}{\sum_i (r_i - \bar r)^2}

where r are the ranks of a column's values; equal values get the mean of their ranks. The
denominator is :math:`(n^3 - n - \sum (t^3 - t)) / 12` over the groups of t equal values, so this is
the textbook H divided by its correction for ties. Kruskal, W. H. and Wallis, W. A. (1952), Use of
ranks in one-criterion variance analysis, *J. Amer. Statist. Assoc.* 47, 583-621.
"""

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks
from featly.core.runtime.question import question
from featly.core.sources import Source

__all__ = ["kruskal_wallis"]

# mypy: disable-error-code="no-untyped-def"


@question(gpu=True)
def kruskal_wallis(
    source: Source, y: IntArray, n_classes: int, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute H of every column of a source of numbers, and its degrees of freedom.

    Missing values are left out, and so is a class without any value in the column. Where fewer
    than two classes or two different values remain, H is 0 with one degree of freedom. With two
    classes, H is the square of the normal deviate of the Mann-Whitney test without continuity
    correction.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0], [np.nan, 6.0]])
    >>> statistic, freedom = kruskal_wallis(DenseSource(X), np.array([0, 0, 1, 1]), 2)
    >>> statistic.round(4).tolist(), freedom.tolist()
    ([1.5, 0.0], [1.0, 1.0])
    """
    statistic, freedom = np.zeros(source.n_features), np.ones(source.n_features)

    def score_block(block: tuple[int, int]) -> None:
        low, high = block
        values = source.load(np.arange(low, high))
        # NumPy's sort is vectorised, and lets other threads run; NaN comes last
        order = np.argsort(values, axis=1)
        _kruskal_wallis(values, order, y, n_classes, statistic[low:high], freedom[low:high])

    run_blocks(score_block, source.blocks(), n_jobs)
    return statistic, freedom


@kernel
def _kruskal_wallis(values, order, y, n_classes, statistic, freedom):
    """Fill H and its degrees of freedom; `order` sorts each row of `values`, missing last."""
    for f in range(len(values)):
        x, by = values[f], order[f]
        n = len(x)
        while n > 0 and np.isnan(x[by[n - 1]]):
            n -= 1
        count, ranks = np.zeros(n_classes), np.zeros(n_classes)
        ties = 0.0
        low = 0
        while low < n:
            high = low + 1
            while high < n and x[by[high]] == x[by[low]]:
                high += 1
            # twice the difference of the mean rank from the mean of all ranks: a whole number
            rank = np.float64(low + high - n)
            for k in range(low, high):
                count[y[by[k]]] += 1
                ranks[y[by[k]]] += rank
            t = np.float64(high - low)
            ties += (t - 1) * t * (t + 1)
            low = high
        between, present = 0.0, 0
        for c in range(n_classes):
            if count[c] > 0:
                between += ranks[c] * ranks[c] / count[c]
                present += 1
        total = np.float64(n)
        spread = (total - 1) * total * (total + 1) - ties
        if present > 1 and spread > 0:
            statistic[f] = 3 * (total - 1) * between / spread
            freedom[f] = present - 1
