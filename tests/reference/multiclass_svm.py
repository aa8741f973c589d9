"""Multiclass support vector machines from their definitions, by a plain interior-point method."""

import warnings
from itertools import combinations

import numpy as np
from sklearn.svm import SVC


def quadratic_program(P, q, G, h):
    """min 1/2 z'Pz + q'z subject to Gz <= h: the primal-dual method as textbooks have it.

    It ends with the optimum on the constraints that are active, where that is feasible.
    """
    scale = max(1.0, np.abs(q).max())  # of the multipliers
    P, q = P / scale, q / scale
    z, s, u = np.zeros(len(q)), np.maximum(1.0, h), np.ones(len(h))
    while True:
        dual = P @ z + q + G.T @ u
        primal = G @ z + s - h
        mean = s @ u / len(s)
        if max(np.abs(dual).max(), np.abs(primal).max(), mean) < 1e-10 or mean < 1e-14:
            break
        matrix = P + G.T @ ((u / s)[:, None] * G)

        def direction(target, matrix=matrix, dual=dual, primal=primal, s=s, u=u):
            right = -dual - G.T @ ((target - s * u + u * primal) / s)
            dz = np.linalg.lstsq(matrix, right, rcond=None)[0]
            ds = -primal - G @ dz
            return dz, ds, (target - s * u - u * ds) / s

        def longest(x, dx):
            return min(1.0, 0.995 / max(1e-300, (-dx / x).max()))

        dz, ds, du = direction(np.zeros(len(s)))
        ahead = (s + longest(s, ds) * ds) @ (u + longest(u, du) * du) / len(s)
        dz, ds, du = direction((ahead / mean) ** 3 * mean - ds * du)
        length = min(longest(s, ds), longest(u, du))
        z, s, u = z + length * dz, s + length * ds, u + length * du
    active = u > s
    A = G[active]
    system = np.block([[P, A.T], [A, np.zeros((len(A), len(A)))]])
    exact = np.linalg.lstsq(system, np.concatenate([-q, h[active]]), rcond=None)[0]
    exact, multipliers = exact[: len(q)], exact[len(q) :]
    fits = (G @ exact <= h + 1e-9).all() and (multipliers >= -1e-9).all()
    return exact if fits else z


def weights(X, y, C, box):
    """W of shape (classes, columns): the primal, a slack a row, or a row and other class.

    X as it is: a bias is a column of ones.
    """
    n, p = X.shape
    k = max(y) + 1
    n_slacks = n * k if box else n
    n_variables = k * p + n_slacks
    P = np.zeros((n_variables, n_variables))
    P[range(k * p), range(k * p)] = 1.0
    q = np.zeros(n_variables)
    rows, bounds = [], []
    for i in range(n):
        for m in range(k):
            slack = k * p + (i * k + m if box else i)
            q[slack] = C[i]
            if box or m == y[i]:  # slack >= 0
                row = np.zeros(n_variables)
                row[slack] = -1.0
                rows.append(row)
                bounds.append(0.0)
            if m != y[i]:  # w_m x - w_y x - slack <= -1
                row = np.zeros(n_variables)
                row[m * p : (m + 1) * p] = X[i]
                row[y[i] * p : (y[i] + 1) * p] = -X[i]
                row[slack] = -1.0
                rows.append(row)
                bounds.append(-1.0)
    z = quadratic_program(P, q, np.array(rows), np.array(bounds))
    return z[: k * p].reshape(k, p)


def primal(X, y, C, box, W):
    """The objective, term by term."""
    total = 0.5 * sum(float(w @ w) for w in W)
    for x, own, price in zip(X, y, C, strict=True):
        missed = [1 + float((W[m] - W[own]) @ x) for m in range(len(W)) if m != own]
        total += price * (sum(max(0.0, v) for v in missed) if box else max(0.0, *missed))
    return total


def dual(X, y, eta):
    """The dual objective of eta (classes, rows)."""
    W = np.zeros((len(eta), X.shape[1]))
    for i, x in enumerate(X):
        for m in range(len(eta)):
            W[m] -= eta[m, i] * x
            W[y[i]] += eta[m, i] * x
    return float(eta.sum()) - 0.5 * float((W * W).sum())


def row_step(h, own, C, box):
    """The best step of a row: t by bisection."""
    others = [m for m in range(len(h)) if m != own]

    def total(t, most):
        return sum(min(max(h[m] - t, 0.0), most) for m in others)

    def root(function):
        low, high = -1e3 - max(map(abs, h)) * len(h), 1e3 + max(map(abs, h)) * len(h)
        for _ in range(400):
            middle = (low + high) / 2
            low, high = (middle, high) if function(middle) > 0 else (low, middle)
        return (low + high) / 2

    most = C if box else np.inf
    t = root(lambda t: total(t, most) - t)
    if not box and t > C:
        t = root(lambda t: total(t, most) - C)
    return [min(max(h[m] - t, 0.0), most) if m != own else 0.0 for m in range(len(h))]


def binary_weights(X, y, C, against_rest):
    """W of machines with an unpenalised bias, of every pair of classes or every class."""
    machines, finished = [], True
    if against_rest:
        problems = [(np.ones(len(y), bool), y == label) for label in range(max(y) + 1)]
    else:
        pairs = combinations(range(max(y) + 1), 2)
        problems = [(np.isin(y, pair), y == pair[1]) for pair in pairs]
    for rows, positive in problems:
        with warnings.catch_warnings(record=True) as unfinished:
            warnings.simplefilter("always")
            machine = SVC(kernel="linear", C=C, tol=1e-11, shrinking=False, max_iter=100_000)
            machines.append(machine.fit(X[rows], positive[rows]).coef_[0])
        finished &= not unfinished
    return np.array(machines), finished


def eliminate(blocks, y, C, formulation, importance, drop):
    """Multiclass SVM-RFE; `blocks` are rows x atoms, one a column. Returns order and margins.

    A margin is how clearly the worst columns of a round lie below the rest; where the weights are
    zero but for rounding, which libsvm leaves at 1e-7, it is next to none.
    """
    left = list(range(len(blocks)))
    order, margins = [], []
    while left:
        X = np.column_stack([blocks[f] for f in left])
        finished = True
        if formulation in ("ovo", "ova"):
            W, finished = binary_weights(X, y, C, against_rest=formulation == "ova")
        else:
            ones = np.column_stack([X, np.ones(len(X))])
            W = weights(ones, y, np.full(len(y), C), formulation == "weston-watkins")[:, :-1]
        ends = np.cumsum([blocks[f].shape[1] for f in left])[:-1]
        norms = np.array([[(part**2).sum() for part in np.split(w, ends)] for w in W])
        weight = norms.sum(axis=0) if importance == "squared" else np.sqrt(norms).mean(axis=0)
        ranked = sorted(range(len(left)), key=lambda k: (-weight[k], k))
        count = drop(len(left))
        dropped = ranked[len(left) - count :]
        steps = -np.diff(weight[ranked])[max(0, len(left) - count - 1) :]
        size = max(weight.max(), 0.01)
        margins.append(steps.min(initial=size) / size if finished else 0.0)
        order = [left[k] for k in dropped] + order
        left = [f for k, f in enumerate(left) if k not in dropped]
    return order, margins
