r"""Distances between two samples, column by column, for many permutations of the rows.

.. math::

    KS = \max_x |F_1(x) - F_2(x)|, \qquad TV = \tfrac12 \sum_l |p_{1l} - p_{2l}|

A column is sorted once; then its rows are passed once for all permutations together, one lane each,
so a thousand of them cost little more than ten.
"""

import numpy as np

from featly.core.runtime.jit import kernel

__all__ = ["column_distances"]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"

EQUAL = 1e-9  # standardised distances that differ by no more than this are equal


@kernel
def column_distances(
    orders, ends, present, numeric, labels, distance, missing_difference, score, p, largest
):
    """Fill the distances of every column, their scores and p-values, and the largest scores.

    Parameters
    ----------
    orders : int64[columns, n]
        Rows sorted by value, rows with a missing value last.
    ends : bool[columns, n]
        Whether the next row in that order has another value.
    present : int64[columns]
        Number of rows with a value.
    numeric : bool[columns]
        KS for these columns, TV for the others.
    labels : uint8[n, lanes]
        1 for rows of the first sample; lane 0 is as observed.
    distance, missing_difference : float64[columns]
        Out: the observed distance, and the observed difference of the shares of missing values.
    score, p : float64[columns]
        Out: the larger of the two after standardising over all lanes, and the share of lanes whose
        score is at least as large.
    largest : float64[lanes]
        In and out: the largest score in each lane.
    """
    n, n_lanes = labels.shape
    first, scale_one, scale_two = np.zeros(n_lanes), np.empty(n_lanes), np.empty(n_lanes)
    counted, total = np.empty(n_lanes, np.int32), np.zeros(n_lanes, np.int32)
    apart, missing, scores = np.empty(n_lanes), np.empty(n_lanes), np.empty(n_lanes)
    for i in range(n):
        for b in range(n_lanes):
            total[b] += labels[i, b]
    for f in range(len(orders)):
        m = present[f]
        for b in range(n_lanes):
            counted[b] = 0
            apart[b] = 0.0
        if m < n:
            for i in range(m):
                _count(labels[orders[f, i]], counted)
        else:
            for b in range(n_lanes):
                counted[b] = total[b]
        for b in range(n_lanes):
            first[b] = counted[b]
            second = m - first[b]
            has_both = first[b] > 0 and second > 0  # else there is nothing to compare
            scale_one[b] = 1.0 / first[b] if has_both else 0.0
            scale_two[b] = 1.0 / second if has_both else 0.0
            missing[b] = abs(first[b] / total[b] - second / (n - total[b]))
            counted[b] = 0
        if numeric[f]:
            for i in range(m):
                _count(labels[orders[f, i]], counted)
                if ends[f, i]:
                    _update_widest(counted, i + 1, scale_one, scale_two, apart)
        else:
            begin = 0
            for i in range(m):
                _count(labels[orders[f, i]], counted)
                if ends[f, i]:
                    _add_level(counted, i + 1 - begin, scale_one, scale_two, apart)
                    begin = i + 1
        distance[f], missing_difference[f] = apart[0], missing[0]
        for b in range(n_lanes):
            scores[b] = 0.0
        if n_lanes > 1:
            _standardise(apart)
            _standardise(missing)
            for b in range(n_lanes):
                scores[b] = max(apart[b], missing[b])
        score[f] = scores[0]
        count = 0
        for b in range(n_lanes):
            count += scores[b] >= scores[0] - EQUAL
            largest[b] = max(largest[b], scores[b])
        p[f] = count / n_lanes


@kernel
def _count(label, counted):
    for b in range(len(label)):
        counted[b] += label[b]


@kernel
def _update_widest(counted, done, scale_one, scale_two, apart):
    for b in range(len(counted)):
        d = abs(counted[b] * scale_one[b] - (done - counted[b]) * scale_two[b])
        apart[b] = max(apart[b], d)


@kernel
def _add_level(counted, size, scale_one, scale_two, apart):
    for b in range(len(counted)):
        apart[b] += abs(counted[b] * scale_one[b] - (size - counted[b]) * scale_two[b]) / 2
        counted[b] = 0


@kernel
def _standardise(values):
    """Scale to mean 0 and variance 1 over all lanes, or to all 0 where they are equal."""
    n, mean, squares = len(values), 0.0, 0.0
    for b in range(n):
        mean += values[b] / n
    for b in range(n):
        squares += (values[b] - mean) * (values[b] - mean) / n
    spread = np.sqrt(squares)
    for b in range(n):
        values[b] = (values[b] - mean) / spread if spread > 1e-12 else 0.0
