"""Filters with a prior, from the definition: beta s of a score from 0 up, s / beta of one below."""

import math
from fractions import Fraction

from tests.reference import copula

LEAST_REDUNDANCY = 0.001
MOST_RELEVANCE = 1e300


def apply_prior(score, beta):
    """Weight one score by its prior."""
    return score / beta if score < 0 else score * beta


def round_digits(value, count=9):
    """Round a number to so many significant digits."""
    return float(f"{value:.{count - 1}e}")


def round_bits(value):
    """Round a number of bits so far that rounding errors do not part equal ones."""
    return round(value, 7)


def has_one_value(column):
    """Return whether a column does not vary, a missing value being a value."""
    return len(set(column)) == 1


def has_one_known_value(column):
    """Return whether a column does not vary, missing values left out."""
    return len(set(column) - {None}) < 2


def greedy(
    columns, y, criterion, max_steps, prior, keep=(), compared=round_bits, constant=has_one_value
):
    """Order of the columns and unweighted J of each, at its choice or at the last step.

    ``criterion(f, S, y)`` is of a column, the columns chosen before and the class. Constant columns
    are last and never chosen.
    """
    everything = range(len(columns))
    varying = [f for f in everything if not constant(columns[f]) and f not in keep]
    todo = [*keep, *[None] * min(max_steps, len(varying))]
    chosen, worth = [], {}
    J = {f: criterion(columns[f], [], y) for f in everything}

    def key(f):
        return compared(apply_prior(J[f], prior[f])), -f

    for column in todo:
        S = [columns[s] for s in chosen]
        J = {f: criterion(columns[f], S, y) for f in everything if f not in chosen}
        free = [f for f in varying if f not in chosen]
        best = max(free, key=key) if column is None else column
        chosen.append(best)
        worth[best] = J[best]
    left = [f for f in everything if f not in chosen]
    unchosen = sorted((f for f in left if f in varying), key=key, reverse=True)
    order = [*chosen, *unchosen, *(f for f in left if f not in varying)]
    return order, [worth.get(f, J.get(f)) for f in everything]


# ---- F and correlations -------------------------------------------------------------------------
def f_statistic(column, y):
    """F of analysis of variance, in fractions, over the values that are there."""
    groups = [
        [Fraction(v) for v, c in zip(column, y, strict=True) if c == k and v is not None]
        for k in sorted(set(y))
    ]
    groups = [group for group in groups if group]
    n, k = sum(map(len, groups)), len(groups)
    if k < 2 or n <= k:
        return 0.0
    mean = sum(map(sum, groups)) / n
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups)
    within = sum((v - sum(g) / len(g)) ** 2 for g in groups for v in g)
    if between == 0:
        return 0.0
    return float(between / (k - 1) / (within / (n - k))) if within else MOST_RELEVANCE


def correlation(a, b):
    """Absolute value of Pearson's correlation, missing values as the mean; 0 with a constant."""
    first, second = deviations(a), deviations(b)
    spread = sum(v * v for v in first) * sum(v * v for v in second)
    shared = sum(u * v for u, v in zip(first, second, strict=True))
    return abs(float(shared)) / math.sqrt(spread) if spread else 0.0


def deviations(column):
    known = [Fraction(v) for v in column if v is not None]
    mean = sum(known) / len(known) if known else Fraction(0)
    return [Fraction(0) if v is None else Fraction(v) - mean for v in column]


def correlation_criterion(f, S, y, *, quotient):
    """J of mRMR by F and correlations."""
    if not S:
        return f_statistic(f, y)
    mean = sum(correlation(f, s) for s in S) / len(S)
    if quotient:
        return f_statistic(f, y) / max(mean, LEAST_REDUNDANCY)
    return f_statistic(f, y) - mean


# ---- monotone dependence ------------------------------------------------------------------------
def rank_by_dependence(columns, y, trade_off, max_steps, prior):
    """The search by monotone dependence of columns of numbers; a constant one is not favoured."""
    p = len(columns)
    constant = [len({v for v in column if v is not None}) < 2 for column in columns]
    relevance = [copula.sigma_of_levels(y, column) for column in columns]
    chosen, keys = [], []
    for _ in range(min(p, max_steps)):
        keys = []
        for f in range(p):
            shared = [copula.sigma(columns[f], columns[s]) for s in chosen]
            redundancy = 1 if constant[f] else sum(shared) / max(1, len(chosen))
            J = relevance[f] - trade_off * redundancy
            keys.append((round(apply_prior(J, 1 if constant[f] else prior[f]), 9), -f))
        chosen.append(max((f for f in range(p) if f not in chosen), key=lambda f: keys[f]))
    return chosen + sorted(set(range(p)) - set(chosen), key=lambda f: keys[f], reverse=True)
