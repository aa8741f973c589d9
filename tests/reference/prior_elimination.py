"""Elimination with a prior as it is defined: columns multiplied by hand, libsvm, weights."""

import itertools
import warnings

import numpy as np
from sklearn.svm import SVC

from tests.reference.mkl import alternation


def dual(K, y, C, tol=1e-10):
    """alpha_i y_i by libsvm on a Gram matrix, and whether it finished."""
    with warnings.catch_warnings(record=True) as unfinished:
        warnings.simplefilter("always")
        svc = SVC(kernel="precomputed", C=C, tol=tol, shrinking=False, max_iter=50_000).fit(K, y)
    v = np.zeros(len(y))
    v[svc.support_] = svc.dual_coef_[0]
    return v, not unfinished


def linear_importances(blocks, prior, y, C):
    """Squared weights of columns (rows x atoms each) in the units that they have without a prior.

    The machine sees beta x and finds w'; its value beta x w' is x u for u = beta w'.
    """
    widened = [beta * block for beta, block in zip(prior, blocks, strict=True)]
    v, finished = dual(sum(Z @ Z.T for Z in widened), y, C)
    return [
        sum((beta * w) ** 2 for w in Z.T @ v) for beta, Z in zip(prior, widened, strict=True)
    ], finished


def clinical_importances(grams, missing, prior, y, C):
    """beta^4 times v'Kv, less the similarity of a missing value to itself."""
    weights = [beta**2 for beta in prior]
    K = sum(d * K_f for d, K_f in zip(weights, grams, strict=True)) / sum(weights)
    v, finished = dual(K, y, C)
    return [
        d**2 * (v @ K_f @ v - sum(v[gone] ** 2))
        for d, K_f, gone in zip(weights, grams, missing, strict=True)
    ], finished


def mkl_importances(grams, prior, y, C, norm):
    """The weights of the columns' own kernels: beta^2 mu, mu those of the kernels beta^2 K."""
    squares = [beta**2 for beta in prior]
    weights, _, duality_gap = alternation(
        [d * K for d, K in zip(squares, grams, strict=True)], y, np.full(len(y), C), norm, 1e-11
    )
    return [d * mu for d, mu in zip(squares, weights, strict=True)], duality_gap < 1e-9


def eliminate(importances, n_columns, drop, keep=()):
    """Columns best first, criterion by column, and how clear every round was.

    `importances` maps the list of columns left to their importances and whether they are exact.
    """
    left, order, margins, criterion = list(range(n_columns)), [], [], {}
    while left:
        values, exact = importances(left)
        candidates = [k for k, f in enumerate(left) if f not in keep] or list(range(len(left)))
        ranked = sorted(candidates, key=lambda k: (-values[k], k))
        count = min(drop(len(left)), len(ranked))
        gone = ranked[len(ranked) - count :]
        size = max(*values, 1e-6)
        steps = [values[a] - values[b] for a, b in itertools.pairwise(ranked)]
        relevant = steps[max(0, len(ranked) - count - 1) :]
        margins.append(min([*relevant, size]) / size if exact else 0.0)
        criterion |= {left[k]: values[k] for k in gone}
        order = [left[k] for k in gone] + order
        left = [f for k, f in enumerate(left) if k not in gone]
    return order, [criterion[f] for f in range(n_columns)], margins
