"""Alarms of a table, one pair of rows or one column at a time."""

from itertools import combinations, product
from math import comb, factorial, isnan, log, sqrt


def distance(numbers, codes, scales, a, b):
    """Return the distance of two rows over the cells that both know; None if these are too few.

    `numbers` are normal scores by column, `codes` by column with 0 missing, `scales` what a
    difference of levels adds to the squared distance.
    """
    parts = []
    for column in numbers:
        if not isnan(column[a]) and not isnan(column[b]):
            parts.append((column[a] - column[b]) ** 2)
    for column, scale in zip(codes, scales, strict=True):
        if column[a] and column[b]:
            parts.append(0.0 if column[a] == column[b] else scale)
    n_columns = len(numbers) + len(codes)
    if len(parts) < 0.3 * n_columns:
        return None
    return sqrt(sum(parts) * n_columns / len(parts))


def level_scale(codes):
    """Return what makes the mean squared distance of two rows drawn with replacement 2."""
    known = [code for code in codes if code]
    same = sum(1 for a, b in product(known, known) if a == b) / len(known) ** 2
    return 2 / (1 - same)


def equal_pairs(rows):
    """Return the pairs of equal rows; missing values equal each other."""
    plain = [tuple("missing" if value != value else value for value in row) for row in rows]
    return [(a, b) for a, b in combinations(range(len(rows)), 2) if plain[a] == plain[b]]


def log_birthday(n, span):
    """Return the log of the probability that n numbers out of `span` are all different."""
    return log(factorial(n) * comb(span, n)) - n * log(span)


def area(column, y):
    """Return the share of pairs of the two classes that a column orders, at least a half."""
    ones = [x for x, c in zip(column, y, strict=True) if c == 1 and x == x]
    zeros = [x for x, c in zip(column, y, strict=True) if c == 0 and x == x]
    if not ones or not zeros:
        return 0.5
    wins = sum((a > b) + (a == b) / 2 for a in ones for b in zeros) / (len(ones) * len(zeros))
    return max(wins, 1 - wins)


def balanced_accuracy(codes, y):
    """Return the mean over the classes of the hits, each row left out when its class is told."""
    hits = {0: [], 1: []}
    for row, (level, own) in enumerate(zip(codes, y, strict=True)):
        others = [r for r in range(len(y)) if r != row]
        shares = []
        for c in (0, 1):
            members = [r for r in others if y[r] == c]
            at_level = [r for r in members if codes[r] == level]
            shares.append(len(at_level) / max(len(members), 1))
        better = shares[own] - shares[1 - own]
        hits[own].append(1.0 if better > 0 else 0.5 if better == 0 else 0.0)
    return (sum(hits[0]) / len(hits[0]) + sum(hits[1]) / len(hits[1])) / 2


def corrected_v(table):
    """Return Bergsma's V of a list of rows of counts."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    n = sum(rows)
    chi = 0.0
    for i, row in enumerate(table):
        for j, count in enumerate(row):
            expected = rows[i] * columns[j] / n
            chi += (count - expected) ** 2 / expected
    r, c = len(rows), len(columns)
    phi = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    r, c = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    if min(r, c) - 1 < 1e-9:
        return 0.0
    return min(1.0, sqrt(phi / (min(r, c) - 1)))
