"""The rules that make one list of many, as they are defined: fractions, loops, no shortcuts.

`lists` holds a dictionary per list: feature -> position (a Fraction), without those it omits.
"""

from fractions import Fraction
from math import comb, factorial, floor, log


def read(positions):
    """Lists from a table with NaN (or None) where a feature is missing."""
    return [
        {
            i: Fraction(row[j])
            for i, row in enumerate(positions)
            if row[j] is not None and row[j] == row[j]
        }
        for j in range(len(positions[0]))
    ]


def completed(lists, p):
    """What ``unlisted="last"`` means: the rest shares the places that are left."""
    whole = []
    for one in lists:
        rest = [Fraction(place) for place in range(len(one) + 1, p + 1)]
        shared = sum(rest) / len(rest) if rest else None
        whole.append({i: one.get(i, shared) for i in range(p)})
    return whole


def mean(values):
    return sum(values) / len(values)


def variance(values):
    return mean([(value - mean(values)) ** 2 for value in values])


def third_quartile(values):
    ranked = sorted(values)
    place = Fraction(3, 4) * (len(ranked) - 1)
    low = floor(place)
    if low == place:
        return ranked[low]
    return ranked[low] + (place - low) * (ranked[low + 1] - ranked[low])


def relative(lists, feature):
    return [1 - one[feature] / len(one) for one in lists if feature in one]


def first_places(lists, feature, k):
    """`k` is a count or a fraction."""
    values = []
    for one in lists:
        if feature in one:
            first = min(k, len(one)) if isinstance(k, int) else max(1, floor(len(one) * k + 0.5))
            values.append(max(Fraction(0), 1 - one[feature] / (first + 1)))
    return mean(values)


def before(lists, a, b):
    """In how many lists a is before b."""
    return sum(a in one and b in one and one[a] < one[b] for one in lists)


def copeland(lists, p):
    score = []
    for a in range(p):
        others = [b for b in range(p) if b != a]
        won = sum(before(lists, a, b) > before(lists, b, a) for b in others)
        lost = sum(before(lists, a, b) < before(lists, b, a) for b in others)
        score.append(won - lost)
    return score


def schulze(lists, p):
    votes = [[before(lists, a, b) for b in range(p)] for a in range(p)]
    path = [[votes[a][b] if votes[a][b] > votes[b][a] else 0 for b in range(p)] for a in range(p)]
    for c in range(p):
        for a in range(p):
            for b in range(p):
                path[a][b] = max(path[a][b], min(path[a][c], path[c][b]))
    return [sum(path[a][b] > path[b][a] for b in range(p) if b != a) for a in range(p)]


def last_place(one, feature):
    """The last of the places that the features tied with this one take."""
    return sum(place <= one[feature] for place in one.values())


def sorted_ranks(lists, feature):
    return sorted(Fraction(last_place(one, feature), len(one)) for one in lists if feature in one)


def at_least(k, n, x):
    """P(U_(k) <= x): at least k of n uniform numbers are below x."""
    return sum(comb(n, m) * x**m * (1 - x) ** (n - m) for m in range(k, n + 1))


def rho(ranks):
    return min(at_least(k, len(ranks), x) for k, x in enumerate(ranks, 1))


def joint(ranks):
    """Stuart's Q by the recursion of Aerts, with fractions, which do not cancel."""
    n = len(ranks)
    v = [Fraction(1)]
    for k in range(1, n + 1):
        x = ranks[n - k]
        v.append(sum((-1) ** (i - 1) * v[k - i] / factorial(i) * x**i for i in range(1, k + 1)))
    return factorial(n) * v[n]


def logarithm(fraction):
    """Also of what no float holds."""
    return log(fraction.numerator) - log(fraction.denominator)


def combine(positions, method, k=None, tie_sd="larger", unlisted="last", constant=60):
    """Order, score, and how many share theirs."""
    p = len(positions)
    lists = read(positions)
    if unlisted == "last":
        lists = completed(lists, p)
    r = [relative(lists, i) for i in range(p)]
    tie = [mean(values) for values in r]
    if method in ("average-sd", "third-quartile-sd"):
        sign = 1 if tie_sd == "larger" else -1
        tie = [sign * variance(values) for values in r]
    if method == "average-sd":
        score = [mean(values) for values in r]
    elif method == "best":
        score = [max(values) for values in r]
    elif method == "third-quartile-sd":
        score = [third_quartile(values) for values in r]
    elif method == "k-first":
        score = [first_places(lists, i, Fraction(1, 10) if k is None else k) for i in range(p)]
    elif method == "condorcet":
        score = copeland(lists, p)
    elif method == "schulze":
        score = schulze(lists, p)
    elif method == "borda":
        score, tie = [p * mean(values) for values in r], [0] * p
    elif method == "reciprocal-rank":
        terms = [[1 / (constant + one[i]) for one in lists if i in one] for i in range(p)]
        score = [len(lists) * mean(values) for values in terms]
    else:
        ranks = [sorted_ranks(lists, i) for i in range(p)]
        if method == "robust-rank":
            exact = [len(values) * rho(values) for values in ranks]
        else:
            exact = [joint(values) for values in ranks]
        order = sorted(range(p), key=lambda i: (exact[i], -tie[i], i))
        return order, [0.0 - logarithm(value) / log(10) for value in exact], _ties(exact)
    order = sorted(range(p), key=lambda i: (-score[i], -tie[i], i))
    return order, [float(value) for value in score], _ties(score)


def _ties(score):
    return sum(score.count(value) > 1 for value in score)
