"""Separability of a split value by its definition: every split is tried."""

from fractions import Fraction


def separability(left, right):
    """`left` and `right` are lists of the classes of rows."""
    classes = set(left) | set(right)
    pairs = sum(left.count(c) * (len(right) - right.count(c)) for c in classes)
    return 2 * pairs - sum(min(left.count(c), right.count(c)) for c in classes)


def rows_of(levels, rows):
    return [y for level in levels for x, y in rows if x == level]


def splits(levels):
    """Every split into two parts, the first level in the first part; few levels come first."""
    for mask in range(2 ** (len(levels) - 1) - 1):
        first = [levels[0]] + [v for i, v in enumerate(levels[1:]) if mask >> i & 1]
        yield first, [v for v in levels if v not in first]


def best_split(levels, rows):
    scored = [(separability(rows_of(a, rows), rows_of(b, rows)), a, b) for a, b in splits(levels)]
    return max(scored, key=lambda item: item[0])  # the first of equal ones


def leaves(levels, rows, depth):
    """Parts of the levels in the order of the tree."""
    classes = rows_of(levels, rows)
    if len(levels) < 2 or len(set(classes)) < 2 or depth == 0:
        return [levels]
    value, first, second = best_split(levels, rows)
    if value <= 0:
        return [levels]
    means = [Fraction(sum(part), len(part)) for part in (rows_of(p, rows) for p in (first, second))]
    if means[1] < means[0]:
        first, second = second, first
    return leaves(first, rows, depth - 1) + leaves(second, rows, depth - 1)


def numbers(values, y, depth):
    """Number of every level of a column."""
    rows = list(zip(values, y, strict=True))
    classes = sorted(set(y))
    counts = {v: [rows.count((v, c)) for c in classes] for v in values}
    levels = sorted(counts, key=lambda v: (counts[v], v))
    parts = leaves(levels, rows, depth)
    return {level: number for number, part in enumerate(parts) for level in part}
