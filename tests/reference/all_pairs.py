"""All pairs of columns one by one, by their definitions.

Columns are lists; None is a missing value of numbers, 0 one of codes.
"""

import math

from tests.reference.subset_filters import uncertainty


def correlation(x, y):
    """|r|; a missing value counts as the mean of its column, a constant one has 0."""
    x, y = _centre(x), _centre(y)
    squares = math.fsum(a * a for a in x), math.fsum(b * b for b in y)
    if not squares[0] or not squares[1]:
        return 0.0
    product = math.fsum(a * b for a, b in zip(x, y, strict=True))
    return abs(product) / math.sqrt(squares[0]) / math.sqrt(squares[1])


def _centre(x):
    known = [a for a in x if a is not None]
    if len(set(known)) < 2:
        return [0.0] * len(x)
    mean = math.fsum(known) / len(known)
    return [0.0 if a is None else a - mean for a in x]


def ranks(x):
    """Mean ranks from 1; missing values stay missing."""
    known = sorted(a for a in x if a is not None)
    return [None if a is None else known.index(a) + (known.count(a) + 1) / 2 for a in x]


def square(columns, measure):
    """Return the values of all pairs, as a list of lists; 0 of a column with itself."""
    if measure == "spearman":
        columns = [ranks(column) for column in columns]
    value = uncertainty if measure == "information" else correlation
    return [
        [0.0 if f == g else value(x, y) for g, y in enumerate(columns)]
        for f, x in enumerate(columns)
    ]


def nearest(values, count, close=1e-11):
    """Return for each row the columns of largest value, ties by position."""
    nearest_columns = []
    for row in values:
        keys = [round(v / close) for v in row]
        order = sorted((g for g in range(len(row)) if keys[g] > 0), key=lambda g: (-keys[g], g))
        nearest_columns.append(order[:count])
    return nearest_columns


def groups(values, threshold):
    """Labels of connected columns, by a search from each."""
    label = [-1] * len(values)
    count = 0
    for first in range(len(values)):
        if label[first] >= 0:
            continue
        waiting = [first]
        while waiting:
            f = waiting.pop()
            if label[f] < 0:
                label[f] = count
                waiting += [g for g, v in enumerate(values[f]) if v >= threshold]
        count += 1
    return label


def drop_redundant(values, order, threshold, n_fixed=0):
    """Return the columns that stay, and the column to which each other one is redundant."""
    chosen, redundant_to = [], {}
    for position, g in enumerate(order):
        before = [f for f in chosen if values[f][g] >= threshold]
        if before and position >= n_fixed:
            redundant_to[g] = before[0]
        else:
            chosen.append(g)
    return chosen, redundant_to


def fast(values, relevance, least, *, largest=True):
    """FAST: the most relevant column of every tree that is left when edges are cut.

    The tree by Prim's algorithm, from the most relevant column on.
    """
    features = sorted(
        (f for f, r in enumerate(relevance) if r > least), key=lambda f: (-relevance[f], f)
    )
    if not features:
        return [min(range(len(relevance)), key=lambda f: (-relevance[f], f))]
    sign = 1 if largest else -1
    joined, edges = [features[0]], []
    while len(joined) < len(features):
        outside = [g for g in features if g not in joined]
        # the outside column with the best edge, the first of equal ones; to the oldest in the tree
        best = {g: max(sign * values[f][g] for f in joined) for g in outside}
        g = max(outside, key=lambda g: (best[g], -features.index(g)))
        f = next(f for f in joined if sign * values[f][g] == best[g])
        edges.append((f, g))
        joined.append(g)
    linked = [
        (f, g)
        for f, g in edges
        if not (values[f][g] < relevance[f] and values[f][g] < relevance[g])
    ]
    group = {f: f for f in features}
    for f, g in linked:
        old, new = group[g], group[f]
        group = {k: new if v == old else v for k, v in group.items()}
    chosen = []
    for f in features:
        if group[f] not in [group[c] for c in chosen]:
            chosen.append(f)
    return chosen
