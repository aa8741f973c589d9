"""Rules that make one list of many, as they are defined: fractions, loops, no shortcuts.

`lists` holds a dictionary per list: feature -> position (a Fraction), without those it omits.
"""

from fractions import Fraction
from math import comb, factorial, floor, log


def read(positions):
    """Read lists from a table with NaN (or None) where a feature is missing."""
    return [
        {
            i: Fraction(row[j])
            for i, row in enumerate(positions)
            if row[j] is not None and row[j] == row[j]
        }
        for j in range(len(positions[0]))
    ]


def complete_lists(lists, p):
    """Complete every list for ``unlisted="last"``: the others share the ranks left."""
    whole = []
    for ranked_list in lists:
        free_ranks = [Fraction(rank) for rank in range(len(ranked_list) + 1, p + 1)]
        shared = sum(free_ranks) / len(free_ranks) if free_ranks else None
        whole.append({i: ranked_list.get(i, shared) for i in range(p)})
    return whole


def mean(values):
    return sum(values) / len(values)


def variance(values):
    return mean([(value - mean(values)) ** 2 for value in values])


def third_quartile(values):
    ranked = sorted(values)
    position = Fraction(3, 4) * (len(ranked) - 1)
    low = floor(position)
    if low == position:
        return ranked[low]
    return ranked[low] + (position - low) * (ranked[low + 1] - ranked[low])


def relative(lists, feature):
    return [
        1 - ranked_list[feature] / len(ranked_list)
        for ranked_list in lists
        if feature in ranked_list
    ]


def score_within_first(lists, feature, k):
    """Return the mean score within the first k; `k` is a count or a fraction."""
    values = []
    for ranked_list in lists:
        if feature in ranked_list:
            first = (
                min(k, len(ranked_list))
                if isinstance(k, int)
                else max(1, floor(len(ranked_list) * k + 0.5))
            )
            values.append(max(Fraction(0), 1 - ranked_list[feature] / (first + 1)))
    return mean(values)


def before(lists, a, b):
    """Return in how many lists a is before b."""
    return sum(
        a in ranked_list and b in ranked_list and ranked_list[a] < ranked_list[b]
        for ranked_list in lists
    )


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


def last_rank(ranked_list, feature):
    """Return the last of the ranks that the features tied with this one take."""
    return sum(rank <= ranked_list[feature] for rank in ranked_list.values())


def sorted_ranks(lists, feature):
    return sorted(
        Fraction(last_rank(ranked_list, feature), len(ranked_list))
        for ranked_list in lists
        if feature in ranked_list
    )


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
    """Return the logarithm of a fraction, also of one that no float holds."""
    return log(fraction.numerator) - log(fraction.denominator)


def combine(positions, method, k=None, tie_sd="larger", unlisted="last", constant=60):
    """Return the order, the scores, and how many features share theirs."""
    p = len(positions)
    lists = read(positions)
    if unlisted == "last":
        lists = complete_lists(lists, p)
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
        score = [
            score_within_first(lists, i, Fraction(1, 10) if k is None else k) for i in range(p)
        ]
    elif method == "condorcet":
        score = copeland(lists, p)
    elif method == "schulze":
        score = schulze(lists, p)
    elif method == "borda":
        score, tie = [p * mean(values) for values in r], [0] * p
    elif method == "reciprocal-rank":
        terms = [
            [1 / (constant + ranked_list[i]) for ranked_list in lists if i in ranked_list]
            for i in range(p)
        ]
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
