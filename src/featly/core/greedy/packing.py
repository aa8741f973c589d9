"""Columns counted against the classes and packed for a greedy search, a range of them at a time.

A range is packed by itself: from a table in memory it is all columns, from one on disk as many as
are read at a time. What is packed may be kept in memory, or in a file
(:mod:`featly.core.greedy.cache`).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from featly.core.counts.bitpacking import Layout, occupied_levels
from featly.core.counts.bitplanes import MOST_LEVELS, BitPlanes
from featly.core.counts.codes import Codes, chosen
from featly.core.counts.entropy import class_information
from featly.core.counts.histograms import WideColumns
from featly.core.counts.streamed_codes import StreamedCodes, range_columns
from featly.core.runtime.parallel import run_blocks

__all__ = ["InMemory", "Keeper", "PackedColumns", "Packing", "packed_columns"]

IntArray = npt.NDArray[np.int64]

MOST_PADDING = 4  # times the words of a plane that words of one class each may take


def packed_columns(
    codes: Codes,
    packing: "Packing",
    keeper: "Keeper | None" = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> "list[PackedColumns]":
    """All columns, packed range by range and kept; what is kept already is not packed again.

    Ranges that were packed under another limit of memory have other bounds, and are as good.
    """
    keeper = keeper or InMemory()
    if not isinstance(codes, StreamedCodes) and isinstance(keeper, InMemory):
        return [packing.pack(codes, 0, n_jobs)]
    try:
        _pack_others(codes, packing, keeper, n_jobs, progress)
        found = keeper.finish()
    finally:
        keeper.close()  # threads may still be at work where Ctrl-C ended this
    return sorted(found, key=lambda part: part.low)


def _pack_others(
    codes: Codes,
    packing: "Packing",
    keeper: "Keeper",
    n_jobs: int | None,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Add the columns that are not there already."""
    p, there = codes.n_features, keeper.ranges()
    width = codes.width if isinstance(codes, StreamedCodes) else range_columns(codes.n_rows)
    done, lock = sum(high - low for low, high in there), threading.Lock()

    def one(part: tuple[int, int]) -> None:
        nonlocal done
        low, high = part
        if isinstance(codes, StreamedCodes):
            some = codes.part(low, high)
        else:
            some = chosen(codes, np.arange(low, high))
        keeper.keep(packing.pack(some, low, n_jobs))
        with lock:
            done += high - low
            if progress is not None:
                progress(done, p)

    run_blocks(one, _missing_ranges(there, p, width), n_jobs)


def _missing_ranges(
    there: list[tuple[int, int]], n_columns: int, width: int
) -> list[tuple[int, int]]:
    """Ranges of the columns that are in none of those there; they end where blocks end.

    Examples
    --------
    >>> _missing_ranges([(4, 6)], 9, 4)
    [(0, 4), (6, 8), (8, 9)]
    """
    ranges, end = [], 0
    for low, high in [*sorted(there), (n_columns, n_columns)]:
        while end < low:
            stop = min(low, (end // width + 1) * width)
            ranges.append((end, stop))
            end = stop
        end = high
    return ranges


@dataclass(frozen=True)
class PackedColumns:
    """Columns ``low:high``: what they tell about the class, and their packed codes.

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
    varies: npt.NDArray[np.bool_]
    parts: list[BitPlanes | WideColumns] = field(default_factory=list)

    def levels(self, feature: int) -> IntArray | None:
        """The level of every row in a column of the whole table; None of a constant one."""
        for part in self.parts:
            found = part.levels(feature - self.low)
            if found is not None:
                return found
        return None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays with names."""
        found: dict[str, npt.NDArray[Any]] = {
            "range": np.array([self.low, self.high, self.class_entropy], np.int64),
            "mutual": self.mutual,
            "entropy": self.entropy,
            "varies": self.varies,
        }
        for part in self.parts:
            kind = "planes" if isinstance(part, BitPlanes) else "wide"
            found |= {f"{kind}.{name}": array for name, array in part.arrays().items()}
        return found


@dataclass(frozen=True)
class Packing:
    """How columns are packed: against which classes, and for which questions.

    Attributes
    ----------
    classes : int64 array
    n_classes : int
    by_class : bool
        Whether counts within classes are wanted.
    pairs : int64 array or None
        See :class:`featly.core.counts.bitplanes.BitPlanes`.
    """

    classes: IntArray
    n_classes: int
    by_class: bool
    pairs: IntArray | None = None

    @property
    def layout(self) -> Layout:
        """Where rows lie in a plane."""
        cached = self.__dict__.get("_layout")
        if cached is None:
            n = len(self.classes)
            inner = self.classes if self.by_class else np.zeros(n, np.int64)
            cached = Layout.of(inner, self.n_classes if self.by_class else 1)
            self.__dict__["_layout"] = cached
        return cached

    def pack(self, codes: Codes, low: int, n_jobs: int | None) -> PackedColumns:
        """Columns whose first one is column `low` of the table."""
        n, layout = codes.n_rows, self.layout
        tables = codes.tables(self.classes, self.n_classes)
        told = class_information(tables, n, n_jobs)
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
            told.mutual,
            told.entropy,
            int(told.class_entropy[0]),
            varies,
            parts,
        )

    def unpack(self, arrays: dict[str, npt.NDArray[Any]], n_jobs: int | None) -> PackedColumns:
        """The columns again from their arrays."""
        layout = self.layout
        parts: list[BitPlanes | WideColumns] = []
        named: dict[str, dict[str, npt.NDArray[Any]]] = {"planes": {}, "wide": {}}
        for name, array in arrays.items():
            kind, _, rest = name.partition(".")
            if rest:
                named[kind][rest] = array
        if named["planes"]:
            parts.append(BitPlanes.stored(named["planes"], layout, self.pairs, n_jobs))
        if named["wide"]:
            wide = named["wide"]
            inner = (layout.classes, layout.n_classes)
            parts.append(WideColumns(wide["codes"], wide["features"], *inner, n_jobs))
        low, high, class_entropy = arrays["range"].tolist()
        known = (arrays["mutual"], arrays["entropy"], class_entropy, arrays["varies"])
        return PackedColumns(low, high, *known, parts)


class Keeper(Protocol):
    """Where packed columns are kept."""

    def ranges(self) -> list[tuple[int, int]]:
        """The first column, and the one behind the last, of what is there already."""

    def keep(self, columns: PackedColumns) -> None:
        """Take some columns; called by several threads."""

    def finish(self) -> list[PackedColumns]:
        """All of them, in any order."""

    def close(self) -> None:
        """Nothing more is kept, whatever became of it."""


class InMemory:
    """Packed columns stay where they are."""

    def __init__(self) -> None:
        self._held: list[PackedColumns] = []

    def ranges(self) -> list[tuple[int, int]]:
        """None yet."""
        return []

    def keep(self, columns: PackedColumns) -> None:
        """Hold on to them."""
        self._held.append(columns)

    def finish(self) -> list[PackedColumns]:
        """All of them."""
        return self._held

    def close(self) -> None:
        """Nothing to do."""
