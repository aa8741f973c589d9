"""How much one column tells of another, pair by pair, by scipy."""

import numpy as np
from scipy import stats


def association(a, b, *, numbers):
    """V of two columns; None and NaN are gaps, `numbers` says of each whether it has ranks."""
    ranked = [
        ranks(column) if number else column for column, number in zip((a, b), numbers, strict=True)
    ]
    both = [k for k in range(len(a)) if not gap(a[k]) and not gap(b[k])]
    one, other = ([column[k] for k in both] for column in ranked)
    if len(set(one)) < 2 or len(set(other)) < 2:
        return 0.0
    if numbers == (True, True):
        return abs(stats.pearsonr(one, other).statistic)
    if numbers == (False, False):
        table = stats.contingency.crosstab(one, other).count
        return stats.contingency.association(table, method="cramer")
    levels, values = (other, one) if numbers[0] else (one, other)
    values = np.array(values)
    mean = values.mean()
    parts = [values[[level == known for level in levels]] for known in set(levels)]
    between = sum(len(part) * (part.mean() - mean) ** 2 for part in parts)
    return float(np.sqrt(between / ((values - mean) ** 2).sum()))


def ranks(column):
    """Ranks among the values that are there."""
    present = [k for k, value in enumerate(column) if not gap(value)]
    found = [None] * len(column)
    for k, rank in zip(present, stats.rankdata([column[k] for k in present]), strict=True):
        found[k] = float(rank)
    return found


def gap(value):
    return value is None or value != value
