"""Mixed columns encoded value by value, and support vector machines around scikit-learn's."""

import itertools
import math
import warnings

import numpy as np
from sklearn.svm import SVC


def encode_number(train, rows, standardize=True):
    """A column of numbers, None where missing, as one list."""
    known = [v for v in train if v is not None]
    if len(set(known)) <= 1:
        return [[0.0] for _ in rows]
    mean = math.fsum(known) / len(known)
    variance = math.fsum((v - mean) ** 2 for v in known) / len(known)
    unit = math.sqrt(variance) if standardize else 1.0
    return [[0.0 if v is None else (v - mean) / unit] for v in rows]


def encode_levels(train, rows, standardize=True):
    """A column of texts, None where missing, as a list of indicators a row."""
    known = [v for v in train if v is not None]
    levels = sorted(set(known))
    if len(levels) <= 1:
        return [[0.0] * max(1, len(levels)) for _ in rows]
    share = {level: known.count(level) / len(known) for level in levels}
    unit = math.sqrt(1 - math.fsum(p * p for p in share.values())) if standardize else 1.0
    return [
        [0.0 if v is None else ((v == level) - share[level]) / unit for level in levels]
        for v in rows
    ]


def encode_columns(train, rows, standardize=True):
    """Columns by name, of numbers or of texts, as an array; the encoding is learnt from `train`."""
    blocks = []
    for name, column in train.items():
        text = any(isinstance(v, str) for v in column)
        encode = encode_levels if text else encode_number
        blocks.append(encode(column, rows[name], standardize))
    n_rows = len(next(iter(rows.values())))
    return np.array([[v for block in blocks for v in block[i]] for i in range(n_rows)])


def machine(Z, y, C=1.0):
    """Weights and bias of a machine for labels -1 and 1, by libsvm; None where it gives up."""
    with warnings.catch_warnings(record=True) as unfinished:
        warnings.simplefilter("always")
        svc = SVC(kernel="linear", C=C, tol=1e-8, shrinking=False, max_iter=200_000).fit(Z, y)
    return None if unfinished else (svc.coef_[0], float(svc.intercept_[0]))


def objective(Z, y, w, b, C=1.0):
    """Objective that a machine minimises; C one number, or one a row."""
    return w @ w / 2 + np.sum(C * np.maximum(0.0, 1 - y * (Z @ w + b)))


def best_bias(values, y, C):
    """The bias of least loss by trying every bend of it; the middle of the best ones."""
    bends = sorted(set((y - values).tolist()))
    loss = [np.sum(C * np.maximum(0.0, 1 - y * (values + b))) for b in bends]
    best = [b for b, lost in zip(bends, loss, strict=True) if lost <= min(loss) + 1e-9]
    return (best[0] + best[-1]) / 2


def winner(values, n_classes):
    """The class with most votes of the pairs, then the largest sum of margins, then the first."""
    votes, margins = [0] * n_classes, [0.0] * n_classes
    for (a, b), value in zip(itertools.combinations(range(n_classes), 2), values, strict=True):
        votes[b if value > 0 else a] += 1
        margins[a] -= value
        margins[b] += value
    return max(range(n_classes), key=lambda c: (votes[c], round(margins[c], 6), -c))
