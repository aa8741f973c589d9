"""Columns for the Relief family: scaled numbers row by row, levels as bits, missing values.

Two sums are computed: the distances of rows, summed over columns, and the differences of every
column, summed over pairs of rows. No array of rows x rows x columns is ever made.

The difference of a missing value from another is the expected difference of a value of its class
("conditional"; Kononenko, I. (1994), Estimating attributes: analysis and extensions of RELIEF,
*ECML-94*, 171-182), or the difference of Weka ("weka").
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from featly.core.relief import relief_kernels as kernels
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import CSCSource, DenseSource, Source, StreamedSource

__all__ = ["ClassOrder", "Columns", "Pairs", "build_columns", "round_up"]

Block = tuple[int, int]

TILE_COLUMNS = 512  # a strip and a panel of rows of so many columns fit into the cache of a core
CODE_COLUMNS = 2048
STRIP = 32  # rows of a task
WEIGHT_COLUMNS = 128  # columns of a task that sums over pairs
CACHE_BYTES = 1 << 28  # scaled numbers up to this are cached; more are read again for every panel
SPARSE_BYTES = 1 << 25  # dense numbers of a sparse table at a time
MISSING_BYTES = 1 << 23  # of a table of expected differences


def round_up(count: int, step: int) -> int:
    """Round `count` up to a multiple of `step`."""
    return -(-count // step) * step


@dataclass(frozen=True)
class ClassOrder:
    """Rows of a table sorted by class: sorted row i is row ``rows[i]`` of the table.

    Class c is the sorted rows ``bounds[c]:bounds[c + 1]``, and `y` holds the class of each.
    """

    rows: IntArray
    y: IntArray
    bounds: IntArray

    @classmethod
    def from_labels(cls, y: IntArray, n_classes: int) -> "ClassOrder":
        """Sort rows by class; rows of a class keep their order."""
        rows = np.argsort(y, kind="stable")
        return cls(rows, y[rows], _group_starts(y, n_classes))

    def n_groups(self, missing: str) -> int:
        """Return how many expected differences a row has: one a class; Weka ignores classes."""
        return 1 if missing == "weka" else len(self.bounds) - 1


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows to compare: ``rows[r]`` with ``others[starts[r]:starts[r + 1]]``."""

    rows: IntArray
    starts: IntArray
    others: IntArray
    coefficients: FloatArray
    n_rows: int

    @cached_property
    def by_either_row(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Starts, others and coefficients of all rows; every pair is listed with both rows."""
        firsts = np.repeat(self.rows, np.diff(self.starts))
        rows = np.concatenate([firsts, self.others])
        order = np.argsort(rows, kind="stable")
        others = np.concatenate([self.others, firsts])[order]
        return _group_starts(rows, self.n_rows), others, np.tile(self.coefficients, 2)[order]


def _group_starts(groups: IntArray, n_groups: int) -> IntArray:
    """Return the start of each group when its members are sorted."""
    counts = np.bincount(groups, minlength=n_groups)
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


class Columns(ABC):
    """Columns of one kind. `rows` are the rows of a panel, None for all."""

    features: IntArray
    class_order: ClassOrder
    _cached_terms: list["MissingTerms"] | None = None

    def missing_terms(self) -> Iterable["MissingTerms"]:
        """Yield tables of expected differences of missing values, some columns at a time."""
        if self._cached_terms is not None:
            return self._cached_terms
        return self._iterate_terms()

    def _iterate_terms(self) -> Iterator["MissingTerms"]:
        cached: list[MissingTerms] = []
        memory_left = CACHE_BYTES
        for terms in self._make_terms():
            memory_left -= terms.expected.nbytes
            cached = [*cached, terms] if memory_left >= 0 else []
            yield terms
        if memory_left >= 0:
            self._cached_terms = cached

    @abstractmethod
    def _make_terms(self) -> Iterator["MissingTerms"]:
        """Make the tables of expected differences, some columns at a time."""

    @abstractmethod
    def add_distances(self, total: FloatArray, rows: IntArray | None) -> Iterator[int]:
        """Add to the distances of `rows` to all rows; if `rows` is None, of each row to later rows.

        Missing values are left out. Yields the number of columns that each step has added.
        """

    @abstractmethod
    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        """Add ``coefficient * difference`` of all pairs to `out`, an entry a feature."""


def build_columns(
    source: Source, class_order: ClassOrder, missing: str, n_jobs: int | None
) -> list[Columns]:
    """Group the columns that vary by kind; `missing` is the rule for missing values."""
    assert isinstance(source, DenseSource | CSCSource | StreamedSource)
    column_sets: list[Columns] = []
    numeric = np.flatnonzero(source.kinds != CATEGORICAL)
    if len(numeric):
        low, high, known = _find_extremes(source, n_jobs)
        position = source.place if isinstance(source, DenseSource) else source.columns
        varies = high[position[numeric]] > low[position[numeric]]
        incomplete = known[position[numeric]] < source.n_rows
        for features, rule in (
            (numeric[varies & ~incomplete], None),
            (numeric[varies & incomplete], missing),
        ):
            if len(features):
                columns = position[features]
                tiles = _Tiles(source, columns, low[columns], high[columns], class_order, n_jobs)
                column_sets.append(NumberColumns(features, tiles, class_order, rule, n_jobs))
    categorical = np.flatnonzero(source.kinds == CATEGORICAL)
    if len(categorical) and not isinstance(source, CSCSource):
        nominal = categorical
        if isinstance(source, StreamedSource):  # their codes are loaded: one byte a cell
            source, nominal = source.view(categorical).copy_to_memory(), np.arange(len(categorical))
        codes = CodeColumns(source, nominal, class_order, missing, n_jobs)
        codes.features = (
            categorical[codes.features] if nominal is not categorical else codes.features
        )
        if len(codes.features):
            column_sets.append(codes)
    return column_sets


def _find_extremes(
    source: DenseSource | CSCSource | StreamedSource, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the smallest value, the largest and their number, of every column of the storage."""
    if isinstance(source, StreamedSource):
        return _extremes_of_blocks(source)
    width = (source.matrix if isinstance(source, CSCSource) else source.values).shape[1]
    low, high, known = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)

    def scan_block(block: Block) -> None:
        if isinstance(source, CSCSource):
            data, starts = source.matrix.data, source.matrix.indptr
            kernels.column_extremes_csc(data, starts, source.n_rows, *block, low, high, known)
        elif source.feature_major:
            kernels.column_extremes_by_column(source.values.T, *block, low, high, known)
        else:
            kernels.column_extremes(source.values, *block, low, high, known)

    run_blocks(scan_block, split(width, 1024), n_jobs)
    return low, high, known


def _extremes_of_blocks(source: StreamedSource) -> tuple[FloatArray, FloatArray, IntArray]:
    width = len(source.store.kinds)
    low, high, known = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)

    def scan_part(part: DenseSource, selection: Any) -> None:
        numeric = np.flatnonzero(part.kinds != CATEGORICAL)
        columns = source.columns[selection][numeric]
        for out, extremes in zip((low, high, known), _find_extremes(part, 1), strict=True):
            out[columns] = extremes[part.place[numeric]]

    source.without_scaling().each(scan_part)
    return low, high, known


# ---- numbers --------------------------------------------------------------------------------
class _Tiles:
    """Columns scaled to 0..1: tiles of all rows by up to `TILE_COLUMNS`, padded with zeros."""

    n_jobs: int | None
    rows: IntArray
    span: FloatArray
    low: FloatArray
    columns: IntArray
    source: DenseSource | CSCSource | StreamedSource

    def __init__(
        self,
        source: DenseSource | CSCSource | StreamedSource,
        columns: IntArray,
        low: FloatArray,
        high: FloatArray,
        class_order: ClassOrder,
        n_jobs: int | None,
    ) -> None:
        self.source, self.columns, self.low, self.span = source, columns, low, high - low
        self.rows, self.n_jobs = class_order.rows, n_jobs
        blocks = split(len(columns), TILE_COLUMNS)
        memory_budget = SPARSE_BYTES if isinstance(source, CSCSource) else CACHE_BYTES
        if isinstance(source, StreamedSource):
            memory_budget = min(memory_budget, source.memory // 4)
        at_once = max(1, memory_budget // (8 * source.n_rows * TILE_COLUMNS))
        self.groups: list[list[tuple[int, int]]] = [
            blocks[a:b] for a, b in split(len(blocks), at_once)
        ]
        self.cache: list[tuple[Block, FloatArray]] | None = None

    def __iter__(self) -> Iterator[list[tuple[Block, FloatArray]]]:
        """Yield blocks of columns with their tiles, as many at a time as memory allows."""
        for group in self.groups:
            tiles = self.cache or self._load(group)
            if len(self.groups) == 1:
                self.cache = tiles
            yield tiles

    def _load(self, blocks: list[Block]) -> list[tuple[Block, FloatArray]]:
        n = self.source.n_rows
        shape = [(round_up(n, 4), round_up(high - low, 8)) for low, high in blocks]
        tiles = [(block, np.zeros(size)) for block, size in zip(blocks, shape, strict=True)]
        if isinstance(self.source, StreamedSource):
            for block, tile in tiles:
                self._stream(block, tile)
            return tiles

        def fill_tile(task: tuple[int, Block]) -> None:
            k, (begin, end) = task
            (low, high), tile = tiles[k]
            self._read(slice(begin, end), slice(low, high), tile[begin:end, : high - low])

        # columns of a sparse matrix are read whole
        at_once = n if isinstance(self.source, CSCSource) else 1024
        run_blocks(
            fill_tile, [(k, b) for k in range(len(tiles)) for b in split(n, at_once)], self.n_jobs
        )
        return tiles

    def _stream(self, block: Block, tile: FloatArray) -> None:
        """Fill a tile from a table on disk."""
        assert isinstance(self.source, StreamedSource)
        low, high = block
        part = self.source.take_store_columns(self.columns[low:high])
        columns, scaling = part.place, (self.low[low:high], self.span[low:high])
        read = kernels.tile_from_columns if part.feature_major else kernels.tile_from_rows
        values = part.values.T if part.feature_major else part.values

        def fill_rows(rows: Block) -> None:
            table_rows = self.rows[slice(*rows)]
            read(values, table_rows, columns, *scaling, tile[slice(*rows), : high - low])

        run_blocks(fill_rows, split(self.source.n_rows, 1024), self.n_jobs)

    def _read(self, rows: slice, part: slice, out: FloatArray) -> None:
        table_rows, columns = self.rows[rows], self.columns[part]
        low, span = self.low[part], self.span[part]
        assert not isinstance(self.source, StreamedSource)
        if isinstance(self.source, CSCSource):
            np.subtract(self.source.matrix[:, columns].toarray()[table_rows], low, out=out)
            out /= span
        elif self.source.feature_major:
            kernels.tile_from_columns(self.source.values.T, table_rows, columns, low, span, out)
        else:
            kernels.tile_from_rows(self.source.values, table_rows, columns, low, span, out)


class NumberColumns(Columns):
    """Continuous and ordinal columns; `missing` is None if no value is missing."""

    n_jobs: int | None
    missing: str | None
    class_order: ClassOrder
    tiles: _Tiles
    features: IntArray

    def __init__(
        self,
        features: IntArray,
        tiles: _Tiles,
        class_order: ClassOrder,
        missing: str | None,
        n_jobs: int | None,
    ) -> None:
        self.features, self.tiles, self.class_order = features, tiles, class_order
        self.missing, self.n_jobs = missing, n_jobs

    def add_distances(self, total: FloatArray, rows: IntArray | None) -> Iterator[int]:
        for tiles in self.tiles:
            tile_pairs = [
                (tile if rows is None else _take_padded(tile, rows), tile) for _, tile in tiles
            ]

            def strip(
                part: Block, tile_pairs: list[tuple[FloatArray, FloatArray]] = tile_pairs
            ) -> None:
                begin = part[0] if rows is None else 0
                for these, tile in tile_pairs:
                    kernels.number_distances(these, *part, tile, begin, total)

            run_blocks(strip, split(len(tile_pairs[0][0]), STRIP), self.n_jobs)
            yield sum(high - low for (low, high), _ in tiles)

    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        for tiles in self.tiles:
            tasks = [
                (block[0], tile, part)
                for block, tile in tiles
                for part in split(block[1] - block[0], WEIGHT_COLUMNS)
            ]

            def add_columns(task: tuple[int, FloatArray, Block]) -> None:
                first, tile, (low, high) = task
                summed = np.zeros(high - low)
                kernels.number_weights(
                    tile, low, high, pairs.starts, pairs.others, pairs.coefficients, pairs.rows,
                    summed,
                )  # fmt: skip
                out[self.features[first + low : first + high]] += summed

            run_blocks(add_columns, tasks, self.n_jobs)

    def _make_terms(self) -> Iterator["MissingTerms"]:
        if self.missing is None:
            return
        for tiles in self.tiles:
            for (first, last), tile in tiles:
                for low, high in split(
                    last - first, _columns_per_block(self.class_order, self.missing)
                ):
                    features = self.features[first + low : first + high]
                    terms = MissingTerms(features, self.class_order, self.missing, self.n_jobs)
                    terms.fill(partial(self._expect, tile[:, low:high]))
                    yield terms

    def _expect(
        self, tile: FloatArray, part: Block, expected: FloatArray, absent: BoolArray
    ) -> None:
        values = np.ascontiguousarray(tile[: len(self.class_order.y), slice(*part)].T)
        np.isnan(values, out=absent)
        if self.missing == "weka":
            np.maximum(values, 1 - values, out=expected[:, 0])
            expected[:, 0][absent] = 1 / 2
            return
        kernels.expected_numbers(values, np.argsort(values, axis=1), self.class_order.y, expected)


def _take_padded(tile: FloatArray, rows: IntArray) -> FloatArray:
    these = np.zeros((round_up(len(rows), 4), tile.shape[1]))
    these[: len(rows)] = tile[rows]
    return these


# ---- categories -----------------------------------------------------------------------------
class CodeColumns(Columns):
    """Categorical columns: bits of 64 columns in a word for distances, codes for weights."""

    n_missing: IntArray
    levels: IntArray
    most: IntArray
    place: IntArray
    features: IntArray
    n_jobs: int | None
    missing: str
    class_order: ClassOrder
    codes: AnyArray

    def __init__(
        self,
        source: DenseSource,
        features: IntArray,
        class_order: ClassOrder,
        missing: str,
        n_jobs: int | None,
    ) -> None:
        self.codes, self.class_order, self.missing, self.n_jobs = (
            source.codes,
            class_order,
            missing,
            n_jobs,
        )
        width = len(self.codes)
        most, levels, missing_counts = (np.zeros(width, np.int64) for _ in range(3))
        run_blocks(
            lambda block: kernels.code_extents(self.codes, *block, most, levels, missing_counts),
            split(width, CODE_COLUMNS),
            n_jobs,
        )
        place = source.place[features]
        varies = levels[place] > 1
        # columns of one word need similar numbers of bits
        order = np.argsort(most[place[varies]], kind="stable")
        self.features, self.place = features[varies][order], place[varies][order]
        self.most, self.levels, self.n_missing = most, levels, missing_counts

    @cached_property
    def _planes(self) -> tuple[WordArray, IntArray]:
        """Bits of the known cells and of the levels, and the first plane of each word."""
        words = split(len(self.place), 64)
        bits = [int(self.most[self.place[high - 1]] - 1).bit_length() for _, high in words]
        starts = np.concatenate([[0], np.cumsum([1 + count for count in bits])])
        planes = np.zeros((starts[-1], len(self.class_order.y)), np.uint64)

        def fill_words(block: Block) -> None:
            kernels.code_planes(
                self.codes, self.class_order.rows, self.place, starts, *block, planes
            )

        run_blocks(fill_words, split(len(words), 16), self.n_jobs)
        return planes, starts

    def add_distances(self, total: FloatArray, rows: IntArray | None) -> Iterator[int]:
        planes, starts = self._planes
        triangle = rows is None
        these = np.arange(planes.shape[1]) if rows is None else rows

        def strip(part: Block) -> None:
            kernels.plane_distances(planes, starts, these, *part, triangle, total)

        run_blocks(strip, split(len(these), STRIP), self.n_jobs)
        yield len(self.features)

    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        def add_columns(block: Block) -> None:
            columns, summed = self.place[slice(*block)], np.zeros(block[1] - block[0])
            tile = np.empty((len(self.class_order.y), len(columns)), self.codes.dtype)
            kernels.code_rows(self.codes, self.class_order.rows, columns, tile)
            kernels.code_weights(
                tile, pairs.starts, pairs.others, pairs.coefficients, pairs.rows, summed
            )
            out[self.features[slice(*block)]] += summed

        run_blocks(add_columns, split(len(self.place), CODE_COLUMNS), self.n_jobs)

    def _make_terms(self) -> Iterator["MissingTerms"]:
        incomplete = np.flatnonzero(self.n_missing[self.place])
        for low, high in split(len(incomplete), _columns_per_block(self.class_order, self.missing)):
            columns = incomplete[low:high]
            terms = MissingTerms(
                self.features[columns], self.class_order, self.missing, self.n_jobs
            )
            terms.fill(partial(self._expect, self.place[columns]))
            yield terms

    def _expect(
        self, place: IntArray, part: Block, expected: FloatArray, absent: BoolArray
    ) -> None:
        columns, rows = place[slice(*part)], self.class_order.rows
        np.equal(self.codes[columns][:, rows], 0, out=absent)
        if self.missing == "weka":
            expected[:] = (1 - 1 / self.levels[columns])[:, None, None]
            expected[:, 0][absent] /= 2
            return
        most = self.most[columns].max()
        kernels.expected_codes(self.codes, rows, columns, most, self.class_order.y, expected)


# ---- missing values -------------------------------------------------------------------------
def _columns_per_block(class_order: ClassOrder, missing: str) -> int:
    """Return how many columns fit into a table of expected differences."""
    return max(1, MISSING_BYTES // (8 * class_order.n_groups(missing) * len(class_order.y)))


class MissingTerms:
    """Expected differences of missing values in some columns: ``expected[column, class, row]``.

    A row whose own value is missing counts half, since two such rows are compared twice.
    """

    n_jobs: int | None
    features: IntArray

    def __init__(
        self, features: IntArray, class_order: ClassOrder, missing: str, n_jobs: int | None
    ) -> None:
        self.features, self.n_jobs = features, n_jobs
        n, n_groups = len(class_order.y), class_order.n_groups(missing)
        self.groups: IntArray = class_order.y if n_groups > 1 else np.zeros(n, np.int64)
        self.expected: FloatArray = np.empty((len(features), n_groups, n))
        self.absent: BoolArray = np.empty((len(features), n), np.bool_)

    def fill(self, expect: Callable[[Block, FloatArray, BoolArray], None]) -> None:
        """Fill both tables by ranges of columns: ``expect(range, expected, absent)``."""

        def fill_columns(part: Block) -> None:
            expect(part, self.expected[slice(*part)], self.absent[slice(*part)])

        run_blocks(fill_columns, split(len(self.features), 64), self.n_jobs)

    def add_distances(
        self, total: FloatArray, across: FloatArray | None, rows: IntArray | None
    ) -> None:
        """Add the differences of the missing values of `rows` from all rows to `total`.

        `rows` None means all. The differences of the missing values of all rows from `rows` are
        added to `across`, which has a row for every row and a column for each of `rows`.
        """
        all_rows = np.arange(len(self.groups))
        holders, columns = np.nonzero(self.absent.T)
        starts = _group_starts(holders, len(all_rows))
        against = [(self.expected, all_rows if rows is None else rows, total)]
        if across is not None:
            against.append((np.ascontiguousarray(self.expected[:, :, rows]), all_rows, across))
        for expected, these, out in against:

            def strip(part: Block, expected=expected, these=these, out=out) -> None:  # type: ignore[no-untyped-def]
                kernels.missing_distances(expected, starts, columns, self.groups, these, *part, out)

            run_blocks(strip, split(len(these), STRIP), self.n_jobs)

    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        """Add to weights as :meth:`Columns.add_weights` does, for the missing values only."""
        columns, holders = np.nonzero(self.absent)
        starts = _group_starts(columns, len(self.features))
        summed, either = np.zeros(len(self.features)), pairs.by_either_row

        def add_columns(part: Block) -> None:
            kernels.missing_weights(
                self.expected, starts, holders, self.groups, *either, *part, summed
            )

        run_blocks(add_columns, split(len(self.features), 256), self.n_jobs)
        out[self.features] += summed
