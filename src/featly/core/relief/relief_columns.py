"""Columns for the Relief family: scaled numbers row by row, levels as bits, missing values.

Two sums are computed: the distances of rows, summed over columns, and the differences of every
column, summed over pairs of rows. No array of rows x rows x columns is ever made.

The difference of a missing value from another is the expected difference of a value of its class
("conditional"; Kononenko, I. (1994), Estimating attributes: analysis and extensions of RELIEF,
*ECML-94*, 171-182), or the difference of Weka ("weka").
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from featly.core.relief import relief_kernels as kernels
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.sources import CSCSource, DenseSource, Source, StreamedSource

__all__ = ["ClassOrder", "Columns", "Pairs", "Scaling", "build_columns", "fill_tiles",
           "find_extremes", "round_up", "tile_bytes"]  # fmt: skip

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
    column_sets: list[Columns] = []
    numeric = np.flatnonzero(source.kinds != CATEGORICAL)
    if len(numeric):
        low, high, known = find_extremes(source, numeric, n_jobs)
        varies, incomplete = high > low, known < source.n_rows
        for chosen, rule in ((varies & ~incomplete, None), (varies & incomplete, missing)):
            if chosen.any():
                scaling = Scaling(numeric[chosen], class_order.rows, low[chosen], high[chosen])
                tiles = _Tiles(source, scaling, n_jobs)
                column_sets.append(NumberColumns(numeric[chosen], tiles, class_order, rule, n_jobs))
    categorical = np.flatnonzero(source.kinds == CATEGORICAL)
    if len(categorical):
        codes = source.level_codes(categorical)  # those of a table on disk: one byte a cell
        columns = CodeColumns(codes, categorical, class_order, missing, n_jobs)
        if len(columns.features):
            column_sets.append(columns)
    return column_sets


@question
def find_extremes(
    source: Any, numeric: IntArray, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the smallest value, the largest and their number, of columns of numbers."""
    width = source.values.shape[1]

    def scan_block(block: Block, *out: AnyArray) -> None:
        if source.feature_major:
            kernels.column_extremes_by_column(source.values.T, *block, *out)
        else:
            kernels.column_extremes(source.values, *block, *out)

    return _scan_extremes(scan_block, width, source.place[numeric], n_jobs)


@find_extremes.answer(CSCSource)
def _sparse_extremes(
    source: CSCSource, numeric: IntArray, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Look at what is stored; other values are 0."""
    matrix = source.matrix

    def scan_block(block: Block, *out: AnyArray) -> None:
        kernels.column_extremes_csc(matrix.data, matrix.indptr, source.n_rows, *block, *out)

    return _scan_extremes(scan_block, matrix.shape[1], source.columns[numeric], n_jobs)


@find_extremes.answer(StreamedSource)
def _streamed_extremes(
    source: StreamedSource, numeric: IntArray, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Look at block after block."""
    p = source.n_features
    out = np.full(p, np.inf), np.full(p, -np.inf), np.zeros(p, np.int64)

    def scan_part(part: DenseSource, selection: Any) -> None:
        numbers = np.flatnonzero(part.kinds != CATEGORICAL)
        positions = np.arange(p)[selection][numbers]
        for target, extremes in zip(out, find_extremes(part, numbers, 1), strict=True):
            target[positions] = extremes

    source.without_scaling().each(scan_part)
    low, high, known = out
    return low[numeric], high[numeric], known[numeric]


def _scan_extremes(
    scan_block: Callable[..., None], width: int, columns: IntArray, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Scan all columns of a matrix, and return the extremes of some."""
    low, high, known = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)
    run_blocks(lambda block: scan_block(block, low, high, known), split(width, 1024), n_jobs)
    return low[columns], high[columns], known[columns]


# ---- numbers --------------------------------------------------------------------------------
@dataclass(frozen=True)
class Scaling:
    """Columns of numbers, the order of their rows, and the values that become 0 and 1."""

    features: IntArray
    rows: IntArray
    low: FloatArray
    high: FloatArray

    def part(self, block: Block) -> "Scaling":
        """Return that of a range of the columns."""
        low, high = block
        return Scaling(self.features[low:high], self.rows, self.low[low:high], self.high[low:high])

    @property
    def span(self) -> FloatArray:
        """The length that becomes 1."""
        return self.high - self.low


Tile = tuple[Block, FloatArray]


@question
def tile_bytes(source: Source) -> int:
    """Return the bytes of tiles that are kept at a time."""
    return CACHE_BYTES


@tile_bytes.answer(CSCSource)
def _sparse_tile_bytes(source: CSCSource) -> int:
    """Return less: what is sparse is not made dense at once."""
    return SPARSE_BYTES


@tile_bytes.answer(StreamedSource)
def _streamed_tile_bytes(source: StreamedSource) -> int:
    """Return no more than a share of the memory budget."""
    return min(CACHE_BYTES, source.memory // 4)


@question
def fill_tiles(source: Any, scaling: Scaling, tiles: list[Tile], n_jobs: int | None) -> None:
    """Fill tiles with the scaled values of their columns."""
    _fill_dense([(source, scaling.part(block), tile) for block, tile in tiles], n_jobs)


@fill_tiles.answer(StreamedSource)
def _fill_streamed(
    source: StreamedSource, scaling: Scaling, tiles: list[Tile], n_jobs: int | None
) -> None:
    """Read the columns of each tile, and fill it from those in memory."""
    for block, tile in tiles:
        scaled = scaling.part(block)
        part = source.take_store_columns(source.columns[scaled.features])
        in_part = replace(scaled, features=np.arange(len(scaled.features)))
        _fill_dense([(part, in_part, tile)], n_jobs)


@fill_tiles.answer(CSCSource)
def _fill_sparse(
    source: CSCSource, scaling: Scaling, tiles: list[Tile], n_jobs: int | None
) -> None:
    """Make the columns of a tile dense: those of a sparse matrix are read whole."""

    def fill_tile(tile: Tile) -> None:
        scaled, values = scaling.part(tile[0]), tile[1]
        out = values[: source.n_rows, : len(scaled.features)]
        dense = source.matrix[:, source.columns[scaled.features]].toarray()
        np.subtract(dense[scaled.rows], scaled.low, out=out)
        out /= scaled.span

    run_blocks(fill_tile, tiles, n_jobs)


def _fill_dense(parts: list[tuple[DenseSource, Scaling, FloatArray]], n_jobs: int | None) -> None:
    """Fill tiles from columns in memory, by ranges of rows."""

    def fill_rows(task: tuple[DenseSource, Scaling, FloatArray, Block]) -> None:
        source, scaling, tile, rows = task
        read = kernels.tile_from_columns if source.feature_major else kernels.tile_from_rows
        values = source.values.T if source.feature_major else source.values
        table_rows, columns = scaling.rows[slice(*rows)], source.place[scaling.features]
        out = tile[slice(*rows), : len(columns)]
        read(values, table_rows, columns, scaling.low, scaling.span, out)

    tasks = [(*part, rows) for part in parts for rows in split(part[0].n_rows, 1024)]
    run_blocks(fill_rows, tasks, n_jobs)


class _Tiles:
    """Columns scaled to 0..1: tiles of all rows by up to `TILE_COLUMNS`, padded with zeros."""

    def __init__(self, source: Source, scaling: Scaling, n_jobs: int | None) -> None:
        self.source: Source = source
        self.scaling: Scaling = scaling
        self.n_jobs: int | None = n_jobs
        blocks = split(len(scaling.features), TILE_COLUMNS)
        at_once = max(1, tile_bytes(source) // (8 * source.n_rows * TILE_COLUMNS))
        self.groups: list[list[Block]] = [blocks[a:b] for a, b in split(len(blocks), at_once)]
        self.cache: list[Tile] | None = None

    def __iter__(self) -> Iterator[list[Tile]]:
        """Yield blocks of columns with their tiles, as many at a time as memory allows."""
        for group in self.groups:
            tiles = self.cache or self._load(group)
            if len(self.groups) == 1:
                self.cache = tiles
            yield tiles

    def _load(self, blocks: list[Block]) -> list[Tile]:
        n = round_up(self.source.n_rows, 4)
        tiles = [((low, high), np.zeros((n, round_up(high - low, 8)))) for low, high in blocks]
        fill_tiles(self.source, self.scaling, tiles, self.n_jobs)
        return tiles


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
        codes: AnyArray,
        features: IntArray,
        class_order: ClassOrder,
        missing: str,
        n_jobs: int | None,
    ) -> None:
        self.codes, self.class_order, self.missing, self.n_jobs = (
            codes,
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
        varying = np.flatnonzero(levels > 1)
        # columns of one word need similar numbers of bits
        self.place = varying[np.argsort(most[varying], kind="stable")]
        self.features = features[self.place]
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
