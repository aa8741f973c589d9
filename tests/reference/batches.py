"""Sums over rows, one row at a time, from the definitions."""

from collections import Counter


def level_counts(batches):
    """Rows by (column, level, class) of batches of (table of lists, classes); None is missing."""
    counts = Counter()
    for rows, y in batches:
        for row, label in zip(rows, y, strict=True):
            for column, level in enumerate(row):
                counts[column, level, label] += 1
    return counts


def weighted_moments(values, weights):
    """Weight, mean and sum of weighted squares of the numbers that are known."""
    known = [(x, w) for x, w in zip(values, weights, strict=True) if x == x]
    n = sum(w for _, w in known)
    if not known:
        return 0.0, 0.0, 0.0
    mean = sum(w * x for x, w in known) / n
    return n, mean, sum(w * (x - mean) ** 2 for x, w in known)


def weighted_comoments(values, h, weights):
    """Weighted moments of a column, of h where it is known, and of both together."""
    known = [(x, v, w) for x, v, w in zip(values, h, weights, strict=True) if x == x]
    n, mean, m2 = weighted_moments(values, weights)
    _, mean_h, m2_h = weighted_moments([v for _, v, _ in known], [w for _, _, w in known])
    return n, mean, m2, mean_h, m2_h, sum(w * (x - mean) * (v - mean_h) for x, v, w in known)
