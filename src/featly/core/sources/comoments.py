"""Means, variances and covariance of every column with one variable, in one pass.

Each column is shifted by its own first value s before it is summed, as in
:mod:`featly.core.sources.moments`:

    mean = s + S1 / n,    M2 = S2 - S1^2 / n,    C = Sh - S1 H / n,
    S1 = sum (x - s),    S2 = sum (x - s)^2,    Sh = sum (x - s) h,    H = sum h

The variable h is centred over all rows beforehand, so H is 0 but for rounding where no value is
missing. Where some are, h is shifted by its first value beside one of the column, so that an h that
is constant over those rows has exactly no variance. Rows are added in an order that is the same for
all columns of a table.
"""

import numpy as np

from featly.core.runtime.jit import kernel, lane_kernel

__all__ = ["comoments_columns", "comoments_csc", "comoments_masked", "comoments_rows"]

# mypy: disable-error-code="no-untyped-def"


@kernel
def comoments_rows(X, h, total, lo, hi, mean, m2, product):
    """Fill columns ``lo:hi`` of a row-major X without missing values; `total` is the sum of h.

    A column with a missing or infinite value comes out as not finite.
    """
    n = len(h)
    width = hi - lo
    shift = X[0, lo:hi]
    s1, s2, sh = np.zeros(width), np.zeros(width), np.zeros(width)
    k = 0
    while k + 4 <= n:
        x0, x1, x2, x3 = X[k, lo:hi], X[k + 1, lo:hi], X[k + 2, lo:hi], X[k + 3, lo:hi]
        h0, h1, h2, h3 = h[k], h[k + 1], h[k + 2], h[k + 3]
        for j in range(width):
            s = np.float64(shift[j])
            a = np.float64(x0[j]) - s
            b = np.float64(x1[j]) - s
            c = np.float64(x2[j]) - s
            d = np.float64(x3[j]) - s
            s1[j] += (a + b) + (c + d)
            s2[j] += (a * a + b * b) + (c * c + d * d)
            sh[j] += (a * h0 + b * h1) + (c * h2 + d * h3)
        k += 4
    while k < n:
        x0 = X[k, lo:hi]
        for j in range(width):
            a = np.float64(x0[j]) - np.float64(shift[j])
            s1[j] += a
            s2[j] += a * a
            sh[j] += a * h[k]
        k += 1
    for j in range(width):
        _write(np.float64(shift[j]), s1[j], s2[j], sh[j], total, n, lo + j, mean, m2, product)


@lane_kernel
def comoments_columns(Xt, h, total, lo, hi, mean, m2, product):
    """Do as :func:`comoments_rows` for the rows ``lo:hi`` of a feature-major ``Xt``."""
    n = len(h)
    for f in range(lo, hi):
        x = Xt[f]
        shift = np.float64(x[0])
        s1 = 0.0
        s2 = 0.0
        sh = 0.0
        for i in range(n):
            d = np.float64(x[i]) - shift
            s1 += d
            s2 += d * d
            sh += d * h[i]
        _write(shift, s1, s2, sh, total, n, f, mean, m2, product)


@kernel
def _write(shift, s1, s2, sh, total, n, j, mean, m2, product):
    mean[j] = shift + s1 / n
    squared_deviation = s2 - s1 * s1 / n
    m2[j] = 0.0 if squared_deviation < 0 else squared_deviation  # not max(), which hides a NaN
    product[j] = sh - s1 * total / n


@kernel
def comoments_masked(block, h, count, mean, m2, mean_h, m2_h, product):
    """Fill an entry a column of `block`, columns x rows, in which a NaN is a missing value.

    Rows where a column is missing are left out of h, too. A column without values gets zeros.
    """
    for j in range(len(block)):
        x = block[j]
        n, shift, shift_h = 0, 0.0, 0.0
        s1, s2, sh, t1, t2 = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(len(h)):
            v = np.float64(x[i])
            if v == v:
                if n == 0:
                    shift, shift_h = v, h[i]
                n += 1
                d, e = v - shift, h[i] - shift_h
                s1 += d
                s2 += d * d
                sh += d * e
                t1 += e
                t2 += e * e
        count[j] = n
        mean[j], m2[j], mean_h[j], m2_h[j], product[j] = 0.0, 0.0, 0.0, 0.0, 0.0
        if n > 0:
            _write(shift, s1, s2, sh, t1, n, j, mean, m2, product)
            mean_h[j] = shift_h + t1 / n
            squared_deviation = t2 - t1 * t1 / n
            m2_h[j] = 0.0 if squared_deviation < 0 else squared_deviation


@kernel
def comoments_csc(data, indices, indptr, h, lo, hi, count, mean, m2, mean_h, m2_h, product):
    """Fill columns ``lo:hi`` of a CSC matrix; a stored NaN is missing, what is not stored is 0."""
    n_rows = len(h)
    missing = np.zeros(n_rows, np.bool_)
    total, squares = 0.0, 0.0
    for i in range(n_rows):
        total += h[i]
        squares += h[i] * h[i]
    for f in range(lo, hi):
        a, b = indptr[f], indptr[f + 1]
        n, s1, stored = n_rows, 0.0, 0
        lowest, highest = np.inf, -np.inf
        for k in range(a, b):
            x = np.float64(data[k])
            if x == x:
                s1 += x
                stored += 1
                lowest, highest = min(lowest, x), max(highest, x)
            else:
                missing[indices[k]] = True
                n -= 1
        count[f] = n
        mean[f], m2[f], mean_h[f], m2_h[f], product[f] = 0.0, 0.0, 0.0, 0.0, 0.0
        shift_h, t1, t2 = 0.0, total, squares
        if n < n_rows:
            shift_h, t1, t2 = _sums_beside(h, missing)
            for k in range(a, b):
                missing[indices[k]] = False
        if n == 0:
            continue
        mean_h[f] = shift_h + t1 / n
        squared_deviation = t2 - t1 * t1 / n
        m2_h[f] = 0.0 if squared_deviation < 0 else squared_deviation
        zeros = n - stored
        if zeros > 0:
            lowest, highest = min(lowest, 0.0), max(highest, 0.0)
        if highest - lowest == 0.0:  # a constant, of which the sums below leave rounding
            mean[f] = lowest
            continue
        center = s1 / n
        drift, deviation, sh, stored_h = 0.0, 0.0, 0.0, 0.0
        for k in range(a, b):
            x = np.float64(data[k])
            if x == x:
                d, e = x - center, h[indices[k]] - shift_h
                drift += d
                deviation += d * d
                sh += d * e
                stored_h += e
        drift -= zeros * center
        deviation += zeros * center * center
        sh -= center * (t1 - stored_h)
        mean[f] = center + drift / n
        deviation -= drift * drift / n
        m2[f] = 0.0 if deviation < 0 else deviation
        product[f] = sh - drift * t1 / n


@kernel
def _sums_beside(h, missing):
    """Return the first h beside a value, and the sums of h less it, plain and squared."""
    shift, t1, t2, is_first = 0.0, 0.0, 0.0, True
    for i in range(len(h)):
        if not missing[i]:
            if is_first:
                shift, is_first = h[i], False
            e = h[i] - shift
            t1 += e
            t2 += e * e
    return shift, t1, t2
