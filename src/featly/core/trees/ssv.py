r"""Levels in the order of a tree that separates the classes best.

.. math::

    \mathrm{SSV}(s) = 2 \sum_c |L_c| (|R| - |R_c|) - \sum_c \min(|L_c|, |R_c|)

for a split s of the levels into two parts, with L and R the rows of one part and of the other and
c the classes: the pairs of rows of different classes that are separated count twice, the rows of a
class that are divided are taken away. Grąbczewski, K. and Duch, W. (1999), A general purpose
separability criterion for classification systems, *4th Conference on Neural Networks and Their
Applications*, 203-208.

All numbers are whole, so a tie is a tie.
"""

import numpy as np

from featly.basics.typing import AnyArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["EXACT_LEVELS", "order_levels"]

# mypy: disable-error-code="no-untyped-def"


EXACT_LEVELS = 16  # up to so many, all splits are tried
COLUMN_BLOCK = 64


def order_levels(
    codes: AnyArray,
    y: IntArray,
    n_classes: int,
    n_levels: IntArray,
    max_depth: int,
    n_jobs: int | None = None,
) -> tuple[IntArray, IntArray, IntArray]:
    """Number the levels of every column.

    The levels of a column are split into the two parts with the largest SSV, and each part again,
    as long as it holds several levels and several classes, `max_depth` times at most. The part
    with the lower mean of the class numbers comes first; parts are numbered from 0. With more than
    16 levels the best split along the share of a class is improved level by level instead of all
    being tried. Of equally good splits the first is taken, where levels stand in the order of
    their counts.

    Parameters
    ----------
    codes : int array of shape (n_columns, n_rows)
        From 0 to ``n_levels - 1``.
    y : int64 array of shape (n_rows,)
    n_levels : int64 array of shape (n_columns,)

    Returns
    -------
    numbers : int64 array
        Of the levels of one column after the other.
    start : int64 array of shape (n_columns + 1,)
        Where each column begins.
    separability : int64 array of shape (n_columns,)
        The SSV of the first split; 0 where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> codes, y = np.array([[0, 0, 1, 1, 2, 2]]), np.array([1, 1, 0, 0, 1, 0])
    >>> numbers, _, separability = order_levels(codes, y, 2, np.array([3]), 1)
    >>> numbers.tolist(), separability.tolist()
    ([1, 0, 0], [11])
    >>> order_levels(codes, y, 2, np.array([3]), 5)[0].tolist()
    [2, 0, 1]
    """
    start = np.concatenate([[0], np.cumsum(n_levels, dtype=np.int64)])
    numbers = np.zeros(start[-1], np.int64)
    separability = np.zeros(len(codes), np.int64)

    def order_block(block: tuple[int, int]) -> None:
        _order_columns(codes, y, n_classes, start, max_depth, *block, numbers, separability)

    run_blocks(order_block, split(len(codes), COLUMN_BLOCK), n_jobs)
    return numbers, start, separability


@kernel
def _separability(left, whole):
    """Return the SSV of a part with `left` rows of each class."""
    n_right = 0
    for c in range(len(whole)):
        n_right += whole[c] - left[c]
    value = 0
    for c in range(len(whole)):
        right = whole[c] - left[c]
        value += 2 * left[c] * (n_right - right) - min(left[c], right)
    return value


@kernel
def _is_before(counts, sizes, a, b, c):
    """Return whether level a has a smaller share of class c than b; without c, smaller counts."""
    if c >= 0:
        share_a, share_b = counts[a, c] * sizes[b], counts[b, c] * sizes[a]
        return share_a < share_b or (share_a == share_b and a < b)
    for d in range(counts.shape[1]):
        if counts[a, d] != counts[b, d]:
            return counts[a, d] < counts[b, d]
    return a < b


@kernel
def _sort(levels, m, counts, sizes, c):
    """Sort the first m levels by Shell's method."""
    step = m // 2
    while step > 0:
        for i in range(step, m):
            moved, j = levels[i], i
            while j >= step and _is_before(counts, sizes, moved, levels[j - step], c):
                levels[j] = levels[j - step]
                j -= step
            levels[j] = moved
        step //= 2


@kernel
def _move_level(counts, level, sign, left):
    for c in range(len(left)):
        left[c] += sign * counts[level, c]


@kernel
def _best_of_all(levels, m, counts, whole, left, inside):
    """Try every split; the first level is always inside. Of equal ones the smallest mask."""
    left[:] = 0
    _move_level(counts, levels[0], 1, left)
    best, best_mask = _separability(left, whole), 0
    mask = 0
    for step in range(1, 1 << (m - 1)):
        bit = 0  # masks in Gray's order: one level moves at a time
        while not (step >> bit) & 1:
            bit += 1
        mask ^= 1 << bit
        _move_level(counts, levels[bit + 1], 1 if (mask >> bit) & 1 else -1, left)
        if mask == (1 << (m - 1)) - 1:
            continue
        value = _separability(left, whole)
        if value > best or (value == best and mask < best_mask):
            best, best_mask = value, mask
    inside[0] = True
    for i in range(1, m):
        inside[i] = (best_mask >> (i - 1)) & 1
    return best


@kernel
def _best_of_many(levels, m, counts, sizes, whole, left, inside, sorted_levels):
    """Find the best split along the share of a class, then move levels while it helps."""
    best, best_class, last = -(1 << 62), 0, 0
    for c in range(len(whole)):
        for i in range(m):  # an assignment of slices takes seconds to compile
            sorted_levels[i] = levels[i]
        _sort(sorted_levels, m, counts, sizes, np.int64(c))
        left[:] = 0
        for i in range(m - 1):
            _move_level(counts, sorted_levels[i], 1, left)
            value = _separability(left, whole)
            if value > best:
                best, best_class, last = value, c, sorted_levels[i]
    left[:] = 0
    n_inside = 0
    for i in range(m):
        inside[i] = not _is_before(counts, sizes, last, levels[i], np.int64(best_class))
        if inside[i]:
            _move_level(counts, levels[i], 1, left)
            n_inside += 1
    while True:
        best_level = -1
        for i in range(m):
            if n_inside == (1 if inside[i] else m - 1):
                continue
            sign = -1 if inside[i] else 1
            _move_level(counts, levels[i], sign, left)
            value = _separability(left, whole)
            _move_level(counts, levels[i], -sign, left)
            if value > best:
                best, best_level = value, i
        if best_level < 0:
            return best
        sign = -1 if inside[best_level] else 1
        _move_level(counts, levels[best_level], sign, left)
        inside[best_level] = not inside[best_level]
        n_inside += sign


@kernel
def _is_inside_first(left, whole):
    """Return whether the part inside has the lower mean of the class numbers, or the same."""
    n_left, n_right, sum_left, sum_right = 0, 0, 0, 0
    for c in range(len(whole)):
        right = whole[c] - left[c]
        n_left += left[c]
        n_right += right
        sum_left += c * left[c]
        sum_right += c * right
    return sum_left * n_right <= sum_right * n_left


@kernel
def _partition(levels, m, inside, first, spare):
    """Put the levels of one part before those of the other; return where it ends."""
    end, n_spare = 0, 0
    for i in range(m):
        if inside[i] == first:
            levels[end] = levels[i]
            end += 1
        else:
            spare[n_spare] = levels[i]
            n_spare += 1
    for i in range(n_spare):
        levels[end + i] = spare[i]
    return end


@kernel
def _arrange_levels(counts, sizes, max_depth, levels, spare, inside, stack, leaf):
    """Arrange `levels` as the leaves of the tree; `leaf` marks where one begins."""
    n_levels, n_classes = counts.shape
    whole, left = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    first_split = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n_levels, 0
    top = 1
    while top > 0:
        top -= 1
        low, high, depth = stack[top, 0], stack[top, 1], stack[top, 2]
        leaf[low] = True
        whole[:] = 0
        for i in range(low, high):
            _move_level(counts, levels[i], 1, whole)
        present = 0
        for c in range(n_classes):
            present += whole[c] > 0
        m = high - low
        if m < 2 or present < 2 or depth == max_depth:
            continue
        part = levels[low:high]
        if m <= EXACT_LEVELS:
            best = _best_of_all(part, m, counts, whole, left, inside)
        else:
            best = _best_of_many(part, m, counts, sizes, whole, left, inside, spare)
        if best <= 0:
            continue
        if low == 0 and high == n_levels:
            first_split = best
        left[:] = 0
        for i in range(m):
            if inside[i]:
                _move_level(counts, part[i], 1, left)
        middle = low + _partition(part, m, inside, _is_inside_first(left, whole), spare)
        stack[top, 0], stack[top, 1], stack[top, 2] = low, middle, depth + 1
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = middle, high, depth + 1
        top += 2
    return first_split


@kernel
def _order_columns(codes, y, n_classes, start, max_depth, lo, hi, numbers, separability):
    for f in range(lo, hi):
        n_levels = start[f + 1] - start[f]
        if n_levels == 0:
            continue
        level_counts = np.zeros((n_levels, n_classes), np.int64)
        for i in range(len(y)):
            level_counts[codes[f, i], y[i]] += 1
        # levels in the order of their counts, so that their names do not matter
        names = np.arange(n_levels)
        sizes, spare = np.empty(n_levels, np.int64), np.empty(n_levels, np.int64)
        _sort(names, n_levels, level_counts, sizes, np.int64(-1))
        counts = np.empty((n_levels, n_classes), np.int64)
        sizes[:] = 0
        for i in range(n_levels):
            for c in range(n_classes):
                counts[i, c] = level_counts[names[i], c]
                sizes[i] += counts[i, c]
        levels = np.arange(n_levels)
        inside, leaf = np.zeros(n_levels, np.bool_), np.zeros(n_levels, np.bool_)
        stack = np.empty((n_levels + 2, 3), np.int64)
        separability[f] = _arrange_levels(
            counts, sizes, max_depth, levels, spare, inside, stack, leaf
        )
        number = -1
        for i in range(n_levels):
            number += leaf[i]
            numbers[start[f] + names[levels[i]]] = number
