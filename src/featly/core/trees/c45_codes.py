"""Columns of numbers as codes: 0 is missing, 1, 2, ... are the distinct values in their order.

Few distinct values, as counts and rates have, are found by a hash table without a sort of the
column; a column of many is sorted. A small table is sorted as a whole, which compiles nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.trees.c45_scores import merge_sort

__all__ = ["code_numbers"]

# mypy: disable-error-code="no-untyped-def"

SMALL_TABLE = 1 << 13  # cells
CELLS = 1 << 21  # of a block of columns
SHORT = 512  # rows up to which a column is sorted at once
DISTINCT = 1 << 15  # values that the table may hold
SLOTS = 1 << 17
SHIFT = np.uint64(64 - 17)  # leaves a number of a slot
GAMMA = np.uint64(0x9E3779B97F4A7C15)
# as whole numbers, negative floats are ordered backwards: their lower bits are turned
LOWER = np.int64(0x7FFFFFFFFFFFFFFF)
MISSING = np.int64(-(1 << 63))  # the key of no number


def code_numbers(
    numbers: FloatArray,
    codes: npt.NDArray[np.int32],
    columns: IntArray,
    n_jobs: int | None,
) -> tuple[FloatArray, IntArray]:
    """Fill rows `columns` of `codes` with the columns of `numbers`.

    Parameters
    ----------
    numbers : array of shape (n_rows, n_numeric)
        Missing as NaN.
    codes : int32 array of shape (n_features, n_rows)
    columns : the row of `codes` for each column of `numbers`
    n_jobs : threads

    Returns
    -------
    values : float64 array
        The distinct values in their order, of one column after another.
    counts : int64 array of shape (n_numeric,)
        How many each column has.
    """
    n_rows, n_numeric = numbers.shape
    if numbers.size <= SMALL_TABLE:
        return _code_at_once(numbers, codes, columns)

    def code_block(block: tuple[int, int]) -> tuple[Any, Any]:
        low, high = block
        # writeable or not, it is compiled for one type
        tile = np.require(numbers[:, low:high].T, requirements=["C", "W"])
        keys = np.empty(tile.shape, np.int64)
        counts = np.empty(high - low, np.int64)
        slots = SLOTS if n_rows > SHORT else 0
        memory = (
            np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(slots, np.int64),
            np.empty(slots, np.int32), np.empty(min(n_rows // 8, DISTINCT), np.int64),
        )  # fmt: skip
        _code_tile(tile, tile.view(np.int64), columns[low:high], codes, keys, counts, memory)
        distinct = keys[np.arange(n_rows) < counts[:, None]]
        return np.where(distinct < 0, distinct ^ LOWER, distinct).view(np.float64), counts

    distinct = run_blocks(code_block, split(n_numeric, max(1, CELLS // n_rows)), n_jobs)
    values = [np.empty(0), *(block[0] for block in distinct)]
    counts = [np.empty(0, np.int64), *(block[1] for block in distinct)]
    return np.concatenate(values), np.concatenate(counts)


def _code_at_once(
    numbers: FloatArray,
    codes: npt.NDArray[np.int32],
    columns: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Do the same as :func:`code_numbers`, by one sort of all columns."""
    by_column = numbers.T + 0.0  # -0 is 0
    order = by_column.argsort(axis=1)
    ordered = np.take_along_axis(by_column, order, axis=1)  # the missing are last
    new = ~np.isnan(ordered)
    known = new.copy()
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    ranks = new.cumsum(axis=1, dtype=np.int32)
    coded = np.empty(by_column.shape, np.int32)
    np.put_along_axis(coded, order, np.where(known, ranks, 0), axis=1)
    codes[columns] = coded
    return ordered[new], new.sum(axis=1, dtype=np.int64)


@kernel
def _find_position(keys, size, key):
    """Return the position of a key among sorted ones, from 0."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _find_slot(key, slots, positions):
    """Return the slot of a key in the table, or the free slot where it belongs."""
    slot = (np.uint64(key) * GAMMA) >> SHIFT
    while positions[slot] >= 0 and slots[slot] != key:
        slot = (slot + np.uint64(1)) & np.uint64(SLOTS - 1)
    return slot


@kernel
def _gather_distinct(keys, slots, positions, distinct):
    """Collect distinct keys by a hash table; return how many, or -1 where they are too many.

    ``positions[slot]`` is the position in `distinct` of the key of a slot.
    """
    for slot in range(len(positions)):
        positions[slot] = -1
    n_distinct = np.int64(0)
    last = MISSING
    for i in range(len(keys)):
        key = keys[i]
        if key in (last, MISSING):
            continue
        last = key
        slot = _find_slot(key, slots, positions)
        if positions[slot] < 0:
            if n_distinct == len(distinct):
                return np.int64(-1)
            positions[slot], slots[slot] = n_distinct, key
            distinct[n_distinct] = key
            n_distinct += 1
    return n_distinct


@kernel
def _code_tile(tile, bits, columns, codes, keys, counts, memory):
    """Code each row of `tile`; in `keys` its distinct values come first."""
    ordered, scratch, slots, positions, distinct = memory
    n_rows = tile.shape[1]
    for k in range(len(tile)):
        row, out = keys[k], codes[columns[k]]
        for i in range(n_rows):
            if tile[k, i] != tile[k, i]:
                row[i] = MISSING
            elif tile[k, i] == 0.0:
                row[i] = 0  # -0 is 0
            else:
                row[i] = bits[k, i] if bits[k, i] >= 0 else bits[k, i] ^ LOWER
        n_distinct = np.int64(-1)
        if len(slots):
            n_distinct = _gather_distinct(row, slots, positions, distinct)
        hashed = n_distinct >= 0
        if hashed:
            for i in range(n_distinct):
                ordered[i] = distinct[i]
            merge_sort(ordered, scratch, n_distinct)
            # from the order of discovery to the order of values
            for slot in range(len(slots)):
                if positions[slot] >= 0:
                    positions[slot] = _find_position(ordered, n_distinct, slots[slot]) + 1
        else:
            size = np.int64(0)
            for i in range(n_rows):
                if row[i] != MISSING:
                    ordered[size] = row[i]
                    size += 1
            merge_sort(ordered, scratch, size)
            n_distinct = np.int64(0)
            for i in range(size):
                if i == 0 or ordered[i] != ordered[i - 1]:
                    ordered[n_distinct] = ordered[i]
                    n_distinct += 1
        last, code = MISSING, 0
        for i in range(n_rows):
            if row[i] != last:
                last = row[i]
                if last == MISSING:
                    code = 0
                elif hashed:
                    code = positions[_find_slot(last, slots, positions)]
                else:
                    code = _find_position(ordered, n_distinct, last) + 1
            out[i] = code
        for i in range(n_distinct):
            row[i] = ordered[i]
        counts[k] = n_distinct
