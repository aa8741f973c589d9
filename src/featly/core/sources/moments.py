"""Mean and variance of every column within groups of rows, in one pass over the memory.

Each group of a column is shifted by its own first value s before it is summed:

    mean = s + S1 / n,    M2 = S2 - S1^2 / n,    S1 = sum (x - s),  S2 = sum (x - s)^2

Because s is one of the values, n (mean - s)^2 <= n M2: the subtraction loses at most a factor
n + 1 of precision however large the values are, a constant group gives exactly M2 = 0, and the
data is read once. (The textbook sum of squares in float32 gives negative variances.)

Rows are added in an order that is the same for all columns of a table.
"""

import numpy as np

from featly.core.runtime.jit import kernel, lane_kernel

__all__ = [
    "moments_byte_columns",
    "moments_byte_rows",
    "moments_columns",
    "moments_csc",
    "moments_masked",
    "moments_rows",
]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"

EXACT_ROWS = 32_768  # whose squares, or squared differences, of bytes add up to less than 2^31


@kernel
def moments_rows(X, rows, lo, hi, mean, m2):
    """Fill ``mean[lo:hi]`` and ``m2[lo:hi]`` of columns of a row-major X, over `rows`.

    A column with a missing or infinite value comes out as not finite.
    """
    n = len(rows)
    width = hi - lo
    shift = X[rows[0], lo:hi]
    s1 = np.zeros(width)
    s2 = np.zeros(width)
    k = 0
    while k + 8 <= n:
        x0 = X[rows[k], lo:hi]
        x1 = X[rows[k + 1], lo:hi]
        x2 = X[rows[k + 2], lo:hi]
        x3 = X[rows[k + 3], lo:hi]
        x4 = X[rows[k + 4], lo:hi]
        x5 = X[rows[k + 5], lo:hi]
        x6 = X[rows[k + 6], lo:hi]
        x7 = X[rows[k + 7], lo:hi]
        for j in range(width):
            s = np.float64(shift[j])
            a = np.float64(x0[j]) - s
            b = np.float64(x1[j]) - s
            c = np.float64(x2[j]) - s
            d = np.float64(x3[j]) - s
            e = np.float64(x4[j]) - s
            f = np.float64(x5[j]) - s
            g = np.float64(x6[j]) - s
            h = np.float64(x7[j]) - s
            s1[j] += ((a + b) + (c + d)) + ((e + f) + (g + h))
            s2[j] += ((a * a + b * b) + (c * c + d * d)) + ((e * e + f * f) + (g * g + h * h))
        k += 8
    while k < n:
        x0 = X[rows[k], lo:hi]
        for j in range(width):
            a = np.float64(x0[j]) - np.float64(shift[j])
            s1[j] += a
            s2[j] += a * a
        k += 1
    for j in range(width):
        mean[lo + j] = np.float64(shift[j]) + s1[j] / n
        squared_deviation = s2[j] - s1[j] * s1[j] / n
        m2[lo + j] = (
            0.0 if squared_deviation < 0 else squared_deviation
        )  # not max(), which hides a NaN


@lane_kernel
def moments_columns(Xt, member, count, lo, hi, mean, m2):
    """Fill mean and m2 of the rows ``lo:hi`` of a feature-major ``Xt``.

    `member` is 1.0 for the rows of the group and 0.0 for the others, `count` how many are in it.
    A column is so short that reading all of it beats picking the rows of the group.
    """
    n = len(member)
    first = 0
    while member[first] == 0.0:
        first += 1
    for f in range(lo, hi):
        x = Xt[f]
        shift = np.float64(x[first])
        s1 = 0.0
        s2 = 0.0
        for i in range(n):
            d = (np.float64(x[i]) - shift) * member[i]
            s1 += d
            s2 += d * d
        mean[f] = shift + s1 / count
        squared_deviation = s2 - s1 * s1 / count
        m2[f] = 0.0 if squared_deviation < 0 else squared_deviation


@kernel
def moments_byte_rows(X, rows, lo, hi, mean, m2):
    """Do as :func:`moments_rows` for numbers of one byte: exact sums give the same bits.

    They fit into 32 bits over `EXACT_ROWS` rows.
    """
    n = len(rows)
    width = hi - lo
    shift = np.empty(width, np.int32)
    s1, s2 = np.zeros(width, np.int64), np.zeros(width, np.int64)
    part1, part2 = np.empty(width, np.int32), np.empty(width, np.int32)
    x = X[rows[0], lo:hi]
    for j in range(width):
        shift[j] = np.int32(x[j])
    for begin in range(0, n, EXACT_ROWS):
        part1[:] = 0
        part2[:] = 0
        for k in range(begin, min(n, begin + EXACT_ROWS)):
            x = X[rows[k], lo:hi]
            for j in range(width):
                d = np.int32(x[j]) - shift[j]
                part1[j] += d
                part2[j] += np.int32(d * d)
        for j in range(width):
            s1[j] += part1[j]
            s2[j] += part2[j]
    for j in range(width):
        _write_exact(np.float64(shift[j]), s1[j], s2[j], n, lo + j, mean, m2)


@kernel
def moments_byte_columns(Xt, flip, member, first, count, lo, hi, mean, m2):
    """Do as :func:`moments_columns` for numbers of one byte, given as unsigned bytes.

    `flip` is 128 where they have one, and 0 otherwise; `member` is 255 for the rows of the group,
    0 for the others, and `first` the first of its rows. What is summed is not shifted: as sums are
    exact, that is done afterwards.
    """
    n = len(member)
    for f in range(lo, hi):
        x = Xt[f]
        shift = np.int64(x[first] ^ flip)
        total, squares = np.int64(0), np.int64(0)
        for begin in range(0, n, EXACT_ROWS):
            # slices: of an index that might be negative the compiler makes a loop of single bytes
            values, inside = x[begin : begin + EXACT_ROWS], member[begin : begin + EXACT_ROWS]
            part1, part2 = np.uint32(0), np.uint32(0)
            for i in range(len(values)):
                v = np.uint16((values[i] ^ flip) & inside[i])
                part1 += np.uint32(v)
                part2 += np.uint32(v * v)
            total += np.int64(part1)
            squares += np.int64(part2)
        s1 = total - count * shift
        s2 = squares - 2 * shift * total + count * shift * shift
        _write_exact(np.float64(shift - np.int64(flip)), s1, s2, count, f, mean, m2)


@kernel
def _write_exact(shift, s1, s2, n, j, mean, m2):
    total, squares = np.float64(s1), np.float64(s2)
    mean[j] = shift + total / n
    squared_deviation = squares - total * total / n
    m2[j] = 0.0 if squared_deviation < 0 else squared_deviation


@kernel
def moments_masked(block, rows, count, mean, m2):
    """Fill one entry a column of `block`, rows x columns, in which a NaN is a missing value.

    A group without any value gets count 0 and zeros; an infinite value leaves m2 not finite.
    """
    width = block.shape[1]
    shift = np.full(width, np.nan)
    s1 = np.zeros(width)
    s2 = np.zeros(width)
    seen = np.zeros(width)
    for i in rows:
        for j in range(width):
            x = np.float64(block[i, j])
            present = x == x
            s = shift[j]
            s = s if s == s else x
            shift[j] = s
            d = x - s if present else 0.0
            s1[j] += d
            s2[j] += d * d
            seen[j] += 1.0 if present else 0.0
    for j in range(width):
        count[j] = seen[j]
        if seen[j] > 0:
            mean[j] = shift[j] + s1[j] / seen[j]
            m2[j] = s2[j] - s1[j] * s1[j] / seen[j]
            if m2[j] < 0:
                m2[j] = 0.0
        else:
            mean[j] = 0.0
            m2[j] = 0.0


@kernel
def moments_csc(data, indices, indptr, groups, sizes, lo, hi, count, mean, m2):
    """Fill ``[group, column]`` for columns ``lo:hi`` of a CSC matrix, all groups at once.

    A stored NaN is missing, an entry that is not stored is zero; `sizes` are rows a group.
    """
    n_groups = len(sizes)
    for f in range(lo, hi):
        a, b = indptr[f], indptr[f + 1]
        for g in range(n_groups):
            count[g, f] = sizes[g]
            mean[g, f] = 0.0
            m2[g, f] = 0.0
        stored = np.zeros(n_groups)
        for k in range(a, b):
            x = np.float64(data[k])
            g = groups[indices[k]]
            if x == x:
                mean[g, f] += x
                stored[g] += 1.0
            else:
                count[g, f] -= 1.0
        for g in range(n_groups):
            if count[g, f] > 0:
                mean[g, f] /= count[g, f]
        drift = np.zeros(n_groups)
        for k in range(a, b):
            x = np.float64(data[k])
            if x == x:
                g = groups[indices[k]]
                d = x - mean[g, f]
                drift[g] += d
                m2[g, f] += d * d
        for g in range(n_groups):
            zeros = count[g, f] - stored[g]
            d = -mean[g, f]
            drift[g] += zeros * d
            m2[g, f] += zeros * d * d
            if count[g, f] > 0:
                # the mean to the last bit: that of a constant column is the constant itself
                mean[g, f] += drift[g] / count[g, f]
                m2[g, f] -= drift[g] * drift[g] / count[g, f]
                if m2[g, f] < 0:
                    m2[g, f] = 0.0
