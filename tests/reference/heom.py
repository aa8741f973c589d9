"""Neighbours by the HEOM, one pair of cells at a time, in rational arithmetic.

A table is a list of columns, a column a list of numbers or texts with None where missing.
"""

import math
from fractions import Fraction


def column_distance(train, a, b):
    """d_f between a cell of another row and one of the training rows, as a Fraction."""
    if a is None or b is None:
        return Fraction(1)
    if isinstance(a, str):
        return Fraction(a != b)
    known = [Fraction(v) for v in train if v is not None]
    low, high = min(known), max(known)
    if low == high:
        return Fraction(0)
    a = min(max(Fraction(a), low), high)
    return abs(a - Fraction(b)) / (high - low)


def squared_distances(train, rows):
    """Squared distances of every other row to every training row, as Fractions."""
    n_rows, n_train = len(rows[0]), len(train[0])
    return [
        [
            sum(
                (column_distance(known, other[i], known[j]) ** 2)
                for known, other in zip(train, rows, strict=True)
            )
            for j in range(n_train)
        ]
        for i in range(n_rows)
    ]


def votes(squared, y, k):
    """Votes of the k nearest for one row, as {class: Fraction}, and the classes that win."""
    k = min(k, len(squared))
    farthest = sorted(squared)[k - 1]
    nearer = [j for j, s in enumerate(squared) if s < farthest]
    level = [j for j, s in enumerate(squared) if s == farthest]
    weight = {j: Fraction(1) for j in nearer}
    weight |= {j: Fraction(k - len(nearer), len(level)) for j in level}
    classes = sorted(set(y))
    class_votes = {
        c: sum((w for j, w in weight.items() if y[j] == c), Fraction(0)) for c in classes
    }
    first = [c for c in classes if class_votes[c] == max(class_votes.values())]
    summed = {
        c: math.fsum(float(w) * math.sqrt(squared[j]) for j, w in weight.items() if y[j] == c)
        for c in first
    }
    shortest = min(summed.values())
    return class_votes, [c for c in first if math.isclose(summed[c], shortest, rel_tol=1e-9)]
