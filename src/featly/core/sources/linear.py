"""Linear algebra over columns: tiles for Gram matrices, and v' K_f v of every column.

Columns are centred and scaled as they are read, never in a copy of the table. A sum over the
rows of one column runs in an order that is the same for all columns, so equal columns get equal
bits (BLAS does not promise that). Gram matrices add over columns and may use BLAS.
"""

import numpy as np

from featly.core.runtime.jit import kernel, lane_kernel

__all__ = [
    "downdate_gram",
    "forms_codes",
    "forms_columns",
    "forms_csc",
    "forms_rows",
    "tile_codes",
    "tile_columns",
    "tile_rows",
]

# mypy: disable-error-code="no-untyped-def"


@kernel
def forms_rows(X, rows, v, center, scale, lo, hi, out):
    """``out[j] = (scale_j sum_i v_i (x_ij - center_j))^2`` for columns ``lo:hi``, row-major X.

    `v` goes with `rows`; center, scale and out are indexed by column of X.
    """
    n = len(rows)
    width = hi - lo
    mean = center[lo:hi]
    w = np.zeros(width)
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
        v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
        v4, v5, v6, v7 = v[k + 4], v[k + 5], v[k + 6], v[k + 7]
        for j in range(width):
            m = mean[j]
            a = v0 * (np.float64(x0[j]) - m)
            b = v1 * (np.float64(x1[j]) - m)
            c = v2 * (np.float64(x2[j]) - m)
            d = v3 * (np.float64(x3[j]) - m)
            e = v4 * (np.float64(x4[j]) - m)
            f = v5 * (np.float64(x5[j]) - m)
            g = v6 * (np.float64(x6[j]) - m)
            h = v7 * (np.float64(x7[j]) - m)
            w[j] += ((a + b) + (c + d)) + ((e + f) + (g + h))
        k += 8
    while k < n:
        x0 = X[rows[k], lo:hi]
        for j in range(width):
            w[j] += v[k] * (np.float64(x0[j]) - mean[j])
        k += 1
    for j in range(width):
        out[lo + j] = (w[j] * scale[lo + j]) ** 2


@lane_kernel
def forms_columns(Xt, columns, v, center, scale, lo, hi, out):
    """Fill ``out[j]`` with the form of column ``columns[j]`` of a feature-major ``Xt``.

    `v` has an entry for every row; center and scale are indexed by column.
    """
    n = len(v)
    for j in range(lo, hi):
        x = Xt[columns[j]]
        m = center[columns[j]]
        w = 0.0
        for i in range(n):
            w += v[i] * (np.float64(x[i]) - m)
        out[j] = (w * scale[columns[j]]) ** 2


@kernel
def forms_csc(data, indices, indptr, columns, v, center, scale, lo, hi, out):
    """Fill `out` with the forms of CSC columns; `v` has an entry for every row."""
    total = 0.0
    for i in range(len(v)):
        total += v[i]
    for j in range(lo, hi):
        f = columns[j]
        w = 0.0
        for k in range(indptr[f], indptr[f + 1]):
            w += v[indices[k]] * np.float64(data[k])
        out[j] = ((w - center[f] * total) * scale[f]) ** 2


@kernel
def forms_codes(codes, rows, v, atoms, center, scale, lo, hi, out):
    """Fill `out` with the forms of categorical columns: squared norms over one-hot blocks.

    Code c > 0 in row r of `codes` is its level ``c - 1``, centred by ``center[atoms[r] + c - 1]``.
    """
    total = 0.0
    for i in range(len(v)):
        total += v[i]
    for j in range(lo, hi):
        r = rows[j]
        levels = np.zeros(atoms[r + 1] - atoms[r] + 1)
        for i in range(len(v)):
            levels[codes[r, i]] += v[i]
        norm = 0.0
        for c in range(1, len(levels)):
            w = levels[c] - center[atoms[r] + c - 1] * total
            norm += w * w
        out[j] = norm * scale[r] * scale[r]


@kernel
def downdate_gram(K, x):
    """Subtract ``x x'`` from K in place; return the trace that is left."""
    trace = 0.0
    for i in range(len(x)):
        xi = x[i]
        for j in range(len(x)):
            K[i, j] -= xi * x[j]
        trace += K[i, i]
    return trace


@kernel
def tile_rows(X, columns, center, scale, out):
    """``out[j, i]``: column ``columns[j]`` of a row-major X, centred and scaled, in float64."""
    for i in range(X.shape[0]):
        for j in range(len(columns)):
            c = columns[j]
            out[j, i] = (np.float64(X[i, c]) - center[c]) * scale[c]


@kernel
def tile_columns(Xt, columns, center, scale, out):
    """Fill `out` with columns of a feature-major ``Xt``, centred and scaled, in float64."""
    for j in range(len(columns)):
        c = columns[j]
        x = Xt[c]
        for i in range(len(x)):
            out[j, i] = (np.float64(x[i]) - center[c]) * scale[c]


@kernel
def tile_codes(codes, row, atoms, center, scale, out):
    """Fill `out` with the one-hot block of a categorical column, a row for each level.

    A missing value (code 0) is in no level.
    """
    for level in range(len(out)):
        m = center[atoms[row] + level]
        for i in range(codes.shape[1]):
            hot = 1.0 if codes[row, i] == level + 1 else 0.0
            out[level, i] = (hot - m) * scale[row]
