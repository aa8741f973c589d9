"""Bit-planes packed from columns of codes: one bit a row and level, eight columns side by side.

Rows lie in the order of their class, and every class starts at a word of its own. From a row-major
table of bytes, planes are made without transposing the table: 64 columns of a row are compared with
a level by one instruction, and the squares of 64 x 64 bits that result are transposed instead.
"""

from dataclasses import dataclass

import numpy as np

from featly.basics.typing import IntArray, WordArray
from featly.core.counts.codes import Codes, WholeCodes
from featly.core.counts.contingency import Tables
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.simd import LANES, equal_mask

__all__ = ["PlaneLayout", "fill_margins", "occupied_levels", "pack_planes"]

# mypy: disable-error-code="no-untyped-def"


ROW_TILE = 2048  # columns of a row-major table that one task packs
COLUMN_TILE = 256
NO_LEVEL = 255  # stands for none of the planes


@dataclass(frozen=True)
class PlaneLayout:
    """Positions of the rows of a table in the words of a plane.

    Attributes
    ----------
    rows : int64 array of shape (64 * n_words,)
        The row of each bit, -1 for none.
    bits : int64 array of shape (n_rows,)
        The bit of each row.
    ends : int64 array of shape (n_classes + 1,)
        The words of class c are ``ends[c]:ends[c + 1]``.
    classes : int64 array of shape (n_rows,)
    """

    rows: IntArray
    bits: IntArray
    ends: IntArray
    classes: IntArray

    @staticmethod
    def from_classes(classes: IntArray, n_classes: int) -> "PlaneLayout":
        """Lay out rows by their class, each class from a new word on.

        Examples
        --------
        >>> import numpy as np
        >>> layout = PlaneLayout.from_classes(np.array([0, 1, 0]), 2)
        >>> layout.bits.tolist(), layout.ends.tolist()
        ([0, 64, 1], [0, 1, 2])
        """
        sizes = np.bincount(classes, minlength=n_classes)
        ends = np.concatenate([[0], np.cumsum(-(-sizes // 64))])
        order = np.argsort(classes, kind="stable")
        before = np.cumsum(sizes) - sizes
        positions = 64 * ends[classes[order]] + np.arange(len(classes)) - before[classes[order]]
        rows = np.full(64 * ends[-1], -1)
        rows[positions] = order
        bits = np.empty(len(classes), np.int64)
        bits[order] = positions
        return PlaneLayout(rows, bits, ends, classes)

    @property
    def n_words(self) -> int:
        """Number of words of a plane."""
        return int(self.ends[-1])

    @property
    def n_classes(self) -> int:
        """Number of ranges of words that are counted apart."""
        return len(self.ends) - 1


def occupied_levels(tables: Tables) -> IntArray:
    """Return how many levels of each column have a row, the missing one included.

    Examples
    --------
    >>> import numpy as np
    >>> occupied_levels(Tables(np.array([0, 0, 4, 1, 0, 0]), np.array([0, 6]), 2)).tolist()
    [1]
    """
    out = np.empty(len(tables), np.int64)
    _count_occupied(tables.counts, tables.start, tables.n_classes, out)
    return out


def fill_margins(
    tables: Tables, layout: PlaneLayout, lane: IntArray, start: IntArray, margins: IntArray
) -> None:
    """Fill in how many rows are at each level that has a plane, by class of the layout.

    `lane` is the lane of each column, -1 for none; the margins of lane group g begin at
    ``start[g]``, in the order of planes, classes and lanes.
    """
    table_arrays = (tables.counts, tables.start, tables.n_classes)
    _fill_margins(*table_arrays, lane, start, layout.n_classes, margins)


def pack_planes(
    codes: Codes,
    tables: Tables,
    layout: PlaneLayout,
    lane: IntArray,
    start: IntArray,
    planes: WordArray,
    n_jobs: int | None = None,
) -> None:
    """Fill in the planes of columns that have a lane; those of group g begin at ``start[g]``.

    They are in the order of planes, words and lanes. Every occupied level but the last has one.
    """
    table_arrays = (tables.counts, tables.start, tables.n_classes)
    plane_arrays = (lane, start, layout.n_words, planes)
    p, rows = codes.n_features, layout.rows
    if isinstance(codes, WholeCodes) and _is_packable_by_rows(codes):
        raw = codes.values.view(np.uint8).reshape(-1)
        first = int(codes.low[0]) & 255

        def pack_row_tile(block: tuple[int, int]) -> None:
            _pack_rows(raw, p, rows, first, *table_arrays, *plane_arrays, *block)

        run_blocks(pack_row_tile, split(p, ROW_TILE), n_jobs)
        return

    def pack_column_tile(block: tuple[int, int]) -> None:
        _pack_columns(codes.block(*block), block[0], rows, *table_arrays, *plane_arrays)

    run_blocks(pack_column_tile, split(p, COLUMN_TILE), n_jobs)


def _is_packable_by_rows(codes: WholeCodes) -> bool:
    """Return whether planes can be made from the user's array, row by row."""
    values = codes.values
    is_byte_table = values.flags.c_contiguous and values.itemsize == 1 and values.shape[1] >= 64
    return bool(is_byte_table and (codes.low == codes.low[0]).all())


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _count_occupied(counts, start, n_classes, out):
    for f in range(len(out)):
        out[f] = 0
        for level in range(start[f], start[f + 1], n_classes):
            size = 0
            for c in range(n_classes):
                size += counts[level + c]
            out[f] += size > 0


@kernel
def _number_planes(counts, first, last, n_classes, number):
    """Fill in the plane of each level; NO_LEVEL for empty levels and for the last."""
    count = 0
    latest = -1
    for level in range((last - first) // n_classes):
        size = 0
        for c in range(n_classes):
            size += counts[first + level * n_classes + c]
        number[level] = NO_LEVEL
        if size > 0:
            if latest >= 0:
                number[latest] = count
                count += 1
            latest = level


@kernel
def _fill_margins(counts, table_start, n_classes, lane, margin_start, n_parts, margins):
    """Add up rows at each level that has a plane, in each class or, with one part, in all."""
    number = np.empty(65_536, np.uint8)
    for f in range(len(lane)):
        if lane[f] < 0:
            continue
        first = table_start[f]
        _number_planes(counts, first, table_start[f + 1], n_classes, number)
        base = margin_start[lane[f] // LANES] + lane[f] % LANES
        for level in range((table_start[f + 1] - first) // n_classes):
            if number[level] != NO_LEVEL:
                for c in range(n_classes):
                    part = c if n_parts > 1 else 0
                    target = base + (np.int64(number[level]) * n_parts + part) * LANES
                    margins[target] += counts[first + level * n_classes + c]


@kernel
def _pack_columns(
    tile, feature, rows, counts, table_start, n_classes, lane, start, n_words, planes
):
    """Pack planes from a feature-major tile of codes whose first column is column `feature`."""
    number = np.empty(65_536, np.uint8)
    plane_of_bit = np.full(64 * n_words, NO_LEVEL, np.uint8)
    for k in range(len(tile)):
        f = feature + k
        if lane[f] < 0:
            continue
        _number_planes(counts, table_start[f], table_start[f + 1], n_classes, number)
        column = tile[k]
        for i in range(len(rows)):
            if rows[i] >= 0:
                plane_of_bit[i] = number[column[rows[i]]]
        group = lane[f] // LANES
        n_planes = (start[group + 1] - start[group]) // (n_words * LANES)
        target = start[group] + lane[f] % LANES
        for plane in range(n_planes):
            for word in range(n_words):
                planes[target] = equal_mask(plane_of_bit, word * 64, np.uint8(plane))
                target += LANES


@kernel
def _pack_rows(
    raw, width, rows, first, counts, table_start, n_classes, lane, start, n_words, planes, lo, hi
):
    """Pack columns ``lo:hi`` of a row-major table of bytes; level l is the byte first + l - 1.

    64 columns are compared at once. The resulting square of bits, rows by columns, is transposed.
    """
    most = 1
    for f in range(lo, hi):
        most = max(most, (table_start[f + 1] - table_start[f]) // n_classes)
    numbers = np.empty((hi - lo, most), np.uint8)
    targets = np.zeros(hi - lo, np.int64)
    n_blocks = (hi - lo + 63) // 64
    wanted = np.zeros((n_blocks, most), np.bool_)
    for f in range(lo, hi):
        number = numbers[f - lo]
        number[:] = NO_LEVEL
        if lane[f] >= 0:
            _number_planes(counts, table_start[f], table_start[f + 1], n_classes, number)
            targets[f - lo] = start[lane[f] // LANES] + lane[f] % LANES
        for level in range(most):
            wanted[(f - lo) // 64, level] |= number[level] != NO_LEVEL
    square = np.empty(64, np.uint64)
    for word in range(n_words):
        for block in range(n_blocks):
            first_column = 64 * block
            # the last columns are read with those before them, so as targets stay in the table
            left = min(lo + first_column, width - 64)
            for level in range(1, most):
                if not wanted[block, level]:
                    continue
                value = np.uint8(first + level - 1)
                for i in range(64):
                    row = rows[64 * word + i]
                    square[i] = np.uint64(0)
                    if row >= 0:
                        square[i] = equal_mask(raw, row * width + left, value)
                _transpose_bits(square)
                for k in range(first_column, min(first_column + 64, hi - lo)):
                    plane = np.int64(numbers[k, level])
                    if plane != NO_LEVEL:
                        planes[targets[k] + (plane * n_words + word) * LANES] = square[
                            lo + k - left
                        ]


@kernel
def _transpose_bits(square):
    """Transpose 64 x 64 bits in place (Warren, H. S., 2002, *Hacker's Delight*, section 7-3)."""
    step = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while step > 0:
        shift = np.uint64(step)
        for base in range(0, 64, 2 * step):
            for k in range(base, base + step):
                swap = ((square[k] >> shift) ^ square[k + step]) & mask
                square[k] ^= swap << shift
                square[k + step] ^= swap
        step >>= 1
        mask ^= mask << np.uint64(step)
