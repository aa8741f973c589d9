"""Proximal support vector machines as the paper writes them, row by row."""

import math

import numpy as np

__all__ = ["cost", "gaussian", "machine"]


def cost(Z, sign, prices, w, gamma):
    """1/2 sum C_i (y_i - (w.z_i - gamma))^2 + 1/2 (w.w + gamma^2)."""
    total = gamma * gamma
    for weight in w:
        total += weight * weight
    for row, y, price in zip(Z, sign, prices, strict=True):
        value = sum(weight * z for weight, z in zip(w, row, strict=True)) - gamma
        total += price * (y - value) ** 2
    return total / 2


def machine(Z, sign, prices):
    """w and gamma: least squares of the rows, times the root of their price, and of zeros."""
    n, p = Z.shape
    design, target = np.zeros((n + p + 1, p + 1)), np.zeros(n + p + 1)
    for i in range(n):
        root = math.sqrt(prices[i])
        design[i] = [*(root * Z[i]), -root]
        target[i] = root * sign[i]
    for j in range(p + 1):
        design[n + j, j] = 1.0
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    return solution[:-1], solution[-1]


def gaussian(rows, other_rows, width):
    """exp(-|z - z'|^2 / (2 width^2)) of every pair."""
    return np.array(
        [
            [
                math.exp(-sum((a - b) ** 2 for a, b in zip(z, x, strict=True)) / (2 * width**2))
                for x in other_rows
            ]
            for z in rows
        ]
    )
