"""Networks of one layer by the definition of their cost, row by row."""

import math
from itertools import pairwise

import numpy as np

__all__ = ["cost", "network", "outputs", "units"]


def activation(name):
    """Return the function, its inverse, its slope, and the ends of its range."""
    if name == "logistic":

        def f(z):
            grown = math.exp(-abs(z))  # the other way round it might overflow
            return 1 / (1 + grown) if z >= 0 else grown / (1 + grown)

        return f, lambda d: math.log(d / (1 - d)), lambda z: f(z) * (1 - f(z)), (0.0, 1.0)
    if name == "tanh":
        return math.tanh, math.atanh, lambda z: 1 - math.tanh(z) ** 2, (-1.0, 1.0)
    return (lambda z: z), (lambda d: d), (lambda z: 1.0), (-1.0, 1.0)


def outputs(y, n_classes):
    """Rows for which each output should be on."""
    wanted = [1] if n_classes == 2 else range(n_classes)
    return [[label == target for label in y] for target in wanted]


def targets(on, name, margin):
    """The target of every row before the activation, and the slope there."""
    _, inverse, slope, (low, high) = activation(name)
    pull = margin * (high - low)
    before = [inverse(high - pull if is_on else low + pull) for is_on in on]
    return before, [slope(value) for value in before]


def cost(Z, on, name, margin, alpha, w, b):
    """sum_s (f'(d) (d - b - w.z))^2 + alpha (w.w + b^2), d before the activation."""
    total = alpha * (b * b + sum(weight * weight for weight in w))
    for row, d, slope in zip(Z, *targets(on, name, margin), strict=True):
        total += (slope * (d - b - sum(a * z for a, z in zip(w, row, strict=True)))) ** 2
    return total


def network(Z, on, name, margin, alpha):
    """The shortest best w and b, by least squares on the definition."""
    n, p = Z.shape
    design, target = np.zeros((n + p + 1, p + 1)), np.zeros(n + p + 1)
    for i, (d, slope) in enumerate(zip(*targets(on, name, margin), strict=True)):
        design[i] = [slope, *(slope * Z[i])]
        target[i] = slope * d
    for j in range(p + 1):
        design[n + j, j] = math.sqrt(alpha)
    solution = np.linalg.lstsq(design, target, rcond=1e-6)[0]
    return solution[1:], solution[0]


def units(Z, starts):
    """Columns of mean 0, blocks of columns of total variance 1 or all 0; with mean and scale."""
    mean = np.array([sum(column) / len(column) for column in Z.T])
    scale = np.zeros(len(mean))
    for low, high in pairwise(starts):
        total = sum(((Z[:, j] - mean[j]) ** 2).sum() / len(Z) for j in range(low, high))
        if total > 1e-20:
            scale[low:high] = 1 / math.sqrt(total)
    return (Z - mean) * scale, mean, scale
