"""Scores to an order, for every method.

Scores are rounded to 33 mantissa bits (a relative 1e-10), then compared; equal ones go by column
index, lower first. Summation order, threads and devices change a score by far less than that
rounding, so they do not change a ranking.
"""

import numpy as np

from featly.basics.typing import AnyArray, FloatArray, IntArray, WordArray
from featly.core.runtime.jit import kernel

__all__ = ["apply_prior", "best_first", "descending", "keep_first", "round_scores", "worst"]

# mypy: disable-error-code="no-untyped-def"


_DROPPED_BITS = 52 - 33
_LARGEST = 1e308  # still finite after rounding
SMALL = 4096  # fewer keys are sorted without packing


def round_scores(scores: FloatArray) -> FloatArray:
    """Round scores to 33 mantissa bits, ready to be compared.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([0.1 + 0.2, 0.3])
    >>> bool(a[0] == a[1]), bool(np.equal(*round_scores(a)))
    (False, True)
    """
    bits = np.array(scores, dtype=np.float64).view(np.int64)
    bits += 1 << (_DROPPED_BITS - 1)
    bits &= ~((1 << _DROPPED_BITS) - 1)
    return bits.view(np.float64)


def apply_prior(scores: AnyArray, prior: FloatArray | None) -> AnyArray:
    r"""Apply a prior to scores: :math:`\beta s` from 0 up, :math:`s / \beta` below.

    No score falls, and none changes its sign. Without a prior they are returned as they are;
    finite ones stay finite.

    Examples
    --------
    >>> import numpy as np
    >>> apply_prior(np.array([3.0, 3.0, 0.0, -3.0]), np.array([1.0, 10.0, 10.0, 10.0])).tolist()
    [3.0, 30.0, 0.0, -0.3]
    """
    if prior is None:
        return scores
    with np.errstate(over="ignore"):
        weighted = np.where(scores < 0, scores / prior, scores * prior)
    return np.minimum(weighted, np.maximum(scores, _LARGEST))


def best_first(scores: FloatArray) -> IntArray:
    """Return positions from the largest score to the smallest, ties by position.

    Examples
    --------
    >>> import numpy as np
    >>> best_first(np.array([1.0, 3.0, 1.0, 2.0])).tolist()
    [1, 3, 0, 2]
    """
    if np.isnan(scores).any():
        raise ValueError(f"score {int(np.flatnonzero(np.isnan(scores))[0])} is not a number")
    return descending(round_scores(scores))


def keep_first(order: IntArray, keep: IntArray) -> IntArray:
    """Return the order with the columns that the user wants kept (schema `keep`) in front."""
    if len(keep) == 0:
        return order
    is_kept = np.isin(order, keep)
    return np.concatenate([order[is_kept], order[~is_kept]])


def descending(keys: AnyArray) -> IntArray:
    """Return positions from the largest key to the smallest, ties by position; none is rounded.

    Examples
    --------
    >>> import numpy as np
    >>> descending(np.array([2, 3, 2])).tolist()
    [1, 0, 2]
    """
    packed = _pack_keys(keys)
    if packed is not None:
        packed.sort()  # all numbers differ: many times faster than sorting positions
        packed &= (1 << len(keys).bit_length()) - 1
        return packed.view(np.int64)
    order: IntArray = np.argsort(-keys)  # several times faster than a stable sort, which ties need
    sorted_keys = keys[order]
    equal = sorted_keys[1:] == sorted_keys[:-1]
    if not equal.any():
        return order
    # positions within each run of equal keys are sorted, all runs at once: these numbers differ
    run: IntArray = np.concatenate([[0], np.cumsum(~equal)]) * len(order)
    positions: IntArray = np.sort(run + order) - run
    return positions


def _pack_keys(keys: AnyArray) -> WordArray | None:
    """Pack each key's distance packed the largest and its position into a number, or None.

    Floats from 0 up, rounded by :func:`round_scores`, are ordered as their bits, the last of which
    are 0. Keys of exactly 0, far packed all others, are moved up.
    """
    position = len(keys).bit_length()
    if len(keys) < SMALL:
        return None
    if keys.dtype == np.float64:
        bits = keys.view(np.int64)
        if bits.min() < 0 or (bits & ((1 << _DROPPED_BITS) - 1)).any():
            return None
        bits = bits >> _DROPPED_BITS
        least = bits[bits > 0].min(initial=1 << 62)
        if least == 1 << 62:
            return None
        whole = np.maximum(bits, least - 1)
    elif keys.dtype == np.int64:
        whole = keys
    else:
        return None
    most, least = int(whole.max()), int(whole.min())
    if (most - least).bit_length() + position > 64:
        return None
    packed: WordArray = np.subtract(most, whole, dtype=np.int64).view(np.uint64)
    packed <<= np.uint64(position)
    packed |= np.arange(len(keys), dtype=np.uint64)
    return packed


def worst(scores: FloatArray, count: int) -> IntArray:
    """Return the last `count` entries of :func:`best_first`, without sorting the others.

    Examples
    --------
    >>> import numpy as np
    >>> worst(np.array([1.0, 3.0, 1.0, 2.0]), 3).tolist()
    [3, 0, 2]
    """
    if count == 1:
        return np.array([_last(scores)])
    keys = round_scores(scores)
    if count >= len(keys):
        return descending(keys)
    limit = np.partition(keys, count - 1)[count - 1]
    below = np.flatnonzero(keys < limit)
    at_limit = np.flatnonzero(keys == limit)
    positions = np.concatenate([below, at_limit[len(at_limit) - (count - len(below)) :]])
    positions.sort()
    return positions[descending(keys[positions])]


@kernel
def _last(scores):
    keys = scores.copy().view(np.int64)
    position = 0
    lowest = np.inf
    for i in range(len(keys)):
        keys[i] = (keys[i] + (1 << (_DROPPED_BITS - 1))) & ~((1 << _DROPPED_BITS) - 1)
    values = keys.view(np.float64)
    for i in range(len(values)):
        if values[i] <= lowest:
            lowest = values[i]
            position = i
    return position
