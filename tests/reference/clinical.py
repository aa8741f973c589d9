"""The clinical kernel, cell by cell, as it is defined."""

import math

import numpy as np


def subkernel(a, b, kind, low, high, same_row):
    """k_f of two cells; None and NaN are missing."""
    if same_row:
        return 1.0
    if _is_missing(a) or _is_missing(b):
        return 0.0
    if kind == "categorical":
        return float(a == b)
    if high == low:
        return 1.0
    a, b = min(max(a, low), high), min(max(b, low), high)
    return ((high - low) - abs(a - b)) / (high - low)


def _is_missing(cell):
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def column_range(cells):
    present = [cell for cell in cells if not _is_missing(cell)]
    return (min(present), max(present)) if present else (0.0, 0.0)


def column_kernel(cells, kind, others=None, trained_on=None):
    """Every row against every row, or against those of `others`."""
    low, high = (0, 0)
    if kind != "categorical":
        low, high = column_range(cells if trained_on is None else trained_on)
    rows = cells if others is None else others
    return np.array(
        [
            [
                subkernel(a, b, kind, low, high, others is None and i == j)
                for j, b in enumerate(rows)
            ]
            for i, a in enumerate(cells)
        ]
    )


def kernel(columns, kinds, weights=None):
    """The weighted mean of the columns' kernels."""
    weights = [1.0] * len(columns) if weights is None else weights
    parts = [w * column_kernel(c, k) for w, c, k in zip(weights, columns, kinds, strict=True)]
    return sum(parts) / sum(weights)
