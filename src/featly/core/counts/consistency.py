r"""Rate of inconsistency of columns with the classes, without a hash function.

.. math::

    R(S) = \frac{1}{n} \sum_{v} \Bigl( n_v - \max_c n_{vc} \Bigr)

over the patterns v of the rows in the columns S: the share of rows outside the largest class of
their pattern. Dash, M. and Liu, H. (2003), Consistency-based search in feature selection,
*Artificial Intelligence* 151, 155-176. It never rises when a column is added.

Rows of the same pattern are neighbours in an array of row numbers, and a further column splits such
a group in place, so patterns are never stored, hashed or compared. Groups of a single class are not
split: they are consistent already. A missing value is a level of its own.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, BoolArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["Groups", "contributions"]

# mypy: disable-error-code="no-untyped-def"


BLOCK = 256  # columns that are fetched at a time
NEVER = np.iinfo(np.int64).max


class Groups:
    """Groups of rows that are equal in the columns added so far.

    Parameters
    ----------
    codes : Codes
    y : int64 array
        Class of every row, from 0.
    n_classes : int

    Attributes
    ----------
    inconsistent : int
        Rows outside the largest class of their group.
    order : int64 array
        The rows, group by group.
    since : int64 array
        At the first row of a group, the number of columns added when it came about; elsewhere the
        largest int64. So the groups after each number of columns can be read off.
    n_added : int

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> from featly.core.counts.consistency import Groups
    >>> codes = DenseCodes(np.array([[1, 1, 2, 2], [1, 2, 1, 2]], np.uint8), np.array([2, 2]))
    >>> groups = Groups(codes, np.array([0, 1, 1, 0]), 2)
    >>> groups.inconsistent, groups.count_with_each(np.array([0, 1])).tolist()
    (2, [2, 2])
    >>> groups.add([0, 1]).inconsistent
    0
    """

    inconsistent: Any
    n_added: Any
    n_classes: int
    y: IntArray
    codes: Codes

    def __init__(self, codes: Codes, y: IntArray, n_classes: int) -> None:
        self.codes, self.y, self.n_classes = codes, y, n_classes
        self.order: IntArray = np.arange(codes.n_rows)
        self.since: AnyArray = np.full(codes.n_rows, NEVER)
        self.since[0] = 0
        self.n_added = 0
        self.inconsistent = codes.n_rows - int(np.bincount(y).max())

    def add(self, features: Iterable[int], down_to: int = 0) -> "Groups":
        """Add columns one by one, until no more than `down_to` rows are inconsistent."""
        wanted = np.fromiter(features, np.int64)
        for low, high in split(len(wanted), BLOCK):
            if self.inconsistent <= down_to:
                break
            columns = self.codes.take(wanted[low:high])
            most = int(self.codes.n_levels[wanted[low:high]].max()) + 1
            self.n_added, self.inconsistent = _cut_groups(
                columns, most, self.y, self.n_classes, self.order, self.since,
                self.n_added, self.inconsistent, down_to,
            )  # fmt: skip
        return self

    def count_with_each(self, features: IntArray) -> IntArray:
        """Return how many rows would be inconsistent with each of some columns added."""
        labels = self.y[self.order]
        begin = np.flatnonzero(self.since != NEVER)
        end = np.append(begin[1:], len(labels))
        is_mixed = np.maximum.reduceat(labels, begin) > np.minimum.reduceat(labels, begin)
        ranges = np.column_stack([begin[is_mixed], end[is_mixed]])
        counts = np.zeros(len(features), np.int64)

        def count_block(block: tuple[int, int]) -> None:
            block_features = features[slice(*block)]
            most = int(self.codes.n_levels[block_features].max()) + 1
            columns = self.codes.take(block_features)
            _count_with_each(
                columns, most, labels, self.n_classes, self.order, ranges, counts[slice(*block)]
            )

        run_blocks(count_block, split(len(features), BLOCK), self.codes.n_jobs)
        return counts


def contributions(
    codes: Codes, y: IntArray, n_classes: int, order: IntArray, n_fixed: int, threshold: float
) -> tuple[BoolArray, IntArray, int]:
    """Eliminate columns backward by what each contributes to consistency.

    From the last column of an order to the first, a column leaves if without it, and with all
    that have not left, the inconsistent rows are fewer than `threshold` more.

    Parameters
    ----------
    codes : Codes
    y : int64 array
    n_classes : int
    order : int64 array
        Columns, best first.
    n_fixed : int
        The first so many never leave.
    threshold : float
        Positive; a number of rows.

    Returns
    -------
    stays : bool array
        For every position in the order.
    contribution : int64 array
        Additional inconsistent rows without the column at that position, when it was tried; 0 for
        fixed columns.
    inconsistent : int
        Inconsistent rows with the columns that stay.

    Notes
    -----
    Columns after a front part that is as consistent as all columns contribute nothing, whatever
    has left by then, so they leave without a count. The groups by each front part are read off
    :class:`Groups`.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> from featly.core.counts.consistency import contributions
    >>> columns = np.array([[1, 1, 2, 2], [1, 1, 1, 1], [1, 2, 1, 2]], np.uint8)
    >>> codes, y = DenseCodes(columns, np.array([2, 1, 2])), np.array([0, 1, 1, 0])
    >>> stays, contribution, _ = contributions(codes, y, 2, np.arange(3), 0, 0.5)
    >>> stays.tolist(), contribution.tolist()
    ([True, False, True], [2, 0, 2])
    """
    groups = Groups(codes, y, n_classes).add(order)
    inconsistent = groups.inconsistent
    stays = np.arange(len(order)) < n_fixed
    contribution = np.zeros(len(order), np.int64)
    cutting = np.unique(groups.since[groups.since != NEVER])
    pattern = np.zeros(codes.n_rows, np.int64)  # of every row, in the later columns that stay
    for added in cutting[cutting > n_fixed][::-1].tolist():
        n_patterns = int(pattern.max()) + 1
        without = _count_joined(
            groups.order, groups.since, added - 1, pattern, n_patterns, y, n_classes
        )
        contribution[added - 1] = without - inconsistent
        if without - inconsistent < threshold:
            inconsistent = without
            continue
        stays[added - 1] = True
        column = codes.take(order[added - 1 : added])[0].astype(np.int64)
        pattern = np.unique(pattern * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return stays, contribution, inconsistent


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _outside(y, order, begin, end, by_class):
    """Count the rows of a group outside its largest class; `by_class` is and stays zero."""
    largest = 0
    for i in range(begin, end):
        c = y[order[i]]
        by_class[c] += 1
        largest = max(largest, by_class[c])
    for i in range(begin, end):
        by_class[y[order[i]]] = 0
    return end - begin - largest


@kernel
def _cut_groups(columns, most, y, n_classes, order, since, n_added, inconsistent, down_to):
    """Cut the groups by some columns, in slot; return columns added and rows inconsistent."""
    n = len(order)
    by_class = np.zeros(n_classes, np.int64)
    slot = np.zeros(most, np.int64)
    old_order = np.empty(n, np.int64)
    # the groups of more than one class
    begins = np.empty(n, np.int64)
    ends = np.empty(n, np.int64)
    n_mixed = 0
    begin = 0
    for end in range(1, n + 1):
        if end == n or since[end] != NEVER:
            if _outside(y, order, begin, end, by_class) > 0:
                begins[n_mixed] = begin
                ends[n_mixed] = end
                n_mixed += 1
            begin = end
    new_begins = np.empty(n, np.int64)
    new_ends = np.empty(n, np.int64)
    for k in range(len(columns)):
        x = columns[k]
        n_added += 1
        n_new = 0
        for g in range(n_mixed):
            begin, end = begins[g], ends[g]
            differs = False
            for i in range(begin, end):
                slot[x[order[i]]] += 1
                differs |= x[order[i]] != x[order[begin]]
            if not differs:
                slot[x[order[begin]]] = 0
                new_begins[n_new] = begin
                new_ends[n_new] = end
                n_new += 1
                continue
            inconsistent -= _outside(y, order, begin, end, by_class)
            # levels follow each other in the order in which they occur; `slot` has the count of a
            # level while it is positive, and then -1 - the target of its next row
            at = begin
            for i in range(begin, end):
                old_order[i] = order[i]
                level = x[order[i]]
                if slot[level] > 0:
                    since[at] = min(since[at], n_added)
                    size = slot[level]
                    slot[level] = -at - 1
                    at += size
            for i in range(begin, end):
                level = x[old_order[i]]
                order[-slot[level] - 1] = old_order[i]
                slot[level] -= 1
            for i in range(begin, end):
                slot[x[order[i]]] = 0
            first = begin
            for i in range(begin + 1, end + 1):
                if i == end or since[i] == n_added:
                    outside = _outside(y, order, first, i, by_class)
                    if outside > 0:
                        inconsistent += outside
                        new_begins[n_new] = first
                        new_ends[n_new] = i
                        n_new += 1
                    first = i
        n_mixed = n_new
        for g in range(n_mixed):
            begins[g], ends[g] = new_begins[g], new_ends[g]
        if inconsistent <= down_to:
            break
    return n_added, inconsistent


@kernel
def _count_with_each(columns, most, labels, n_classes, order, ranges, out):
    """Count the rows that would be inconsistent with each column, in groups given by ranges."""
    counts = np.zeros((most, n_classes), np.int64)
    for k in range(len(columns)):
        x = columns[k]
        count = 0
        for g in range(len(ranges)):
            begin, end = ranges[g]
            for i in range(begin, end):
                counts[x[order[i]], labels[i]] += 1
            count += end - begin
            by_level = most < end - begin
            for i in range(most if by_level else end - begin):
                level = i if by_level else np.int64(x[order[begin + i]])
                largest = 0
                for c in range(n_classes):
                    largest = max(largest, counts[level, c])
                    counts[level, c] = 0
                count -= largest
        out[k] = count


@kernel
def _count_joined(order, since, n_added, pattern, n_patterns, y, n_classes):
    """Count rows inconsistent in the groups by the first columns, cut by patterns of rows."""
    n = len(order)
    counts = np.zeros((n_patterns, n_classes), np.int32)
    count = n
    begin = 0
    for end in range(1, n + 1):
        if end == n or since[end] <= n_added:
            for i in range(begin, end):
                counts[pattern[order[i]], y[order[i]]] += 1
            for i in range(begin, end):
                row = counts[pattern[order[i]]]
                largest = 0
                for c in range(n_classes):
                    largest = max(largest, row[c])
                    row[c] = 0
                count -= largest
            begin = end
    return count
