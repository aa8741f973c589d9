"""Multiple kernel learning as it is written down: matrices, an alternation, a generic solver."""

import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC


def clinical_gram(values, kind):
    """The similarities of all pairs of rows in one column.

    None and NaN are missing, and like nothing, not even themselves.
    """
    missing = [v is None or v != v for v in values]
    known = [v for v, is_missing in zip(values, missing, strict=True) if not is_missing]
    K = np.zeros((len(values), len(values)))
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if missing[i] or missing[j]:
                K[i, j] = 0.0
            elif kind == "categorical":
                K[i, j] = float(a == b)
            else:
                span = max(known) - min(known)
                K[i, j] = 1.0 if span == 0 else (span - abs(a - b)) / span
    return K


def norm_of(values, p):
    return sum(v**p for v in values) ** (1 / p)


def forms(grams, b):
    return np.array([b @ K @ b for K in grams])


def dual_objective(grams, y, b, norm):
    return y @ b - norm_of(np.maximum(forms(grams, b), 0), norm / (norm - 1)) / 2


def primal_objective(grams, y, C, weights, b, bias):
    """Primal objective with w_f = mu_f phi_f'b: the norms are mu_f^2 q_f."""
    values = sum(mu * K @ b for mu, K in zip(weights, grams, strict=True)) + bias
    norms = weights**2 * forms(grams, b)
    penalty = sum(s / mu for s, mu in zip(norms, weights, strict=True) if mu > 0) / 2
    return penalty + (C * np.maximum(0, 1 - y * values)).sum()


def svm(K, y, C):
    """b and bias by libsvm; `C` is one number a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = SVC(kernel="precomputed", C=1.0, tol=1e-10, shrinking=False, max_iter=200_000)
        machine.fit(K, y, sample_weight=C)
    b = np.zeros(len(y))
    b[machine.support_] = machine.dual_coef_[0]
    return b, machine.intercept_[0]


def alternation(grams, y, C, norm, tolerance=1e-8, most=300):
    """Kloft et al. (2011), algorithm 1: an SVM, the closed form, ...; weights, b, duality gap."""
    p = norm
    weights = np.full(len(grams), len(grams) ** (-1 / p))
    for _ in range(most):
        b, _ = svm(sum(mu * K for mu, K in zip(weights, grams, strict=True)), y, C)
        q = np.maximum(forms(grams, b), 0)
        value = y @ b - weights @ q / 2  # the primal objective of these weights
        duality_gap = (norm_of(q, p / (p - 1)) - weights @ q) / 2 / value
        if duality_gap <= tolerance or not q.any():
            break
        length = np.sqrt(weights**2 * q)  # ||w_f||
        total = sum(length ** (2 * p / (p + 1))) ** (1 / p)
        weights = length ** (2 / (p + 1)) / total
    return weights, b, duality_gap


def by_generic_solver(grams, y, C, norm):
    """The optimal value of the dual by sequential least squares programming."""
    conjugate = norm / (norm - 1)

    def minus(b):
        return -dual_objective(grams, y, b, norm)

    def slope(b):
        q = np.maximum(forms(grams, b), 0)
        if q.max() < 1e-20:
            return -y
        q /= q.max()
        weights = (q / norm_of(q, conjugate)) ** (conjugate - 1)
        return -y + sum(mu * K @ b for mu, K in zip(weights, grams, strict=True))

    share = C.min() / max((y > 0).sum(), (y < 0).sum()) / 2
    start = np.where(y > 0, share * (y < 0).sum(), -share * (y > 0).sum())
    bounds = [(0, c) if sign > 0 else (-c, 0) for sign, c in zip(y, C, strict=True)]
    balance = {"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(len(b))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimum = minimize(
            minus,
            start,
            jac=slope,
            bounds=bounds,
            constraints=[balance],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
    return -optimum.fun


def mkl_rfe(grams, y, C, norm, drop):
    """Elimination by the weights of the alternation; the order, and how clear each round was."""
    left, order, margins = list(range(len(grams))), [], []
    while left:
        weights, _, duality_gap = alternation([grams[f] for f in left], y, C, norm, 1e-11)
        ranked = sorted(range(len(left)), key=lambda k: (-weights[k], k))
        steps = -np.diff(weights[ranked])
        count = drop(len(left))
        dropped = ranked[len(left) - count :]
        clear = steps[max(0, len(left) - count - 1) :].min(initial=1.0)
        margins.append(clear if duality_gap < 1e-9 else 0.0)
        order = [left[k] for k in dropped] + order
        left = [f for k, f in enumerate(left) if k not in dropped]
    return order, margins
