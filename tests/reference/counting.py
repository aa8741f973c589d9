"""Counts and entropies from the definitions: dictionaries, fractions and logarithms."""

import math
from collections import Counter
from fractions import Fraction


def entropy(labels):
    """H in bits."""
    n = len(labels)
    return -sum(k / n * math.log2(k / n) for k in Counter(labels).values())


def mutual_information(a, b):
    """I(A; B) in bits, by the sum over cells."""
    n, first, second = len(a), Counter(a), Counter(b)
    cells = Counter(zip(a, b, strict=True))
    return sum(k / n * math.log2(k * n / (first[u] * second[v])) for (u, v), k in cells.items())


def spread(column, y):
    """Counts by (level, class); missing values (0) of a class are shared out to the levels."""
    known = [level for level in column if level != 0]
    share = Counter(known)
    counts = Counter()
    for level, label in zip(column, y, strict=True):
        if level != 0:
            counts[level, label] += 1.0
        else:
            for other, size in share.items():
                counts[other, label] += size / len(known)
    return counts


def table_information(counts):
    """H(X), H(Y) and I(X; Y) of a table of counts that need not be whole."""

    def h(values):
        total = sum(values)
        return -sum(v / total * math.log2(v / total) for v in values if v > 0)

    levels, classes = Counter(), Counter()
    for (level, label), k in counts.items():
        levels[level] += k
        classes[label] += k
    if not counts:
        return 0.0, 0.0, 0.0
    hx, hy = h(levels.values()), h(classes.values())
    return hx, hy, hx + hy - h(counts.values())


def gini_gain(counts):
    """Impurity of the classes less that within the levels, of a table of counts, by fractions."""
    levels, classes = Counter(), Counter()
    for (level, label), k in counts.items():
        levels[level] += Fraction(k)
        classes[label] += Fraction(k)
    n = sum(levels.values())
    within = sum(Fraction(k) ** 2 / levels[level] for (level, _), k in counts.items() if k)
    return float((within - sum(k**2 for k in classes.values()) / n) / n) if n else 0.0


def chi_squared(counts):
    """Pearson's statistic of a table of counts."""
    levels, classes = Counter(), Counter()
    for (level, label), k in counts.items():
        levels[level] += k
        classes[label] += k
    n = sum(levels.values())
    return sum(
        (counts[u, v] - a * b / n) ** 2 / (a * b / n)
        for u, a in levels.items()
        for v, b in classes.items()
        if a * b > 0
    )
