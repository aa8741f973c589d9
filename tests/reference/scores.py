"""Metrics of decision values and probabilities by their definitions: pairs and rows, one by one."""

import math
from fractions import Fraction


def area(y_true, scores):
    """Share of the pairs of a positive and a negative row in which the positive has more."""
    pairs = [
        (s, t)
        for s, a in zip(scores, y_true, strict=True)
        if a == 1
        for t, b in zip(scores, y_true, strict=True)
        if b == 0
    ]
    if not pairs:
        return math.nan
    return float(sum(Fraction(2 * (s > t) + (s == t), 2) for s, t in pairs) / len(pairs))


def area_of_classes(y_true, scores, n_classes):
    """Hand and Till: the mean over ordered pairs of classes, by the score of the first."""
    areas = []
    for a in range(n_classes):
        for b in range(n_classes):
            if a == b:
                continue
            rows = [k for k, c in enumerate(y_true) if c in (a, b)]
            areas.append(area([int(y_true[k] == a) for k in rows], [scores[k][a] for k in rows]))
    return sum(areas) / len(areas)


def average_precision(y_true, scores):
    """Sum over falling thresholds of the gain in recall times the precision."""
    n_positive = sum(y_true)
    if not n_positive or n_positive == len(y_true):
        return math.nan
    total, recall = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        predicted = [c for c, s in zip(y_true, scores, strict=True) if s >= threshold]
        now = sum(predicted) / n_positive
        total += (now - recall) * sum(predicted) / len(predicted)
        recall = now
    return total


def brier(y_true, probabilities):
    """Mean squared error, row by row."""
    return sum((p - c) ** 2 for c, p in zip(y_true, probabilities, strict=True)) / len(y_true)


def log_loss(y_true, probabilities):
    """Mean of -log of the probability of what happened."""
    total = 0.0
    for c, p in zip(y_true, probabilities, strict=True):
        total -= math.log(max(p if c == 1 else 1 - p, 2.220446049250313e-16))
    return total / len(y_true)


def confusion(y_true, scores, threshold):
    """Counts of (true, predicted) if scores above a threshold mean 1."""
    matrix = [[0, 0], [0, 0]]
    for c, s in zip(y_true, scores, strict=True):
        matrix[c][int(s > threshold)] += 1
    return matrix
