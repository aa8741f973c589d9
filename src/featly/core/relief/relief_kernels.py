r"""Loops of the Relief family: differences of pairs of rows, summed over columns or over pairs.

.. math::

    \mathrm{diff}_f(i, j) = \begin{cases}
        [x_{if} \ne x_{jf}] & f \text{ categorical} \\
        |x_{if} - x_{jf}| / (\max_f - \min_f) & f \text{ continuous or ordinal}
    \end{cases}

A tile of numbers is float64[rows, columns], scaled to 0..1, NaN is missing. Codes are uint8 or
uint16, 0 is missing. Pairs of known values are added up first, with difference 0 for missing ones.
The expected difference of a missing value comes from a table ``expected[column, class of the row
that misses it, other row]``. Rows are sorted by class.
"""

import numpy as np

from featly.core.runtime.jit import kernel, lane_kernel
from featly.core.runtime.simd import ones

__all__ = [
    "code_extents",
    "code_planes",
    "code_rows",
    "code_weights",
    "column_extremes",
    "column_extremes_by_column",
    "column_extremes_csc",
    "expected_codes",
    "expected_numbers",
    "missing_distances",
    "missing_weights",
    "number_distances",
    "number_weights",
    "plane_distances",
    "tile_from_columns",
    "tile_from_rows",
]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"

PANEL = 64  # rows that are compared with a strip of rows while both are in the cache


# ---- reading --------------------------------------------------------------------------------
@kernel
def column_extremes(values, first, last, low, high, known):
    """Find the smallest and the largest value and their number, of columns ``first:last``.

    `values` is float32 or float64[rows, columns]. For a column without values, `low` and `high`
    stay as they are.
    """
    for i in range(values.shape[0]):
        for f in range(first, last):
            v = np.float64(values[i, f])
            low[f] = v if v < low[f] else low[f]
            high[f] = v if v > high[f] else high[f]
            known[f] += v == v


@kernel
def column_extremes_by_column(values, first, last, low, high, known):
    """Do the same for a feature-major array: `values` is float[columns, rows]."""
    for f in range(first, last):
        least, most, count = np.inf, -np.inf, 0
        for i in range(values.shape[1]):
            v = np.float64(values[f, i])
            least = v if v < least else least
            most = v if v > most else most
            count += v == v
        low[f], high[f], known[f] = least, most, count


@kernel
def column_extremes_csc(data, starts, n_rows, first, last, low, high, known):
    """Do the same for a sparse matrix; values that are not stored are zero."""
    for f in range(first, last):
        stored = data[starts[f] : starts[f + 1]]
        known[f] = n_rows - len(stored)
        if known[f] > 0:
            low[f] = high[f] = 0.0
        for i in range(len(stored)):
            v = np.float64(stored[i])
            low[f] = v if v < low[f] else low[f]
            high[f] = v if v > high[f] else high[f]
            known[f] += v == v


@kernel
def tile_from_rows(values, rows, columns, low, span, tile):
    """``tile[i, f] = (values[rows[i], columns[f]] - low[f]) / span[f]``."""
    for i in range(len(rows)):
        row = values[rows[i]]
        for f in range(len(columns)):
            tile[i, f] = (np.float64(row[columns[f]]) - low[f]) / span[f]


@kernel
def tile_from_columns(values, rows, columns, low, span, tile):
    """Fill the same tile from a feature-major array: `values` is float[columns, rows]."""
    for begin in range(0, len(rows), PANEL):
        end = min(begin + PANEL, len(rows))
        for f in range(len(columns)):
            column = values[columns[f]]
            for i in range(begin, end):
                tile[i, f] = (np.float64(column[rows[i]]) - low[f]) / span[f]


@kernel
def code_extents(codes, first, last, most, levels, n_missing):
    """Find the largest code, number of levels and of missing values, columns ``first:last``."""
    occurs = np.zeros(1 << 16, np.bool_)
    for f in range(first, last):
        largest, n_levels, n_absent = np.int64(0), np.int64(0), np.int64(0)
        for i in range(codes.shape[1]):
            code = np.int64(codes[f, i])
            largest = max(largest, code)
            n_absent += code == 0
            occurs[code] = True
        occurs[0] = False
        for level in range(largest + 1):
            n_levels += occurs[level]
            occurs[level] = False
        most[f], levels[f], n_missing[f] = largest, n_levels, n_absent


@kernel
def code_planes(codes, rows, columns, starts, first, last, planes):
    """Write levels as bits: words ``first:last`` of up to 64 columns.

    ``planes[starts[w]]`` has a bit for every known cell of the columns of word w, one uint64 a row;
    the planes up to ``starts[w + 1]`` have the bits of the level less 1.
    """
    for w in range(first, last):
        for plane in range(starts[w], starts[w + 1]):
            planes[plane] = 0
        for bit in range(min(64, len(columns) - 64 * w)):
            column = codes[columns[64 * w + bit]]
            shift = np.uint64(bit)
            for i in range(len(rows)):
                code = np.uint64(column[rows[i]])
                if code == 0:
                    continue
                planes[starts[w], i] |= np.uint64(1) << shift
                level = code - np.uint64(1)
                for plane in range(starts[w] + 1, starts[w + 1]):
                    planes[plane, i] |= (level & np.uint64(1)) << shift
                    level >>= np.uint64(1)


@kernel
def code_rows(codes, rows, columns, tile):
    """``tile[i, f] = codes[columns[f], rows[i]]``."""
    for begin in range(0, len(rows), PANEL):
        end = min(begin + PANEL, len(rows))
        for f in range(len(columns)):
            column = codes[columns[f]]
            for i in range(begin, end):
                tile[i, f] = column[rows[i]]


# ---- distances ------------------------------------------------------------------------------
@lane_kernel
def number_distances(these, first, last, tile, begin, total):
    """Add the columns of a tile to the distances of rows ``first:last`` to ``begin`` and on.

    `these` and `tile` have the same columns, `total` is float64[rows, rows]. All bounds but the
    number of columns are multiples of 4: two rows by four share what they read.
    """
    width, n = tile.shape[1], tile.shape[0]
    for panel in range(begin, n, PANEL):
        for i in range(first, last, 2):
            a, b = these[i], these[i + 1]
            for j in range(panel, min(n, panel + PANEL), 4):
                c, d, e, g = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
                ac = ad = ae = ag = bc = bd = be = bg = 0.0
                for f in range(width):
                    x = abs(a[f] - c[f])
                    ac += x if x == x else 0.0
                    x = abs(a[f] - d[f])
                    ad += x if x == x else 0.0
                    x = abs(a[f] - e[f])
                    ae += x if x == x else 0.0
                    x = abs(a[f] - g[f])
                    ag += x if x == x else 0.0
                    x = abs(b[f] - c[f])
                    bc += x if x == x else 0.0
                    x = abs(b[f] - d[f])
                    bd += x if x == x else 0.0
                    x = abs(b[f] - e[f])
                    be += x if x == x else 0.0
                    x = abs(b[f] - g[f])
                    bg += x if x == x else 0.0
                total[i, j] += ac
                total[i, j + 1] += ad
                total[i, j + 2] += ae
                total[i, j + 3] += ag
                total[i + 1, j] += bc
                total[i + 1, j + 1] += bd
                total[i + 1, j + 2] += be
                total[i + 1, j + 3] += bg


@kernel
def plane_distances(planes, starts, rows, first, last, triangle, total):
    """Add the categorical columns to the distances of ``rows[first:last]`` to all rows.

    With `triangle` only to those that come later.
    """
    n = planes.shape[1]
    differs = np.empty(n, np.uint64)
    for i in range(first, last):
        a = rows[i]
        begin = a + 1 if triangle else 0
        difference, out = differs[begin:], total[i, begin:n]
        for w in range(len(starts) - 1):
            plane = starts[w] + 1
            other = planes[plane, begin:]
            own = planes[plane, a]
            if plane + 1 < starts[w + 1]:  # genotypes have two planes
                second = planes[plane + 1, begin:]
                also = planes[plane + 1, a]
                for j in range(len(difference)):
                    difference[j] = (other[j] ^ own) | (second[j] ^ also)
            else:
                for j in range(len(difference)):
                    difference[j] = other[j] ^ own
            for plane in range(starts[w] + 3, starts[w + 1]):
                other = planes[plane, begin:]
                own = planes[plane, a]
                for j in range(len(difference)):
                    difference[j] |= other[j] ^ own
            other = planes[starts[w], begin:]
            own = planes[starts[w], a]
            for j in range(len(difference)):
                out[j] += ones(difference[j] & other[j] & own)


# ---- missing values -------------------------------------------------------------------------
@kernel
def expected_numbers(values, order, y, expected):
    """Compute the expected difference of a missing value of each class from every row.

    `values` is float64[columns, rows], `order` its rows from the smallest value to the largest,
    missing last. Fills ``expected[column, class, row]``. If the value of the row is missing too,
    half of the expected difference is filled in, since two such rows are compared twice. In a class
    without values, a missing value is taken to be any value of the column.
    """
    n, n_classes = len(y), expected.shape[1]
    # the last entry stands for all classes
    count, summed = np.empty(n_classes + 1), np.empty(n_classes + 1)
    below, lower = np.empty(n_classes + 1), np.empty(n_classes + 1)
    between = np.empty((n_classes, n_classes + 1))
    for f in range(len(values)):
        known = 0
        count[:] = summed[:] = 0.0
        below[:] = lower[:] = 0.0
        between[:] = 0.0
        while known < n and values[f, order[f, known]] == values[f, order[f, known]]:
            i = order[f, known]
            for g in (y[i], n_classes):
                count[g] += 1
                summed[g] += values[f, i]
            known += 1
        for k in range(known):
            i = order[f, k]
            v = values[f, i]
            for c in range(n_classes):
                g = c if count[c] > 0 else n_classes
                above = summed[g] - lower[g] - (count[g] - below[g]) * v
                expected[f, c, i] = (below[g] * v - lower[g] + above) / count[g]
                between[c, y[i]] += expected[f, c, i]
                between[c, n_classes] += expected[f, c, i]
            for g in (y[i], n_classes):
                below[g] += 1
                lower[g] += v
        for k in range(known, n):
            i = order[f, k]
            g = y[i] if count[y[i]] > 0 else n_classes
            for c in range(n_classes):
                expected[f, c, i] = between[c, g] / count[g] / 2


@kernel
def expected_codes(codes, rows, columns, n_levels, y, expected):
    """Do the same for categorical columns: 1 minus the share of the row's level in the class."""
    n, n_classes = len(y), expected.shape[1]
    levels = np.empty(n, np.int64)
    share = np.empty((n_classes + 1, n_levels + 1))
    other = np.empty(n_levels + 1)
    for f in range(len(columns)):
        column = codes[columns[f]]
        share[:] = 0.0
        for i in range(n):
            levels[i] = column[rows[i]]
            share[y[i], levels[i]] += 1
        share[:, 0] = 0.0
        for c in range(n_classes):
            for level in range(n_levels + 1):
                share[n_classes, level] += share[c, level]
        for c in range(n_classes, -1, -1):
            count = 0.0
            for level in range(n_levels + 1):
                count += share[c, level]
            for level in range(n_levels + 1):
                share[c, level] = share[c, level] / count if count > 0 else share[n_classes, level]
        for c in range(n_classes):
            for level in range(n_levels + 1):
                other[level] = 1 - share[c, level]
            out = expected[f, c]
            for i in range(n):
                out[i] = other[levels[i]]
            for i in range(n):
                if levels[i] == 0:
                    out[i] = 0.0
                    for level in range(1, n_levels + 1):
                        out[i] += share[y[i], level] * other[level] / 2


@kernel
def missing_distances(expected, starts, missing, y, rows, first, last, total):
    """Add the expected differences of the missing values of ``rows[first:last]`` from all rows.

    Row i has its missing values in the columns ``missing[starts[i]:starts[i + 1]]``.
    """
    for r in range(first, last):
        i = rows[r]
        out = total[r, : expected.shape[2]]
        for cell in range(starts[i], starts[i + 1]):
            add = expected[missing[cell], y[i]]
            for j in range(len(add)):
                out[j] += add[j]


# ---- weights --------------------------------------------------------------------------------
@kernel
def number_weights(tile, first, last, starts, others, coefficients, rows, out):
    """Add ``coefficient * |difference|`` of all pairs to `out`, for columns ``first:last``.

    Pairs are ``rows[r]`` with ``others[starts[r]:starts[r + 1]]``. Every column has its terms
    added in the same order, so equal columns get equal sums.
    """
    for r in range(len(rows)):
        a = tile[rows[r], first:last]
        pair, end = starts[r], starts[r + 1]
        while pair < end:
            # three at a time, so that each sum is read and written a third as often
            b = tile[others[pair], first:last]
            c = tile[others[min(pair + 1, end - 1)], first:last]
            d = tile[others[min(pair + 2, end - 1)], first:last]
            by_b = coefficients[pair]
            by_c = coefficients[pair + 1] if pair + 1 < end else 0.0
            by_d = coefficients[pair + 2] if pair + 2 < end else 0.0
            for f in range(len(out)):
                x, y, z = abs(a[f] - b[f]), abs(a[f] - c[f]), abs(a[f] - d[f])
                x = by_b * (x if x == x else 0.0)
                y = by_c * (y if y == y else 0.0)
                z = by_d * (z if z == z else 0.0)
                out[f] = out[f] + x + y + z
            pair += 3


@kernel
def code_weights(tile, starts, others, coefficients, rows, out):
    """Do the same for categorical columns, for all columns of a tile of codes."""
    for r in range(len(rows)):
        a = tile[rows[r]]
        for pair in range(starts[r], starts[r + 1]):
            b = tile[others[pair]]
            coefficient = coefficients[pair]
            for f in range(len(out)):
                differ = (a[f] != b[f]) & (a[f] != 0) & (b[f] != 0)
                out[f] += coefficient if differ else 0.0


@kernel
def missing_weights(
    expected, starts, missing, y, pair_starts, others, coefficients, first, last, out
):
    """Add ``coefficient * expected difference`` of the missing values of columns ``first:last``.

    Column f has its missing values in the rows ``missing[starts[f]:starts[f + 1]]``; every pair is
    listed with both rows.
    """
    for f in range(first, last):
        for cell in range(starts[f], starts[f + 1]):
            i = missing[cell]
            against = expected[f, y[i]]
            for pair in range(pair_starts[i], pair_starts[i + 1]):
                out[f] += coefficients[pair] * against[others[pair]]
