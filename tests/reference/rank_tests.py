"""The Kruskal-Wallis test of one column by its definition, in fractions."""

from fractions import Fraction
from itertools import permutations


def kruskal_wallis(column, y):
    """H and its degrees of freedom; missing values are left out."""
    pairs = [(x, c) for x, c in zip(column, y, strict=True) if x == x]
    values = [x for x, _ in pairs]
    ranks = [
        sum(v < x for v in values) + Fraction(sum(v == x for v in values) + 1, 2) for x in values
    ]
    groups = {}
    for rank, (_, c) in zip(ranks, pairs, strict=True):
        groups.setdefault(c, []).append(rank)
    n = len(values)
    if len(groups) < 2 or len(set(values)) < 2:
        return Fraction(0), 1
    mean = Fraction(n + 1, 2)
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values())
    variance = sum((rank - mean) ** 2 for rank in ranks) / (n - 1)
    return between / variance, len(groups) - 1


def permutation_p(column, y):
    """Share of all arrangements of the classes over the known rows with at least the same H."""
    pairs = [(x, c) for x, c in zip(column, y, strict=True) if x == x]
    values, classes = [x for x, _ in pairs], [c for _, c in pairs]
    observed = kruskal_wallis(values, classes)[0]
    arrangements = set(permutations(classes))
    return Fraction(
        sum(kruskal_wallis(values, other)[0] >= observed for other in arrangements),
        len(arrangements),
    )
