r"""Counts of columns against one column, by bit-planes.

.. math::

    n_{ij} = \sum_w \mathrm{popcount}(f_i[w] \wedge s_j[w])

A column of L levels is L - 1 planes: bit r of plane i is set where row r is at level i. The counts
of the last level follow from the margins. 64 rows are counted by one AND and one count
of bits, eight columns at a time (:mod:`featly.core.runtime.simd`).

Rows lie in the order of their class (:mod:`featly.core.counts.bitpacking`), so that the counts
within a class are those of a range of words, at no further cost.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, IntArray, WordArray
from featly.core.counts.bitpacking import PlaneLayout, fill_margins, occupied_levels, pack_planes
from featly.core.counts.codes import Codes
from featly.core.counts.contingency import Tables
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks
from featly.core.runtime.simd import (
    LANES,
    add_groups,
    copy_groups,
    count_one,
    count_two,
    look_up,
    look_up_pairs,
    prefetch,
    subtract_groups,
    sum_bits,
)

__all__ = ["MOST_LEVELS", "NOISE", "BitPlanes", "ConditioningColumn", "round_information"]

# mypy: disable-error-code="no-untyped-def"


MOST_LEVELS = 32  # of a column in planes; 31 planes take four bytes a value
MOST_OTHERS = 96  # planes of the other column; with more, its rows are visited one by one
BLOCK_WORDS = 1 << 17  # of planes that one task counts
NOISE = 64  # units: an information up to this may come from rounding alone


@dataclass(frozen=True)
class ConditioningColumn:
    """A column that all others are counted against.

    Attributes
    ----------
    levels : int64 array of shape (n_rows,)
        Its levels from 0, all of them occupied.
    counts : int64 array of shape (n_levels, n_classes)
    """

    levels: IntArray
    counts: IntArray
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def from_codes(codes: AnyArray, classes: IntArray, n_classes: int) -> "ConditioningColumn":
        """Make the column from codes; levels may be empty."""
        occupied = np.bincount(codes) > 0
        n_levels = int(occupied.sum())
        levels = (np.cumsum(occupied) - 1)[codes]
        counts = np.bincount(levels * n_classes + classes, minlength=n_levels * n_classes)
        return ConditioningColumn(levels, counts.reshape(n_levels, n_classes))

    def planes(self, layout: PlaneLayout) -> tuple[WordArray, IntArray]:
        """Return the planes, one after the other, and the counts for the kernels; cached."""
        cached = self._cache.get("planes")
        if cached is None:
            level_of_bit = np.full(64 * layout.n_words, -1)
            level_of_bit[layout.bits] = self.levels
            bits = level_of_bit == np.arange(len(self.counts) - 1)[:, None]
            words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).reshape(-1)
            cached = self._cache["planes"] = (words, np.repeat(self.counts.T.reshape(-1), LANES))
        return cached

    def rows_by_level(self, layout: PlaneLayout) -> tuple[IntArray, IntArray]:
        """Return the bits of the rows by level and class, and where those end; cached."""
        cached = self._cache.get("rows_by_level")
        if cached is None:
            key = self.levels * layout.n_classes + layout.classes
            bits = layout.bits[np.argsort(key, kind="stable")]
            cached = self._cache["rows_by_level"] = (bits, _starts(self.counts.reshape(-1)))
        return cached


class BitPlanes:
    """Some columns of codes as bit-planes.

    Parameters
    ----------
    codes : Codes
    tables : Tables
        Their counts against the classes.
    features : int64 array
        The columns, each of two to MOST_LEVELS occupied levels.
    layout : PlaneLayout
        By the classes of `tables`, or one class for all rows.
    pairs : int64 array, optional
        For two classes of a and b rows: T(i) + T(j) - T(i + j) for i from 0 to a and j from 0 to b,
        with T(k) = k log2 k. One look-up then replaces three, and only `conditional` is filled in.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    """

    n_jobs: int | None
    layout: PlaneLayout
    margins: IntArray
    planes: WordArray
    n_planes: IntArray
    column: IntArray

    def __init__(
        self,
        codes: Codes,
        tables: Tables,
        features: IntArray,
        layout: PlaneLayout,
        pairs: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        column, n_planes = _assign_lanes(features, occupied_levels(tables)[features])
        start = _starts(n_planes * layout.n_words * LANES)
        margin_start = _starts(n_planes * layout.n_classes * LANES)
        planes, margins = np.zeros(start[-1], np.uint64), np.zeros(margin_start[-1], np.int64)
        lane = np.full(codes.n_features, -1, np.int64)
        used_lanes = np.flatnonzero(column >= 0)
        lane[column[used_lanes]] = used_lanes
        pack_planes(codes, tables, layout, lane, start, planes, n_jobs)
        fill_margins(tables, layout, lane, margin_start, margins)
        self._set_arrays(column, n_planes, planes, margins, layout, pairs, n_jobs)

    @staticmethod
    def from_arrays(
        arrays: dict[str, AnyArray],
        layout: PlaneLayout,
        pairs: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> "BitPlanes":
        """Make planes from the arrays that :meth:`arrays` returned."""
        instance = object.__new__(BitPlanes)
        first, second = (
            (arrays["column"], arrays["n_planes"]),
            (arrays["planes"], arrays["margins"]),
        )
        instance._set_arrays(*first, *second, layout, pairs, n_jobs)
        return instance

    def _set_arrays(
        self,
        column: IntArray,
        n_planes: IntArray,
        planes: WordArray,
        margins: IntArray,
        layout: PlaneLayout,
        pairs: IntArray | None,
        n_jobs: int | None,
    ) -> None:
        self.column, self.n_planes, self.planes, self.margins = column, n_planes, planes, margins
        self.layout, self.n_jobs = layout, n_jobs
        self.pairs: IntArray = np.zeros(0, np.int64) if pairs is None else pairs
        self.start: IntArray = _starts(n_planes * layout.n_words * LANES)
        self.margin_start: IntArray = _starts(n_planes * layout.n_classes * LANES)
        n_blocks = max(1, min(len(planes) // BLOCK_WORDS, len(n_planes)))
        marks = np.linspace(0, self.start[-1], n_blocks + 1)
        bounds = np.searchsorted(self.start, marks)
        self.blocks: list[tuple[Any, Any]] = list(
            zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        )

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays from which these planes can be made again."""
        names = ("column", "n_planes", "planes", "margins")
        return {name: getattr(self, name) for name in names}

    def levels(self, feature: int) -> IntArray | None:
        """Return the level of every row in a column, from 0; None if it is not in planes."""
        positions = np.flatnonzero(self.column == feature)
        if len(positions) == 0:
            return None
        group, lane = divmod(int(positions[0]), LANES)
        words = self.planes[self.start[group] : self.start[group + 1]].reshape(-1, LANES)[:, lane]
        planes = np.ascontiguousarray(words).reshape(int(self.n_planes[group]), -1)
        bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")
        rows = bits[:, self.layout.bits]
        return np.where(rows.any(axis=0), rows.argmax(axis=0), len(planes)).astype(np.int64)

    def fill_information(
        self,
        other: ConditioningColumn,
        table: IntArray,
        own: IntArray,
        added: tuple[int, int],
        dropped_bits: int,
        redundancy: IntArray,
        conditional: IntArray,
    ) -> None:
        """Fill in the information that every column here shares with the other one.

        With T the `table` of k log2 k: ``redundancy[f]`` is the sum of T over the counts of both
        columns, plus ``added[0]``, minus ``own[f]``; ``conditional[f]`` is the sum over the counts
        by class, minus that over those of both columns, plus ``added[1]``. `dropped_bits` of both
        are rounded off, and what rounding alone explains is 0. `conditional` is left alone where
        the layout has a single class.
        """
        layout, n_others = self.layout, len(other.counts) - 1
        arrays = (self.planes, self.start, self.n_planes, self.column)
        result = (table, own, *added, dropped_bits)
        if n_others > MOST_OTHERS:
            bits_by_level, ends = other.rows_by_level(layout)

            def count_by_rows(block: tuple[int, int]) -> None:
                _count_visited_rows(
                    *arrays, layout.n_words, layout.n_classes, bits_by_level, ends, *result, *block,
                    redundancy, conditional,
                )  # fmt: skip

            run_blocks(count_by_rows, self.blocks, self.n_jobs)
            return
        others, margins = other.planes(layout)

        def count_by_planes(block: tuple[int, int]) -> None:
            _count_planes(
                *arrays, self.margins, self.margin_start, layout.ends, others, n_others, margins,
                self.pairs, *result, *block, redundancy, conditional,
            )  # fmt: skip

        run_blocks(count_by_planes, self.blocks, self.n_jobs)


def _assign_lanes(features: IntArray, occupied: IntArray) -> tuple[IntArray, IntArray]:
    """Assign columns to lanes, -1 for none, and count the planes of each lane group.

    Columns of a group have the same number of levels; lanes are left empty where it changes.
    """
    by_width = np.argsort(occupied, kind="stable")
    widths, sizes = np.unique(occupied, return_counts=True)
    n_groups = -(-sizes // LANES)
    column = np.full(LANES * int(n_groups.sum()), -1, np.int64)
    shift = LANES * (np.cumsum(n_groups) - n_groups) - (np.cumsum(sizes) - sizes)
    column[np.arange(len(features)) + np.repeat(shift, sizes)] = features[by_width]
    return column, np.repeat(widths - 1, n_groups).astype(np.int64)


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def round_information(value, bits):
    """Round off the last bits of an information; return 0 where rounding alone explains it."""
    rounded_value = (value + ((1 << bits) >> 1)) >> bits
    return rounded_value if rounded_value > NOISE else 0


@kernel
def _write_informations(
    sums, joint, by_class, column, group, own, offset, conditional_offset, bits, redundancy,
    conditional,
):  # fmt: skip
    """Write the sums of a lane group, as informations, to the entries of their columns."""
    for lane in range(LANES):
        f = column[group * LANES + lane]
        if f >= 0:
            redundancy[f] = round_information(sums[joint + lane] + offset - own[f], bits)
            if by_class >= 0:
                conditional_sum = sums[by_class + lane] - sums[joint + lane] + conditional_offset
                conditional[f] = round_information(conditional_sum, bits)


@kernel
def _count_planes(
    planes, start, n_planes, column, margins, margin_start, ends, others, n_others, other_margins,
    pairs, table, own, offset, conditional_offset, bits, lo, hi, redundancy, conditional,
):  # fmt: skip
    n_words, n_classes = ends[-1], len(ends) - 1
    length = (n_others + 1) * LANES
    most = 0
    for group in range(lo, hi):
        most = max(most, n_planes[group])
    size = (most + 1) * length
    in_pairs = len(pairs) > 0
    width = 1
    for j in range(n_others + 1 if in_pairs else 0):
        width += other_margins[length + j * LANES]  # rows of the second class
    counts = np.zeros(2 * size, np.int64)
    total = np.zeros(size, np.int64)
    sums = np.empty(2 * LANES, np.int64)
    for group in range(lo, hi):
        n_own = n_planes[group]
        n_cells = (n_own + 1) * (n_others + 1)
        if group + 1 < hi:
            prefetch(planes, start[group + 1], n_planes[group + 1] * n_words)
        sums[:] = 0
        for c in range(n_classes):
            low, high = ends[c], ends[c + 1]
            base = c * size if in_pairs else 0
            last = base + n_own * length
            copy_groups(counts, last, other_margins, c * length, n_others + 1)
            for i in range(n_own):
                margin = margin_start[group] + (i * n_classes + c) * LANES
                copy_groups(counts, base + i * length + n_others * LANES, margins, margin, 1)
            i = 0
            while i + 2 <= n_own:
                count_two(
                    planes, start[group] + i * n_words * LANES, others, n_others, n_words,
                    low, high, counts, base + i * length, length, last,
                )  # fmt: skip
                i += 2
            if i < n_own:
                count_one(
                    planes, start[group] + i * n_words * LANES, others, n_others, n_words,
                    low, high, counts, base + i * length, length, last,
                )  # fmt: skip
            for i in range(n_own):
                corner = last + n_others * LANES
                subtract_groups(counts, corner, counts, base + i * length + n_others * LANES, 1)
            if not in_pairs:
                look_up(table, counts, 0, n_cells, sums, 0)
                if n_classes > 1 and c == 0:
                    copy_groups(total, 0, counts, 0, n_cells)
                elif n_classes > 1:
                    add_groups(total, 0, counts, 0, n_cells)
        if in_pairs:
            look_up_pairs(pairs, width, counts, 0, size, n_cells, sums, 0)
            for lane in range(LANES):
                f = column[group * LANES + lane]
                if f >= 0:
                    conditional[f] = round_information(sums[lane] + conditional_offset, bits)
            continue
        by_class = -1
        if n_classes > 1:
            look_up(table, total, 0, n_cells, sums, LANES)
            by_class = 0
        _write_informations(
            sums, LANES if n_classes > 1 else 0, by_class, column, group, own, offset,
            conditional_offset, bits, redundancy, conditional,
        )  # fmt: skip


@kernel
def _count_visited_rows(
    planes, start, n_planes, column, n_words, n_classes, bits_by_level, ends,
    table, own, offset, conditional_offset, bits, lo, hi, redundancy, conditional,
):  # fmt: skip
    """Count against a column of many levels; its bits by level and class are visited one by one."""
    counts = np.empty(MOST_LEVELS * LANES, np.int64)
    total = np.empty(MOST_LEVELS * LANES, np.int64)
    sums = np.empty(2 * LANES, np.int64)
    for group in range(lo, hi):
        n_own = n_planes[group]
        sums[:] = 0
        for first in range(0, len(ends) - 1, n_classes):
            total[:] = 0
            for part in range(first, first + n_classes):
                low, high = ends[part], ends[part + 1]
                if low == high:
                    continue
                last_level = n_own * LANES
                counts[last_level : last_level + LANES] = high - low
                for i in range(n_own):
                    at = start[group] + i * n_words * LANES
                    sum_bits(planes, at, bits_by_level, low, high, counts, i * LANES)
                    subtract_groups(counts, last_level, counts, i * LANES, 1)
                if n_classes > 1:
                    look_up(table, counts, 0, n_own + 1, sums, 0)
                add_groups(total, 0, counts, 0, n_own + 1)
            look_up(table, total, 0, n_own + 1, sums, LANES)
        by_class = 0 if n_classes > 1 else -1
        _write_informations(
            sums, LANES, by_class, column, group, own, offset, conditional_offset, bits, redundancy,
            conditional,
        )  # fmt: skip
