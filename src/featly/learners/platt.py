"""Probabilities of classes from the margins of machines, one for each pair of classes."""

from itertools import combinations

import numpy as np
from scipy.special import expit

from featly.basics.typing import BoolArray, FloatArray

__all__ = ["couple_pairs", "platt"]


def platt(values: FloatArray, positive: BoolArray) -> tuple[float, float]:
    """Fit slope and offset of P(positive) = 1 / (1 + exp(-(slope value + offset))).

    By Newton's method on the cross entropy with Platt's targets, which are not quite 0 and 1: the
    minimum is finite also where the classes are apart.
    """
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    size = max(float(np.abs(values).max()), np.finfo(float).tiny)
    A = np.column_stack([values / size, np.ones(len(values))])
    x = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])

    def loss(x: FloatArray) -> float:
        z = A @ x
        return float(np.sum(np.logaddexp(0.0, z) - target * z))

    current_loss = loss(x)
    for _ in range(100):
        p = expit(A @ x)
        gradient = A.T @ (p - target)
        hessian = (A.T * (p * (1 - p))) @ A + 1e-10 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        while loss(x - step) > current_loss and np.abs(step).max() > 1e-12:
            step = step / 2
        x = x - step
        current_loss = loss(x)
        if np.abs(step).max() <= 1e-10 * (1 + np.abs(x).max()):
            break
    return float(x[0] / size), float(x[1])


def couple_pairs(second: FloatArray, n_classes: int) -> FloatArray:
    """Couple the probabilities of the second class of every pair to those of all classes."""
    if n_classes == 2:
        return np.column_stack([1 - second[:, 0], second[:, 0]])
    second = np.clip(second, 1e-7, 1 - 1e-7)
    wins = np.zeros((len(second), n_classes, n_classes))  # of the first class over the second
    for k, (a, b) in enumerate(combinations(range(n_classes), 2)):
        wins[:, b, a], wins[:, a, b] = second[:, k], 1 - second[:, k]
    # minimise sum_ab (wins_ba p_a - wins_ab p_b)^2 over p that sum to 1
    system = np.zeros((len(second), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -wins * wins.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (wins**2).sum(axis=1)
    system[:, :-1, -1] = system[:, -1, :-1] = 1.0
    rhs = np.zeros((len(second), n_classes + 1, 1))
    rhs[:, -1] = 1.0
    probabilities = np.linalg.solve(system, rhs)[:, :-1, 0].clip(0)
    normalised: FloatArray = probabilities / probabilities.sum(axis=1, keepdims=True)
    return normalised
