"""The margin machine of the l1-norm: the whole linear program, as it is written."""

import numpy as np
from scipy.optimize import linprog


def one_hot(codes, n_levels):
    """The indicators of the levels 1 to `n_levels`, an atom a column."""
    return np.array([[float(code == level) for level in range(1, n_levels + 1)] for code in codes])


def l1_margin(X, y, C, method="highs-ds"):
    """Return the least objective on dense atoms (rows x atoms), w and b; None if none.

    Variables: the positive and the negative part of w, b, and xi, which a hard margin has not.
    """
    n, p = X.shape
    soft = np.isfinite(C).all()
    cost = [1.0] * (2 * p) + [0.0] + (list(C) if soft else [])
    bounds = [(0, None)] * (2 * p) + [(None, None)] + ([(0, None)] * n if soft else [])
    A, b = [], []
    for i in range(n):
        row = [*(-y[i] * X[i]), *(y[i] * X[i]), -y[i]]
        if soft:
            row += [-1.0 if j == i else 0.0 for j in range(n)]
        A.append(row)
        b.append(-1.0)
    program = linprog(cost, A_ub=np.array(A), b_ub=b, bounds=bounds, method=method)
    if program.status == 2:
        return None
    assert program.status == 0, program.message
    return program.fun, program.x[:p] - program.x[p : 2 * p], program.x[2 * p]
