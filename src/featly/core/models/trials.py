r"""Counts of the rows of each class that are right, for many sets of columns at a time.

.. math::

    r_c = \sum_{i: y_i = c} \frac{[y_i \in W_i]}{|W_i|}, \qquad
    W_i = \arg\max_d \ell_{id},

where :math:`\ell_{id}` is the logarithm of class d at row i: a row whose likeliest classes tie is
right in part.
"""

import numpy as np

from featly.core.models.naive_bayes import NEAR
from featly.core.runtime.jit import kernel

__all__ = ["count_right"]


@kernel
def count_right(total, more, y, fold, right):  # type: ignore[no-untyped-def]
    """Fill ``right[set, class]`` with the rows that ``total + more[set]`` has right.

    `total` is float64[n, classes], `more` float64[sets, n, classes], `y` int64[n], `fold` int64[n]
    with -1 for rows that are not tested.
    """
    n, n_classes = total.shape
    for s in range(len(more)):
        logs, class_counts = more[s], right[s]
        for c in range(n_classes):
            class_counts[c] = 0.0
        for i in range(n):
            if fold[i] < 0:
                continue
            best = -np.inf
            for c in range(n_classes):
                best = max(best, total[i, c] + logs[i, c])
            limit = best - NEAR * max(1.0, abs(best))
            if total[i, y[i]] + logs[i, y[i]] < limit:
                continue
            n_wins = 0
            for c in range(n_classes):
                n_wins += total[i, c] + logs[i, c] >= limit
            class_counts[y[i]] += 1 / n_wins
