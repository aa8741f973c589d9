"""From the margins of machines, one for each pair of classes, to a class for every row."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import ParameterError
from featly.core.svm.dual import middle_bias

__all__ = ["checked_sizes", "decided", "decision", "middle_bias", "votes"]

FloatArray = npt.NDArray[np.float64]


def checked_sizes(sizes: Sequence[int], n_features: int) -> list[int]:
    """Sizes of a path as whole numbers, or ParameterError."""
    found = [int(size) for size in sizes]
    rising = found == sorted(set(found)) and found == list(sizes)
    if not found or not rising or found[0] < 1 or found[-1] > n_features:
        raise ParameterError(
            f"sizes={list(sizes)!r}: give counts of columns from 1 to {n_features}, ascending"
        )
    return found


def decision(values: FloatArray, least: FloatArray, n_classes: int) -> FloatArray:
    """Margins of every pair as one value a row, or for many classes one a class."""
    values = np.where(np.abs(values) <= least, 0.0, values)
    return values[:, 0] if n_classes == 2 else votes(values, n_classes)


def votes(values: FloatArray, n_classes: int) -> FloatArray:
    """Votes of the pairs, with the margins as a fraction that never outweighs a vote."""
    votes = np.zeros((len(values), n_classes))
    margins = np.zeros_like(votes)
    for (a, b), value in zip(combinations(range(n_classes), 2), values.T, strict=True):
        votes[:, a] += value <= 0
        votes[:, b] += value > 0
        margins[:, a] -= value
        margins[:, b] += value
    # equal sums of margins must tie, however they were rounded
    return votes + np.round(margins / (3 * (np.abs(margins) + 1)), 9)


def decided(values: FloatArray) -> npt.NDArray[Any]:
    """Positions of the winning classes."""
    return (values > 0).astype(np.int64) if values.ndim == 1 else values.argmax(axis=1)
