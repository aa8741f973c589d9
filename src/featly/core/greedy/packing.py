"""Columns counted against the classes and packed for a greedy search, a range of them at a time.

A range is packed by itself: from a table in memory it is all columns, from one on disk as many as
are read at a time. Packed columns stay in memory or are written to a file
(:mod:`featly.core.greedy.cache`).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from featly.basics.typing import AnyArray, BoolArray, IntArray
from featly.core.counts.bitpacking import PlaneLayout, occupied_levels
from featly.core.counts.bitplanes import MOST_LEVELS, BitPlanes
from featly.core.counts.codes import Codes
from featly.core.counts.entropy import class_information
from featly.core.counts.histograms import WideColumns
from featly.core.runtime.parallel import run_blocks

__all__ = ["MemoryPack", "PackStore", "PackedColumns", "Packing", "pack_columns"]


MOST_PADDING = 4  # words of a plane with classes apart, as a multiple of those without


def pack_columns(
    codes: Codes,
    packing: "Packing",
    pack_store: "PackStore | None" = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> "list[PackedColumns]":
    """Pack all columns range by range into a store, except those that are in it already.

    Ranges that were packed under another memory limit have other bounds and are used as well.
    """
    pack_store = pack_store or MemoryPack()
    if codes.memory is None and isinstance(pack_store, MemoryPack):
        return [packing.pack(codes, 0, n_jobs)]
    try:
        _pack_missing(codes, packing, pack_store, n_jobs, progress)
        packed = pack_store.finish()
    finally:
        pack_store.close()  # threads may still be at work where Ctrl-C ended this
    return sorted(packed, key=lambda part: part.low)


def _pack_missing(
    codes: Codes,
    packing: "Packing",
    pack_store: "PackStore",
    n_jobs: int | None,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Pack the columns that are not in the store yet."""
    p, packed_ranges = codes.n_features, pack_store.ranges()
    done, lock = sum(high - low for low, high in packed_ranges), threading.Lock()

    def pack_range(part: tuple[int, int]) -> None:
        nonlocal done
        low, high = part
        pack_store.put(packing.pack(codes.part(low, high), low, n_jobs))
        with lock:
            done += high - low
            if progress is not None:
                progress(done, p)

    run_blocks(pack_range, _unpacked_ranges(packed_ranges, p, codes.width), n_jobs)


def _unpacked_ranges(
    packed_ranges: list[tuple[int, int]], n_columns: int, width: int
) -> list[tuple[int, int]]:
    """Return ranges of the columns that are not packed yet, cut at multiples of `width`.

    Examples
    --------
    >>> _unpacked_ranges([(4, 6)], 9, 4)
    [(0, 4), (6, 8), (8, 9)]
    """
    ranges, end = [], 0
    for low, high in [*sorted(packed_ranges), (n_columns, n_columns)]:
        while end < low:
            stop = min(low, (end // width + 1) * width)
            ranges.append((end, stop))
            end = stop
        end = high
    return ranges


@dataclass(frozen=True)
class PackedColumns:
    """Columns ``low:high``: their information about the class, and their packed codes.

    Attributes
    ----------
    low, high : int
    mutual, entropy : int64 arrays
        n I(f; y) and n H(f), see :class:`featly.core.counts.entropy.ClassInformation`.
    class_entropy : int
    varies : bool array
    parts : list of BitPlanes and WideColumns
        Their columns are numbered from `low`. A column that does not vary is in none.
    """

    low: int
    high: int
    mutual: IntArray
    entropy: IntArray
    class_entropy: int
    varies: BoolArray
    parts: list[BitPlanes | WideColumns] = field(default_factory=list)

    def levels(self, feature: int) -> IntArray | None:
        """Return the level of every row in a column of the whole table; None if it is constant."""
        for part in self.parts:
            levels = part.levels(feature - self.low)
            if levels is not None:
                return levels
        return None

    def arrays(self) -> dict[str, AnyArray]:
        """Return these columns as arrays with names."""
        arrays: dict[str, AnyArray] = {
            "range": np.array([self.low, self.high, self.class_entropy], np.int64),
            "mutual": self.mutual,
            "entropy": self.entropy,
            "varies": self.varies,
        }
        for part in self.parts:
            kind = "planes" if isinstance(part, BitPlanes) else "wide"
            arrays |= {f"{kind}.{name}": array for name, array in part.arrays().items()}
        return arrays


@dataclass(frozen=True)
class Packing:
    """Rules for packing columns: against which classes, and with or without counts by class.

    Attributes
    ----------
    classes : int64 array
    n_classes : int
    by_class : bool
        Whether counts by class are wanted.
    pairs : int64 array or None
        See :class:`featly.core.counts.bitplanes.BitPlanes`.
    """

    classes: IntArray
    n_classes: int
    by_class: bool
    pairs: IntArray | None = None

    @property
    def layout(self) -> PlaneLayout:
        """Positions of the rows in a plane."""
        cached = self.__dict__.get("_layout")
        if cached is None:
            n = len(self.classes)
            inner = self.classes if self.by_class else np.zeros(n, np.int64)
            cached = PlaneLayout.from_classes(inner, self.n_classes if self.by_class else 1)
            self.__dict__["_layout"] = cached
        return cached

    def pack(self, codes: Codes, low: int, n_jobs: int | None) -> PackedColumns:
        """Pack columns whose first one is column `low` of the table."""
        n, layout = codes.n_rows, self.layout
        tables = codes.tables(self.classes, self.n_classes)
        information = class_information(tables, n, n_jobs)
        occupied = occupied_levels(tables)
        varies = occupied > 1
        # with many classes a word for each would be mostly empty
        many_classes = layout.n_words > MOST_PADDING * -(-n // 64)
        most = 1 if many_classes else MOST_LEVELS
        narrow = np.flatnonzero(varies & (occupied <= most))
        wide = np.flatnonzero(varies & (occupied > most))
        parts: list[BitPlanes | WideColumns] = []
        if len(narrow):
            parts.append(BitPlanes(codes, tables, narrow, layout, self.pairs, n_jobs))
        if len(wide):
            inner = (layout.classes, layout.n_classes)
            parts.append(WideColumns(codes.take(wide), wide, *inner, n_jobs))
        return PackedColumns(
            low,
            low + codes.n_features,
            information.mutual,
            information.entropy,
            int(information.class_entropy[0]),
            varies,
            parts,
        )

    def unpack(self, arrays: dict[str, AnyArray], n_jobs: int | None) -> PackedColumns:
        """Make the columns again from their arrays."""
        layout = self.layout
        parts: list[BitPlanes | WideColumns] = []
        arrays_by_kind: dict[str, dict[str, AnyArray]] = {"planes": {}, "wide": {}}
        for name, array in arrays.items():
            kind, _, array_name = name.partition(".")
            if array_name:
                arrays_by_kind[kind][array_name] = array
        if arrays_by_kind["planes"]:
            parts.append(
                BitPlanes.from_arrays(arrays_by_kind["planes"], layout, self.pairs, n_jobs)
            )
        if arrays_by_kind["wide"]:
            wide = arrays_by_kind["wide"]
            inner = (layout.classes, layout.n_classes)
            parts.append(WideColumns(wide["codes"], wide["features"], *inner, n_jobs))
        low, high, class_entropy = arrays["range"].tolist()
        statistics = (arrays["mutual"], arrays["entropy"], class_entropy, arrays["varies"])
        return PackedColumns(low, high, *statistics, parts)


class PackStore(Protocol):
    """A store for packed columns."""

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first column, and the one after the last, of each range already packed."""

    def put(self, columns: PackedColumns) -> None:
        """Store some columns; called by several threads."""

    def finish(self) -> list[PackedColumns]:
        """Return all of them, in any order."""

    def close(self) -> None:
        """Store no more; called whether or not the run succeeded."""


class MemoryPack:
    """Packed columns that stay in memory."""

    def __init__(self) -> None:
        self._columns: list[PackedColumns] = []

    def ranges(self) -> list[tuple[int, int]]:
        """Return no range: nothing is packed yet."""
        return []

    def put(self, columns: PackedColumns) -> None:
        """Store the columns."""
        self._columns.append(columns)

    def finish(self) -> list[PackedColumns]:
        """Return all of them."""
        return self._columns

    def close(self) -> None:
        """Do nothing."""
