r"""Counts of columns against one column, by bit-planes.

.. math::

    n_{ij} = \sum_w \mathrm{popcount}(f_i[w] \wedge s_j[w])

A column of L levels is L - 1 planes: in plane i, one bit a row tells whether the row is at level i.
The counts of the last level follow from the margins. 64 rows are counted by one AND and one count
of bits, eight columns at a time (:mod:`featly.core.runtime.simd`).

Rows lie in the order of their class (:mod:`featly.core.counts.bitpacking`), so that the counts
within a class are those of a range of words, at no further cost.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.core.counts.bitpacking import Layout, lay_margins, occupied_levels, pack_planes
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
    sum_bits,
    take_off,
)

__all__ = ["MOST_LEVELS", "NOISE", "BitPlanes", "Other", "settle"]

# mypy: disable-error-code="no-untyped-def"

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

MOST_LEVELS = 32  # of a column in planes, which then takes four bytes a value
MOST_OTHERS = 96  # planes of the other column; with more, its rows are visited one by one
BLOCK_WORDS = 1 << 17  # of planes that one task counts
NOISE = 64  # an information of so many units or fewer is what rounding leaves of none


@dataclass(frozen=True)
class Other:
    """The column that all others are counted against.

    Attributes
    ----------
    levels : int64 array of shape (n_rows,)
        Its levels from 0, all of them occupied.
    counts : int64 array of shape (n_levels, n_classes)
    """

    levels: IntArray
    counts: IntArray
    _made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(codes: npt.NDArray[Any], classes: IntArray, n_classes: int) -> "Other":
        """A column from its codes, in which empty levels may be."""
        occupied = np.bincount(codes) > 0
        n_levels = int(occupied.sum())
        levels = (np.cumsum(occupied) - 1)[codes]
        counts = np.bincount(levels * n_classes + classes, minlength=n_levels * n_classes)
        return Other(levels, counts.reshape(n_levels, n_classes))

    def planes(self, layout: Layout) -> tuple[WordArray, IntArray]:
        """Its planes, one after the other, and its counts as the loops want them; made once."""
        found = self._made.get("planes")
        if found is None:
            lying = np.full(64 * layout.n_words, -1)
            lying[layout.bits] = self.levels
            bits = lying == np.arange(len(self.counts) - 1)[:, None]
            words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).reshape(-1)
            found = self._made["planes"] = (words, np.repeat(self.counts.T.reshape(-1), LANES))
        return found

    def visited(self, layout: Layout) -> tuple[IntArray, IntArray]:
        """Bits of the rows by its levels and their classes, and where those end; made once."""
        found = self._made.get("visited")
        if found is None:
            key = self.levels * layout.n_classes + layout.classes
            bits = layout.bits[np.argsort(key, kind="stable")]
            found = self._made["visited"] = (bits, _starts(self.counts.reshape(-1)))
        return found


class BitPlanes:
    """Some columns of codes as bit-planes.

    Parameters
    ----------
    codes : Codes
    tables : Tables
        Their counts against the classes.
    features : int64 array
        The columns, each of two to MOST_LEVELS occupied levels.
    layout : Layout
        By the classes of `tables`, or one class for all rows.
    pairs : int64 array, optional
        Of two classes of a and b rows, T(i) + T(j) - T(i + j) for i from 0 to a and j from 0 to b,
        with T(k) = k log2 k. With it, only `conditional` is filled in: one look-up for three.
    n_jobs : int, optional
    """

    def __init__(
        self,
        codes: Codes,
        tables: Tables,
        features: IntArray,
        layout: Layout,
        pairs: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        column, n_planes = _lanes_of(features, occupied_levels(tables)[features])
        start = _starts(n_planes * layout.n_words * LANES)
        margin_start = _starts(n_planes * layout.n_classes * LANES)
        planes, margins = np.zeros(start[-1], np.uint64), np.zeros(margin_start[-1], np.int64)
        place = np.full(codes.n_features, -1, np.int64)
        taken = np.flatnonzero(column >= 0)
        place[column[taken]] = taken
        pack_planes(codes, tables, layout, place, start, planes, n_jobs)
        lay_margins(tables, layout, place, margin_start, margins)
        self._take(column, n_planes, planes, margins, layout, pairs, n_jobs)

    @staticmethod
    def stored(
        arrays: dict[str, npt.NDArray[Any]],
        layout: Layout,
        pairs: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> "BitPlanes":
        """Planes from what :meth:`arrays` gave."""
        found = object.__new__(BitPlanes)
        first, second = (
            (arrays["column"], arrays["n_planes"]),
            (arrays["planes"], arrays["margins"]),
        )
        found._take(*first, *second, layout, pairs, n_jobs)
        return found

    def _take(
        self,
        column: IntArray,
        n_planes: IntArray,
        planes: WordArray,
        margins: IntArray,
        layout: Layout,
        pairs: IntArray | None,
        n_jobs: int | None,
    ) -> None:
        self.column, self.n_planes, self.planes, self.margins = column, n_planes, planes, margins
        self.layout, self.n_jobs = layout, n_jobs
        self.pairs = np.zeros(0, np.int64) if pairs is None else pairs
        self.start = _starts(n_planes * layout.n_words * LANES)
        self.margin_start = _starts(n_planes * layout.n_classes * LANES)
        n_blocks = max(1, min(len(planes) // BLOCK_WORDS, len(n_planes)))
        marks = np.linspace(0, self.start[-1], n_blocks + 1)
        bounds = np.searchsorted(self.start, marks)
        self.blocks = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What must be kept to have these planes again."""
        names = ("column", "n_planes", "planes", "margins")
        return {name: getattr(self, name) for name in names}

    def levels(self, feature: int) -> IntArray | None:
        """The level of every row in one column, numbered from 0; None where it is not here."""
        found = np.flatnonzero(self.column == feature)
        if len(found) == 0:
            return None
        group, lane = divmod(int(found[0]), LANES)
        words = self.planes[self.start[group] : self.start[group + 1]].reshape(-1, LANES)[:, lane]
        planes = np.ascontiguousarray(words).reshape(int(self.n_planes[group]), -1)
        bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")
        rows = bits[:, self.layout.bits]
        return np.where(rows.any(axis=0), rows.argmax(axis=0), len(planes)).astype(np.int64)

    def information(
        self,
        other: Other,
        table: IntArray,
        own: IntArray,
        added: tuple[int, int],
        dropped_bits: int,
        redundancy: IntArray,
        conditional: IntArray,
    ) -> None:
        """Fill in what every column here has in common with the other one.

        With T the `table` of k log2 k: ``redundancy[f]`` is the sum of T over the counts of both
        columns, plus ``added[0]``, minus ``own[f]``; ``conditional[f]`` is the sum over the counts
        by class, minus that over those of both columns, plus ``added[1]``. `dropped_bits` of both
        are rounded off, and what rounding alone explains is 0. `conditional` is left alone where
        the layout has a single class.
        """
        layout, n_others = self.layout, len(other.counts) - 1
        what = (self.planes, self.start, self.n_planes, self.column)
        result = (table, own, *added, dropped_bits)
        if n_others > MOST_OTHERS:
            visited, ends = other.visited(layout)

            def by_rows(block: tuple[int, int]) -> None:
                _visit(
                    *what, layout.n_words, layout.n_classes, visited, ends, *result, *block,
                    redundancy, conditional,
                )  # fmt: skip

            run_blocks(by_rows, self.blocks, self.n_jobs)
            return
        others, margins = other.planes(layout)

        def by_planes(block: tuple[int, int]) -> None:
            _count(
                *what, self.margins, self.margin_start, layout.ends, others, n_others, margins,
                self.pairs, *result, *block, redundancy, conditional,
            )  # fmt: skip

        run_blocks(by_planes, self.blocks, self.n_jobs)


def _lanes_of(features: IntArray, occupied: IntArray) -> tuple[IntArray, IntArray]:
    """Which column is in which lane, -1 for none, and how many planes each lane group has.

    Columns of a group have the same number of levels; lanes are left empty where it changes.
    """
    by_width = np.argsort(occupied, kind="stable")
    widths, sizes = np.unique(occupied, return_counts=True)
    n_groups = -(-sizes // LANES)
    column = np.full(LANES * int(n_groups.sum()), -1, np.int64)
    moved = LANES * (np.cumsum(n_groups) - n_groups) - (np.cumsum(sizes) - sizes)
    column[np.arange(len(features)) + np.repeat(moved, sizes)] = features[by_width]
    return column, np.repeat(widths - 1, n_groups).astype(np.int64)


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def settle(value, bits):
    """An information without its last bits; 0 where it is what rounding leaves of none."""
    found = (value + ((1 << bits) >> 1)) >> bits
    return found if found > NOISE else 0


@kernel
def _store(sums, joint, by_class, column, group, own, more, more_given, bits, redundancy, given):
    """Sums of a lane group, made informations, to where their columns are."""
    for lane in range(LANES):
        f = column[group * LANES + lane]
        if f >= 0:
            redundancy[f] = settle(sums[joint + lane] + more - own[f], bits)
            if by_class >= 0:
                found = sums[by_class + lane] - sums[joint + lane] + more_given
                given[f] = settle(found, bits)


@kernel
def _count(
    planes, start, n_planes, column, margins, margin_start, ends, others, n_others, other_margins,
    pairs, table, own, more, more_given, bits, lo, hi, redundancy, conditional,
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
        n_mine = n_planes[group]
        n_cells = (n_mine + 1) * (n_others + 1)
        if group + 1 < hi:
            prefetch(planes, start[group + 1], n_planes[group + 1] * n_words)
        sums[:] = 0
        for c in range(n_classes):
            low, high = ends[c], ends[c + 1]
            base = c * size if in_pairs else 0
            last = base + n_mine * length
            copy_groups(counts, last, other_margins, c * length, n_others + 1)
            for i in range(n_mine):
                margin = margin_start[group] + (i * n_classes + c) * LANES
                copy_groups(counts, base + i * length + n_others * LANES, margins, margin, 1)
            i = 0
            while i + 2 <= n_mine:
                count_two(
                    planes, start[group] + i * n_words * LANES, others, n_others, n_words,
                    low, high, counts, base + i * length, length, last,
                )  # fmt: skip
                i += 2
            if i < n_mine:
                count_one(
                    planes, start[group] + i * n_words * LANES, others, n_others, n_words,
                    low, high, counts, base + i * length, length, last,
                )  # fmt: skip
            for i in range(n_mine):
                corner = last + n_others * LANES
                take_off(counts, corner, counts, base + i * length + n_others * LANES, 1)
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
                    conditional[f] = settle(sums[lane] + more_given, bits)
            continue
        by_class = -1
        if n_classes > 1:
            look_up(table, total, 0, n_cells, sums, LANES)
            by_class = 0
        _store(
            sums, LANES if n_classes > 1 else 0, by_class, column, group, own, more, more_given,
            bits, redundancy, conditional,
        )  # fmt: skip


@kernel
def _visit(
    planes, start, n_planes, column, n_words, n_classes, visited, ends,
    table, own, more, more_given, bits, lo, hi, redundancy, conditional,
):  # fmt: skip
    """The same for another column of many levels: bits `visited`, by its levels and classes."""
    counts = np.empty(MOST_LEVELS * LANES, np.int64)
    total = np.empty(MOST_LEVELS * LANES, np.int64)
    sums = np.empty(2 * LANES, np.int64)
    for group in range(lo, hi):
        n_mine = n_planes[group]
        sums[:] = 0
        for first in range(0, len(ends) - 1, n_classes):
            total[:] = 0
            for part in range(first, first + n_classes):
                low, high = ends[part], ends[part + 1]
                if low == high:
                    continue
                rest = n_mine * LANES
                counts[rest : rest + LANES] = high - low
                for i in range(n_mine):
                    at = start[group] + i * n_words * LANES
                    sum_bits(planes, at, visited, low, high, counts, i * LANES)
                    take_off(counts, rest, counts, i * LANES, 1)
                if n_classes > 1:
                    look_up(table, counts, 0, n_mine + 1, sums, 0)
                add_groups(total, 0, counts, 0, n_mine + 1)
            look_up(table, total, 0, n_mine + 1, sums, LANES)
        by_class = 0 if n_classes > 1 else -1
        _store(
            sums, LANES, by_class, column, group, own, more, more_given, bits, redundancy,
            conditional,
        )  # fmt: skip
