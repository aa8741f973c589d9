"""Residuals of a model without columns, groups of rows and the log-rank test, row by row."""

import math
from fractions import Fraction


def martingale_residuals(time, event):
    """Return the event of every row less the hazard that it was exposed to."""
    event_times = sorted({t for t, e in zip(time, event, strict=True) if e})
    hazard = {
        u: Fraction(
            sum(t == u and bool(e) for t, e in zip(time, event, strict=True)),
            sum(t >= u for t in time),
        )
        for u in event_times
    }
    return [
        float(int(e) - sum((hazard[u] for u in event_times if u <= t), Fraction(0)))
        for t, e in zip(time, event, strict=True)
    ]


def savage_scores(time):
    """Return 1 less the expected order statistics of the exponential distribution, without ties."""
    n = len(time)
    rank = {t: k for k, t in enumerate(sorted(time), start=1)}
    return [1 - math.fsum(1 / (n - j + 1) for j in range(1, rank[t] + 1)) for t in time]


def log_rank(time, event, second):
    """Return the events of the second of two groups less those expected of it."""
    rows = list(zip(time, event, second, strict=True))
    observed = sum(bool(e) and bool(g) for _, e, g in rows)
    expected = Fraction(0)
    for u in {t for t, e, _ in rows if e}:
        at_risk = [bool(g) for t, _, g in rows if t >= u]
        happened = sum(t == u and bool(e) for t, e, _ in rows)
        expected += Fraction(happened * sum(at_risk), len(at_risk))
    return float(observed - expected)


def equal_groups(values, count):
    """Return the group of every row: each aims at its share of what is left, ties together."""
    levels = sorted(set(values))
    sizes = [sum(v == level for v in values) for level in levels]
    group_of, group, low = {}, 0, 0
    while low < len(levels):
        left = sum(sizes[low:])
        aim = left / (count - group)
        ends = range(low + 1, len(levels) + 1)
        if count - group == 1:
            end = len(levels)
        else:
            inner = [e for e in ends if e < len(levels)] or [len(levels)]
            # the nearest boundary, the upper one of two equally near
            end = min(inner, key=lambda e: (abs(sum(sizes[low:e]) - aim), -e))
        for level in levels[low:end]:
            group_of[level] = group
        group, low = group + 1, end
    return [group_of[v] for v in values]


def f_of_regression(column, h):
    """Return F of a linear regression of h on a column, over the rows where it has a value."""
    pairs = [(float(x), float(v)) for x, v in zip(column, h, strict=True) if x == x]
    n = len(pairs)
    x, u = math.fsum(a for a, _ in pairs) / n, math.fsum(b for _, b in pairs) / n
    xx = math.fsum((a - x) ** 2 for a, _ in pairs)
    uu = math.fsum((b - u) ** 2 for _, b in pairs)
    xu = math.fsum((a - x) * (b - u) for a, b in pairs)
    slope = xu / xx
    residual = math.fsum((b - u - slope * (a - x)) ** 2 for a, b in pairs)
    return (uu - residual) / (residual / (n - 2))
