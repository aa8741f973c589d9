"""Metrics, stability and recovery by their definitions: rows, pairs and columns one at a time."""

import math
from fractions import Fraction


def confusion(y_true, y_pred, n_classes):
    """Counts of (true, predicted), row by row."""
    matrix = [[0] * n_classes for _ in range(n_classes)]
    for true, predicted in zip(y_true, y_pred, strict=True):
        matrix[true][predicted] += 1
    return matrix


def one_against_rest(y_true, y_pred, positive):
    """TP, FN, FP, TN of one class."""
    rows = list(zip(y_true, y_pred, strict=True))
    return (
        sum(t == positive and p == positive for t, p in rows),
        sum(t == positive and p != positive for t, p in rows),
        sum(t != positive and p == positive for t, p in rows),
        sum(t != positive and p != positive for t, p in rows),
    )


def balanced_rate(y_true, y_pred):
    """Mean over the classes that occur of the fraction found."""
    recalls = []
    for c in sorted(set(y_true)):
        tp, fn, _, _ = one_against_rest(y_true, y_pred, c)
        recalls.append(Fraction(tp, tp + fn))
    return float(sum(recalls) / len(recalls)) if recalls else math.nan


def expected_confusion(y_true, y_pred, n_classes):
    """Mean confusion over all ways to pair the true with the predicted values."""
    n = len(y_true)
    matrix = [[0.0] * n_classes for _ in range(n_classes)]
    for true in y_true:
        for predicted in y_pred:
            matrix[true][predicted] += 1 / n
    return matrix


def kuncheva(sets, p):
    """Mean over pairs of sets; None where the index of a pair is 0 / 0."""
    values = []
    for i in range(len(sets)):
        for j in range(i + 1, len(sets)):
            a, b = set(sets[i]), set(sets[j])
            chance = Fraction(len(a) * len(b), p)
            largest_excess = min(len(a), len(b)) - chance
            if largest_excess == 0:
                return None
            values.append((len(a & b) - chance) / largest_excess)
    return sum(values) / len(values)


def nogueira(sets, p):
    """The estimate and its variance, from the binary matrix; None where undefined."""
    n = len(sets)
    Z = [[1 if f in selected else 0 for f in range(p)] for selected in map(set, sets)]
    frequency = [Fraction(sum(row[f] for row in Z), n) for f in range(p)]
    mean_size = sum(frequency)
    largest_spread = mean_size / p * (1 - mean_size / p)
    if largest_spread == 0:
        return None
    unbiased = [Fraction(n, n - 1) * q * (1 - q) for q in frequency]
    value = 1 - sum(unbiased) / p / largest_spread
    influence = []
    for row in Z:
        k = sum(row)
        together = sum(z * q for z, q in zip(row, frequency, strict=True)) / p
        bracket = 2 * k * mean_size / p**2 - Fraction(k, p) - mean_size / p + 1
        influence.append((together - k * mean_size / p**2 + value / 2 * bracket) / largest_spread)
    mean = sum(influence) / n
    return value, Fraction(4, n**2) * sum((phi - mean) ** 2 for phi in influence)


def roles(selected, relevant, redundant):
    """Relevant, redundant and irrelevant columns of a selection, one column at a time."""
    groups_hit, repeated, n_irrelevant = set(), 0, 0
    for column in selected:
        group = next((i for i, members in enumerate(relevant) if column in members), None)
        if group is None:
            if any(column in members for members in redundant.values()):
                repeated += 1
            else:
                n_irrelevant += 1
        elif group in groups_hit:
            repeated += 1
        else:
            groups_hit.add(group)
    return len(groups_hit), repeated, n_irrelevant


def success(n_right, n_wrong, n_relevant, n_other):
    """Equation 3.1 from the counts of a table's row."""
    alpha = min(Fraction(1, 2), Fraction(n_relevant, n_other))
    return float(100 * (Fraction(n_right, n_relevant) - alpha * Fraction(n_wrong, n_other)))


def quantile(values, q):
    """Linear interpolation between sorted values."""
    values = sorted(values)
    position = Fraction(q) * (len(values) - 1)
    low = math.floor(position)
    high = min(low + 1, len(values) - 1)
    return float(values[low] + (position - low) * (values[high] - values[low]))
