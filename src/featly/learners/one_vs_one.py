"""Classes of rows from the margins of machines, one for each pair of classes."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.typing import AnyArray, FloatArray
from featly.core.svm.dual import middle_bias

__all__ = ["check_sizes", "decision_values", "middle_bias", "votes", "winning_classes"]


def check_sizes(sizes: Sequence[int], n_features: int) -> list[int]:
    """Return the sizes of a path as whole numbers, or raise ParameterError."""
    counts = [int(size) for size in sizes]
    is_ascending = counts == sorted(set(counts)) and counts == list(sizes)
    if not counts or not is_ascending or counts[0] < 1 or counts[-1] > n_features:
        raise ParameterError(
            f"sizes={list(sizes)!r}: give counts of columns from 1 to {n_features}, ascending"
        )
    return counts


def decision_values(values: FloatArray, least: FloatArray, n_classes: int) -> FloatArray:
    """Return margins of every pair as one value a row, or for many classes one a class."""
    values = np.where(np.abs(values) <= least, 0.0, values)
    return values[:, 0] if n_classes == 2 else votes(values, n_classes)


def votes(values: FloatArray, n_classes: int) -> FloatArray:
    """Count the votes of the pairs, plus the margins as a fraction that never outweighs a vote."""
    votes = np.zeros((len(values), n_classes))
    margins = np.zeros_like(votes)
    for (a, b), value in zip(combinations(range(n_classes), 2), values.T, strict=True):
        votes[:, a] += value <= 0
        votes[:, b] += value > 0
        margins[:, a] -= value
        margins[:, b] += value
    # equal sums of margins must tie, however they were rounded
    scores: FloatArray = votes + np.round(margins / (3 * (np.abs(margins) + 1)), 9)
    return scores


def winning_classes(values: FloatArray) -> AnyArray:
    """Return the positions of the winning classes."""
    return (values > 0).astype(np.int64) if values.ndim == 1 else values.argmax(axis=1)
