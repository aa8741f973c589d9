"""Columns one at a time, in exact or compensated arithmetic."""

import math
from fractions import Fraction

import numpy as np


def moments(values, groups, n_groups):
    """Count, mean and sum of squared deviations of one column, by rational arithmetic."""
    out = []
    for g in range(n_groups):
        x = [Fraction(float(v)) for v, h in zip(values, groups, strict=True) if h == g and v == v]
        mean = sum(x, Fraction(0)) / len(x) if x else Fraction(0)
        out.append((len(x), float(mean), float(sum(((v - mean) ** 2 for v in x), Fraction(0)))))
    return out


def atoms(values, kind, n_levels=None):
    """The atoms of one column: itself, or the indicators of its codes 1 to n_levels."""
    if kind == "number":
        return [[float(v) for v in values]]
    return [[1.0 if code == level else 0.0 for code in values] for level in range(1, n_levels + 1)]


def standardise(rows):
    """Centre atoms of one column and scale them to total variance 1 (0 if constant)."""
    centred = [[v - math.fsum(row) / len(row) for v in row] for row in rows]
    if all(len(set(row)) == 1 for row in rows):
        return [[0.0] * len(row) for row in rows]
    variance = math.fsum(v * v for row in centred for v in row) / len(rows[0])
    return [[v / math.sqrt(variance) for v in row] for row in centred]


def form(rows, v):
    """v' K v for the linear kernel of one column's atoms."""
    return math.fsum(math.fsum(a * b for a, b in zip(row, v, strict=True)) ** 2 for row in rows)


def gram(columns):
    """Sum of the linear kernels of columns, each a list of atoms."""
    stacked = np.array([row for rows in columns for row in rows], dtype=float)
    return stacked.T @ stacked


def order(scores):
    """Best first: scores rounded to 33 mantissa bits, then by position."""

    def key(position):
        score = scores[position]
        if math.isinf(score) or score == 0:
            return (-score, position)
        mantissa, exponent = math.frexp(abs(score))
        whole = math.floor(mantissa * 2**34 + 0.5)  # 0.5 <= mantissa < 1: 33 bits after the first
        return (-math.copysign(math.ldexp(whole, exponent - 34), score), position)

    return sorted(range(len(scores)), key=key)


def comoments(values, h):
    """Both counts, means and sums of squares, and the sum of products, by rational arithmetic."""
    pairs = [
        (Fraction(float(v)), Fraction(float(u))) for v, u in zip(values, h, strict=True) if v == v
    ]
    n = len(pairs)
    if n == 0:
        return (0,) + (0.0,) * 5
    x, u = sum(v for v, _ in pairs) / n, sum(v for _, v in pairs) / n
    sums = (
        sum((a - x) ** 2 for a, _ in pairs),
        sum((b - u) ** 2 for _, b in pairs),
        sum((a - x) * (b - u) for a, b in pairs),
    )
    return n, float(x), float(sums[0]), float(u), float(sums[1]), float(sums[2])
