"""A list for each pair of classes by fitting the ranker to their rows, nothing shared."""

from itertools import combinations, groupby

import numpy as np
from sklearn.base import clone


def tied_positions(fitted):
    """Return the ranks of the columns; equal ones share the mean of their ranks."""
    order = fitted.order_.tolist()
    keys = [np.float32(fitted.scores_)]
    if hasattr(fitted, "round_"):
        worth = np.float32(fitted.criterion_)
        keys = [np.where(worth == 0, -1, fitted.round_), worth]
    if hasattr(fitted, "tie_break_"):
        keys.append(np.float32(fitted.tie_break_))
    positions, next_rank = np.empty(len(order)), 1
    for _, run in groupby(order, key=lambda column: [key[column] for key in keys]):
        tied = list(run)
        positions[tied] = next_rank + (len(tied) - 1) / 2
        next_rank += len(tied)
    return positions


def lists(ranker, X, y, decomposition="ovo"):
    """Keys and positions, one list a problem; rows of X are taken by `X[rows]`."""
    y = np.asarray(y)
    classes = sorted(set(y.tolist()))
    positions_by_key = {}
    if decomposition == "ovo" or len(classes) == 2:
        for a, b in combinations(classes, 2):
            rows = np.flatnonzero((y == a) | (y == b))
            fitted = clone(ranker).fit(X[rows], y[rows])
            positions_by_key[a, b] = tied_positions(fitted)
    else:
        for a in classes:
            positions_by_key[a] = tied_positions(clone(ranker).fit(X, y == a))
    return positions_by_key
