"""Loops that cut columns into equal intervals, and that code numbers by cut points.

The rules are described in :mod:`featly.core.counts.discretise`, which calls these loops.
"""

import numpy as np

from featly.core.counts.mdlp import midpoint, sort_stored
from featly.core.runtime.jit import kernel

__all__ = [
    "code_stored",
    "code_tile",
    "frequency_columns",
    "stored_columns",
    "width_columns",
]

# mypy: disable-error-code="no-untyped-def"

FEW_CUTS = 64  # up to so many, comparing with each of them beats a bisection
CHUNK = 4096  # rows that stay in the nearest cache


@kernel
def _width_cuts(low, high, n_bins, cut_points, at):
    """Write equidistant cut points; return where they end."""
    begin = at
    step = (high - low) / n_bins
    for j in range(1, n_bins):
        cut = low + step * j
        # rounding may make neighbours equal; a column without a value has NaN and no cut
        if low <= cut < high and (at == begin or cut_points[at - 1] < cut):
            cut_points[at] = cut
            at += 1
    return at


@kernel
def width_columns(low, high, n_bins, cut_points, ends):
    """Write cut points of columns with these extremes; `ends` gets the end of each column's."""
    at = np.int64(0)
    for f in range(len(low)):
        at = _width_cuts(low[f], high[f], n_bins, cut_points, at)
        ends[f] = at


@kernel
def _frequency_cuts(value, upto, m, n_bins, cut_points, at):
    """Write the cut points between m different rising values; return where they end.

    `upto` is the number of rows with at most each value.
    """
    if m < 2:
        return at
    n = upto[m - 1]
    if n_bins == 0:
        n_bins = np.int64(np.sqrt(n))
    done, first = 0, 0
    for left in range(n_bins, 1, -1):
        if first >= m - 1:
            break
        i = first
        while i < m - 2 and (upto[i] - done) * left < n - done:
            i += 1
        above = (upto[i] - done) * left - (n - done)
        if i > first and (n - done) - (upto[i - 1] - done) * left < above:
            i -= 1
        cut_points[at] = midpoint(value[i], value[i + 1])
        at += 1
        done, first = upto[i], i + 1
    return at


@kernel
def frequency_columns(tile, n_bins, cut_points, ends):
    """Write cut points for intervals with as many values; tile columns rise, NaN last."""
    n = tile.shape[1]
    value, upto = np.empty(n), np.empty(n, np.int64)
    at = np.int64(0)
    for f in range(len(tile)):
        m = np.int64(0)
        for i in range(n):
            x = np.float64(tile[f, i])
            if x != x:
                break
            if m == 0 or value[m - 1] < x:
                value[m] = x
                m += 1
            upto[m - 1] = i + 1
        at = _frequency_cuts(value, upto, m, n_bins, cut_points, at)
        ends[f] = at


@kernel
def stored_columns(
    data, indices, indptr, columns, unlabelled, by_width, n_bins, lo, hi, cut_points, ends
):
    """Write cut points of columns of a sparse matrix without regard to classes."""
    most = 0
    for f in range(lo, hi):
        most = max(most, indptr[columns[f] + 1] - indptr[columns[f]])
    size = most + 1
    value, spare = np.empty(size), np.empty(size)
    label, spare_label = np.empty(size, np.int64), np.empty(size, np.int64)
    bound, upto = np.empty(size + 2, np.int64), np.empty(size, np.int64)
    zeros = np.empty(1, np.int64)
    at = np.int64(0)
    for f in range(lo, hi):
        zeros[0] = len(unlabelled)
        low, high = indptr[columns[f]], indptr[columns[f] + 1]
        m, negative, value, label, spare, spare_label = sort_stored(
            data, indices, low, high, unlabelled, zeros, bound, value, label, spare, spare_label
        )
        n_distinct, rows = np.int64(0), np.int64(0)
        for i in range(m + 1):
            if i == negative and zeros[0] > 0:
                rows += zeros[0]
                spare[n_distinct], upto[n_distinct] = 0.0, rows
                n_distinct += 1
            if i < m:
                rows += 1
                if n_distinct == 0 or spare[n_distinct - 1] < value[i]:
                    spare[n_distinct] = value[i]
                    n_distinct += 1
                upto[n_distinct - 1] = rows
        if not by_width:
            at = _frequency_cuts(spare, upto, n_distinct, n_bins, cut_points, at)
        elif n_distinct > 0:
            at = _width_cuts(spare[0], spare[n_distinct - 1], n_bins, cut_points, at)
        ends[f - lo] = at


@kernel
def code_tile(tile, features, limits, start, codes):
    """Write 1 + the number of limits below each value, 0 where it is missing."""
    n = tile.shape[1]
    for r in range(len(tile)):
        f = features[r]
        low, high = start[f], start[f + 1]
        if high - low > FEW_CUTS:
            for i in range(n):
                x = tile[r, i]
                codes[f, i] = 0 if x != x else 1 + _below(limits, low, high, x)
            continue
        for begin in range(0, n, CHUNK):
            column, out = tile[r, begin : begin + CHUNK], codes[f, begin : begin + CHUNK]
            for i in range(len(column)):
                out[i] = column[i] == column[i]
            for j in range(low, high):
                limit = limits[j]
                for i in range(len(column)):
                    out[i] += column[i] > limit


@kernel
def _below(limits, low, high, x):
    """Return how many of some rising numbers are below x."""
    position, size = low, high - low
    while size > 0:  # a bisection without branches to mispredict
        half = (size + 1) // 2
        position += half if limits[position + half - 1] < x else 0
        size -= half
    return position - low


@kernel
def code_stored(data, indptr, columns, cuts, start, lo, hi, codes, zero):
    """Write the codes of the stored entries of a sparse matrix, and of its zeros."""
    for f in range(lo, hi):
        low, high = start[f], start[f + 1]
        zero[f] = 1 + _below(cuts, low, high, 0.0)
        for position in range(indptr[columns[f]], indptr[columns[f] + 1]):
            x = np.float64(data[position])
            codes[position] = 0 if x != x else 1 + _below(cuts, low, high, x)
