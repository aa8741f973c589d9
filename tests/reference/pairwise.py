"""A list for each pair of classes by fitting the ranker to their rows, nothing shared."""

from itertools import combinations

import numpy as np
from sklearn.base import clone


def tied_positions(fitted, greedy=False):
    """Places of the columns; equal ones share the mean of their places."""
    order = fitted.order_.tolist()
    keys = [np.float32(fitted.scores_)]
    if hasattr(fitted, "round_"):
        keys = [fitted.round_, np.float32(fitted.criterion_)]
    if hasattr(fitted, "tie_break_"):
        keys.append(np.float32(fitted.tie_break_))
    positions = np.empty(len(order))
    for place, column in enumerate(order, 1):
        same = [
            at
            for at, other in enumerate(order, 1)
            if all(key[column] == key[other] for key in keys)
        ]
        positions[column] = place if greedy else sum(same) / len(same)
    return positions


def lists(ranker, X, y, decomposition="ovo", greedy=False):
    """Keys and positions, one list a problem; rows of X are taken by `X[rows]`."""
    y = np.asarray(y)
    classes = sorted(set(y.tolist()))
    found = {}
    if decomposition == "ovo" or len(classes) == 2:
        for a, b in combinations(classes, 2):
            rows = np.flatnonzero((y == a) | (y == b))
            fitted = clone(ranker).fit(X[rows], y[rows])
            found[a, b] = tied_positions(fitted, greedy)
    else:
        for a in classes:
            found[a] = tied_positions(clone(ranker).fit(X, y == a), greedy)
    return found
