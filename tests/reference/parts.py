"""Parts by fitting the ranker to tables cut by hand, nothing shared."""

import numpy as np
from sklearn.base import clone

from tests.reference.pairwise import tied_positions


def lists(ranker, X, y, row_sets):
    """Return the positions of the columns, one list for each set of rows, side by side."""
    fitted = [clone(ranker).fit(X[rows], y[rows]) for rows in row_sets]
    return np.column_stack([tied_positions(one_fit) for one_fit in fitted])


def cut(X, columns):
    """Return some columns, row by row as those of X: sums differ in the last bits by the layout."""
    return np.ascontiguousarray(X[:, columns])


def merge_by_score(ranker, X, y, blocks):
    """Return the order and scores of all columns: every block is a table of its own."""
    score_of = {}
    for block in blocks:
        fitted = clone(ranker).fit(cut(X, block), y)
        score_of |= dict(zip(block, fitted.scores_.tolist(), strict=True))
    rounded = {column: np.float32(score) for column, score in score_of.items()}
    order = sorted(score_of, key=lambda column: (-rounded[column], column))
    return order, [score_of[column] for column in range(X.shape[1])]


def merge_by_final(ranker, X, y, blocks, n_best):
    """Return the order of all columns: the first of every block are ranked again, together."""
    finalists, place = [], {}
    for block in blocks:
        fitted = clone(ranker).fit(cut(X, block), y)
        finalists += [block[j] for j in fitted.order_[:n_best]]
        place |= dict(zip(block, tied_positions(fitted), strict=True))
    finalists.sort()
    final = clone(ranker).fit(cut(X, finalists), y)
    others = sorted(set(range(X.shape[1])) - set(finalists), key=lambda f: (place[f], f))
    return [finalists[j] for j in final.order_] + others


def share_of_each_block(strata, blocks):
    """Return the number of rows of every stratum in every block, one row a stratum."""
    return [
        [sum(1 for row in rows if strata[row] == stratum) for rows in blocks]
        for stratum in sorted(set(strata))
    ]
