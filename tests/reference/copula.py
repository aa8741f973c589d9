"""Schweizer and Wolff's sigma by its definition: the integral of a step function, in fractions."""

from fractions import Fraction
from itertools import pairwise
from math import sqrt


def sigma(x, y):
    """Sigma of two ordered columns; NaN and None are missing."""
    rows = [(a, b) for a, b in zip(x, y, strict=True) if _is_present(a) and _is_present(b)]
    if not rows:
        return 0.0
    U, V = mid_ranks([a for a, _ in rows]), mid_ranks([b for _, b in rows])
    spread = variance(U) * variance(V)
    if spread == 0:
        return 0.0
    return float(integral(U, V)) / sqrt(spread) * len(rows) / len(x)


def sigma_of_levels(x, y, *, both=False):
    """Return the largest sigma of indicators of x's levels with y, or with those of y's levels."""
    second_columns = indicators(y) if both else [y]
    return max((sigma(a, b) for a in indicators(x) for b in second_columns), default=0.0)


def indicators(column):
    """One column of 0 and 1 for each level; missing stays missing."""
    levels = {v for v in column if _is_present(v)}
    return [[float(v == k) if _is_present(v) else None for v in column] for k in levels]


def mid_ranks(values):
    """Return the share of smaller values plus half the share of equal ones."""
    n = len(values)
    return [
        Fraction(2 * sum(w < v for w in values) + sum(w == v for w in values), 2 * n)
        for v in values
    ]


def variance(U):
    mean = sum(U) / len(U)
    return sum((u - mean) ** 2 for u in U) / len(U)


def integral(U, V):
    """Integral of |H - F G| over the plane: H, F and G only change at the mid-ranks."""
    n, total = len(U), Fraction(0)
    for u, next_u in pairwise(sorted(set(U))):
        F = Fraction(sum(w <= u for w in U), n)
        for v, next_v in pairwise(sorted(set(V))):
            G = Fraction(sum(w <= v for w in V), n)
            H = Fraction(sum(a <= u and b <= v for a, b in zip(U, V, strict=True)), n)
            total += abs(H - F * G) * (next_u - u) * (next_v - v)
    return total


def _is_present(value):
    return value is not None and value == value


def ranking(columns, kinds, y, trade_off, max_steps):
    """Choose columns one by one by relevance less mean redundancy; rank the others at the end.

    `kinds` is "ordered" or "unordered" for every column.
    """

    def pair(f, g):
        if kinds[f] == kinds[g] == "ordered":
            return sigma(columns[f], columns[g])
        f, g = (f, g) if kinds[f] == "unordered" else (g, f)
        return sigma_of_levels(columns[f], columns[g], both=kinds[g] == "unordered")

    p = len(columns)
    relevance = [sigma_of_levels(y, columns[f], both=kinds[f] == "unordered") for f in range(p)]
    constant = [len({v for v in column if _is_present(v)}) < 2 for column in columns]
    chosen, criterion = [], []
    for _ in range(min(p, max_steps)):
        criterion = []
        for f in range(p):
            shared = sum(pair(f, s) for s in chosen) / max(1, len(chosen))
            criterion.append(round(relevance[f] - trade_off * (1 if constant[f] else shared), 10))
        free = [f for f in range(p) if f not in chosen]
        chosen.append(max(free, key=lambda f: (criterion[f], -f)))
    remaining = [f for f in range(p) if f not in chosen]
    return chosen + sorted(remaining, key=lambda f: (-criterion[f], f))
