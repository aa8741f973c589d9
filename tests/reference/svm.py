"""Support vector machines by brute force, and elimination around scikit-learn's."""

import itertools
import warnings

import numpy as np
from sklearn.svm import SVC


def dual_by_enumeration(K, y, C):
    """The optimal dual coefficients alpha * y: every way to put variables on bounds is tried."""
    n = len(y)
    best, best_value = None, np.inf
    for states in itertools.product((0, 1, 2), repeat=n):  # at 0, at C, free
        alpha = np.where(np.array(states) == 1, C, 0.0)
        free = np.flatnonzero(np.array(states) == 2)
        b = alpha * y
        if len(free):
            system = np.zeros((len(free) + 1, len(free) + 1))
            system[:-1, :-1] = K[np.ix_(free, free)]
            system[:-1, -1] = system[-1, :-1] = 1.0
            rhs = np.append(y[free] - K[free] @ b, -b.sum())
            solution = np.linalg.lstsq(system, rhs, rcond=None)[0]
            b[free] = solution[:-1]
        alpha = b * y
        feasible = (alpha >= -1e-9).all() and (alpha <= C + 1e-9).all() and abs(b.sum()) < 1e-9
        if feasible:
            value = 0.5 * b @ K @ b - alpha.sum()
            if value < best_value - 1e-12:
                best, best_value = b.copy(), value
    return best, best_value


def svm_rfe(blocks, y, C, drop, tol=1e-10):
    """SVM-RFE around SVC. `blocks` are rows x atoms, one a column; returns order and margins.

    A margin is how clearly the worst columns of a round lie below the rest, relative to the
    largest weight: below the precision of SVC, the reference itself is undecided.
    """
    left = list(range(len(blocks)))
    order, margins = [], []
    while left:
        X = np.column_stack([blocks[f] for f in left])
        with warnings.catch_warnings(record=True) as unfinished:
            warnings.simplefilter("always")
            machine = SVC(kernel="linear", C=C, tol=tol, shrinking=False, max_iter=100_000)
            machine.fit(X, y)
        w = machine.coef_[0] ** 2
        ends = np.cumsum([blocks[f].shape[1] for f in left])
        weight = np.array([part.sum() for part in np.split(w, ends[:-1])])
        ranked = sorted(range(len(left)), key=lambda k: (-weight[k], k))
        steps = -np.diff(weight[ranked])
        count = drop(len(left))
        dropped = ranked[len(left) - count :]
        relevant = steps[max(0, len(left) - count - 1) :]
        size = max(weight.max(), 1e-6)  # libsvm leaves weights of 1e-8 where zero is optimal
        margins.append(0.0 if unfinished else relevant.min(initial=size) / size)
        order = [left[k] for k in dropped] + order
        left = [f for k, f in enumerate(left) if k not in dropped]
    return order, margins
