"""Columns as the Relief family wants them: scaled numbers row by row, levels as bits, and gaps.

Two questions are asked of columns: how far rows are apart, summed over columns, and what every
column differs, summed over pairs of rows. No table of rows x rows x columns is ever made.

A gap differs from a value by what a value of its class is expected to ("conditional"; Kononenko,
I. (1994), Estimating attributes: analysis and extensions of RELIEF, *ECML-94*, 171-182), or by
what Weka takes ("weka").
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.kinds import CATEGORICAL
from featly.core.relief import relief_kernels as kernels
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import CSCSource, DenseSource, Source, StreamedSource

__all__ = ["Columns", "Layout", "Pairs", "columns_of", "padded"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Block = tuple[int, int]

TILE_COLUMNS = 512  # a strip of rows and a panel of rows of so many columns lie in a core's cache
CODE_COLUMNS = 2048
STRIP = 32  # rows of a task
WEIGHT_COLUMNS = 128  # columns of a task that sums over pairs
HELD_BYTES = 1 << 28  # scaled numbers up to this are kept, more are read again for every panel
SPARSE_BYTES = 1 << 25  # so much of a sparse table is dense at a time
GAP_BYTES = 1 << 23  # of a table of expected differences


def padded(count: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-count // step) * step


@dataclass(frozen=True)
class Layout:
    """The rows of a table sorted by class: row i here is row ``rows[i]`` there.

    Class c is ``bounds[c]:bounds[c + 1]``, and `y` says the same row by row.
    """

    rows: IntArray
    y: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, y: IntArray, n_classes: int) -> "Layout":
        """The layout of rows of these classes; rows of a class stay in their order."""
        rows = np.argsort(y, kind="stable")
        return cls(rows, y[rows], _starts(y, n_classes))

    def n_groups(self, missing: str) -> int:
        """In how many ways a gap may differ from a row: Weka does not look at classes."""
        return 1 if missing == "weka" else len(self.bounds) - 1


@dataclass(frozen=True)
class Pairs:
    """Which rows are compared: ``rows[r]`` with ``others[starts[r]:starts[r + 1]]``."""

    rows: IntArray
    starts: IntArray
    others: IntArray
    coefficients: FloatArray
    n_rows: int

    @cached_property
    def of_either(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Starts, others and coefficients of all rows; every pair is listed with both its rows."""
        firsts = np.repeat(self.rows, np.diff(self.starts))
        rows = np.concatenate([firsts, self.others])
        order = np.argsort(rows, kind="stable")
        others = np.concatenate([self.others, firsts])[order]
        return _starts(rows, self.n_rows), others, np.tile(self.coefficients, 2)[order]


def _starts(groups: IntArray, n_groups: int) -> IntArray:
    """Where each group starts when its members are sorted."""
    counts = np.bincount(groups, minlength=n_groups)
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


class Columns(ABC):
    """Columns of one kind. `rows` are the rows of a panel, None for all."""

    features: IntArray
    layout: Layout
    _held: list["Gaps"] | None = None

    def gaps(self) -> Iterable["Gaps"]:
        """Tables of what gaps are expected to differ, some columns at a time."""
        if self._held is not None:
            return self._held
        return self._made()

    def _made(self) -> Iterator["Gaps"]:
        held: list[Gaps] = []
        room = HELD_BYTES
        for gaps in self._gaps():
            room -= gaps.expected.nbytes
            held = [*held, gaps] if room >= 0 else []
            yield gaps
        if room >= 0:
            self._held = held

    @abstractmethod
    def _gaps(self) -> Iterator["Gaps"]:
        """Make those tables."""

    @abstractmethod
    def add_distances(self, total: FloatArray, rows: IntArray | None) -> Iterator[int]:
        """Add to the distances of `rows` to all rows; where `rows` is None, to later rows.

        Gaps are left out. Goes on as it is asked how many columns are done.
        """

    @abstractmethod
    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        """Add ``coefficient * difference`` of all pairs to ``out``, one a feature of the table."""


def columns_of(source: Source, layout: Layout, missing: str, n_jobs: int | None) -> list[Columns]:
    """The columns that vary, by kind; the others differ nowhere. `missing` is the rule for gaps."""
    assert isinstance(source, DenseSource | CSCSource | StreamedSource)
    found: list[Columns] = []
    numeric = np.flatnonzero(source.kinds != CATEGORICAL)
    if len(numeric):
        low, high, known = _extremes(source, n_jobs)
        place = source.place if isinstance(source, DenseSource) else source.columns
        varies = high[place[numeric]] > low[place[numeric]]
        gapped = known[place[numeric]] < source.n_rows
        for features, rule in (
            (numeric[varies & ~gapped], None),
            (numeric[varies & gapped], missing),
        ):
            if len(features):
                columns = place[features]
                tiles = _Tiles(source, columns, low[columns], high[columns], layout, n_jobs)
                found.append(Numbers(features, tiles, layout, rule, n_jobs))
    categorical = np.flatnonzero(source.kinds == CATEGORICAL)
    if len(categorical) and not isinstance(source, CSCSource):
        nominal = categorical
        if isinstance(source, StreamedSource):  # a byte a cell of these is held
            source, nominal = source.view(categorical).in_memory(), np.arange(len(categorical))
        codes = Codes(source, nominal, layout, missing, n_jobs)
        codes.features = (
            categorical[codes.features] if nominal is not categorical else codes.features
        )
        if len(codes.features):
            found.append(codes)
    return found


def _extremes(
    source: DenseSource | CSCSource | StreamedSource, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Smallest, largest and number of the values of every column of the storage."""
    if isinstance(source, StreamedSource):
        return _extremes_of_blocks(source)
    width = (source.matrix if isinstance(source, CSCSource) else source.values).shape[1]
    low, high, known = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)

    def one(block: Block) -> None:
        if isinstance(source, CSCSource):
            data, starts = source.matrix.data, source.matrix.indptr
            kernels.column_extremes_csc(data, starts, source.n_rows, *block, low, high, known)
        elif source.feature_major:
            kernels.column_extremes_of_columns(source.values.T, *block, low, high, known)
        else:
            kernels.column_extremes(source.values, *block, low, high, known)

    run_blocks(one, split(width, 1024), n_jobs)
    return low, high, known


def _extremes_of_blocks(source: StreamedSource) -> tuple[FloatArray, FloatArray, IntArray]:
    width = len(source.store.kinds)
    low, high, known = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)

    def one(part: DenseSource, places: Any) -> None:
        here = np.flatnonzero(part.kinds != CATEGORICAL)
        columns = source.columns[places][here]
        for out, found in zip((low, high, known), _extremes(part, 1), strict=True):
            out[columns] = found[part.place[here]]

    source.unscaled().each(one)
    return low, high, known


# ---- numbers --------------------------------------------------------------------------------
class _Tiles:
    """Columns scaled to 0..1, rows x up to `TILE_COLUMNS` of them, padded with zeros."""

    def __init__(
        self,
        source: DenseSource | CSCSource | StreamedSource,
        columns: IntArray,
        low: FloatArray,
        high: FloatArray,
        layout: Layout,
        n_jobs: int | None,
    ) -> None:
        self.source, self.columns, self.low, self.span = source, columns, low, high - low
        self.rows, self.n_jobs = layout.rows, n_jobs
        blocks = split(len(columns), TILE_COLUMNS)
        room = SPARSE_BYTES if isinstance(source, CSCSource) else HELD_BYTES
        if isinstance(source, StreamedSource):
            room = min(room, source.memory // 4)
        at_once = max(1, room // (8 * source.n_rows * TILE_COLUMNS))
        self.groups = [blocks[a:b] for a, b in split(len(blocks), at_once)]
        self.held: list[tuple[Block, FloatArray]] | None = None

    def __iter__(self) -> Iterator[list[tuple[Block, FloatArray]]]:
        """Blocks of columns with their tiles, as many at a time as may be held."""
        for group in self.groups:
            tiles = self.held or self._load(group)
            if len(self.groups) == 1:
                self.held = tiles
            yield tiles

    def _load(self, blocks: list[Block]) -> list[tuple[Block, FloatArray]]:
        n = self.source.n_rows
        shape = [(padded(n, 4), padded(high - low, 8)) for low, high in blocks]
        tiles = [(block, np.zeros(size)) for block, size in zip(blocks, shape, strict=True)]
        if isinstance(self.source, StreamedSource):
            for block, tile in tiles:
                self._stream(block, tile)
            return tiles

        def one(task: tuple[int, Block]) -> None:
            k, (begin, end) = task
            (low, high), tile = tiles[k]
            self._read(slice(begin, end), slice(low, high), tile[begin:end, : high - low])

        # a sparse matrix gives its columns whole
        at_once = n if isinstance(self.source, CSCSource) else 1024
        run_blocks(one, [(k, b) for k in range(len(tiles)) for b in split(n, at_once)], self.n_jobs)
        return tiles

    def _stream(self, block: Block, tile: FloatArray) -> None:
        """Fill a tile from a table on disk."""
        assert isinstance(self.source, StreamedSource)
        low, high = block
        part = self.source.of_columns(self.columns[low:high])
        place, known = part.place, (self.low[low:high], self.span[low:high])
        read = kernels.tile_from_columns if part.feature_major else kernels.tile_from_rows
        values = part.values.T if part.feature_major else part.values

        def one(rows: Block) -> None:
            taken = self.rows[slice(*rows)]
            read(values, taken, place, *known, tile[slice(*rows), : high - low])

        run_blocks(one, split(self.source.n_rows, 1024), self.n_jobs)

    def _read(self, rows: slice, part: slice, out: FloatArray) -> None:
        taken, columns = self.rows[rows], self.columns[part]
        low, span = self.low[part], self.span[part]
        assert not isinstance(self.source, StreamedSource)
        if isinstance(self.source, CSCSource):
            np.subtract(self.source.matrix[:, columns].toarray()[taken], low, out=out)
            out /= span
        elif self.source.feature_major:
            kernels.tile_from_columns(self.source.values.T, taken, columns, low, span, out)
        else:
            kernels.tile_from_rows(self.source.values, taken, columns, low, span, out)


class Numbers(Columns):
    """Continuous and ordinal columns; `missing` is None where they are complete."""

    def __init__(
        self,
        features: IntArray,
        tiles: _Tiles,
        layout: Layout,
        missing: str | None,
        n_jobs: int | None,
    ) -> None:
        self.features, self.tiles, self.layout = features, tiles, layout
        self.missing, self.n_jobs = missing, n_jobs

    def add_distances(self, total: FloatArray, rows: IntArray | None) -> Iterator[int]:
        for tiles in self.tiles:
            both = [(tile if rows is None else _some(tile, rows), tile) for _, tile in tiles]

            def strip(part: Block, both: list[tuple[FloatArray, FloatArray]] = both) -> None:
                begin = part[0] if rows is None else 0
                for these, tile in both:
                    kernels.number_distances(these, *part, tile, begin, total)

            run_blocks(strip, split(len(both[0][0]), STRIP), self.n_jobs)
            yield sum(high - low for (low, high), _ in tiles)

    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        for tiles in self.tiles:
            tasks = [
                (block[0], tile, part)
                for block, tile in tiles
                for part in split(block[1] - block[0], WEIGHT_COLUMNS)
            ]

            def one(task: tuple[int, FloatArray, Block]) -> None:
                first, tile, (low, high) = task
                summed = np.zeros(high - low)
                kernels.number_weights(
                    tile, low, high, pairs.starts, pairs.others, pairs.coefficients, pairs.rows,
                    summed,
                )  # fmt: skip
                out[self.features[first + low : first + high]] += summed

            run_blocks(one, tasks, self.n_jobs)

    def _gaps(self) -> Iterator["Gaps"]:
        if self.missing is None:
            return
        for tiles in self.tiles:
            for (first, last), tile in tiles:
                for low, high in split(last - first, _gap_columns(self.layout, self.missing)):
                    features = self.features[first + low : first + high]
                    gaps = Gaps(features, self.layout, self.missing, self.n_jobs)
                    gaps.fill(partial(self._expect, tile[:, low:high]))
                    yield gaps

    def _expect(
        self, tile: FloatArray, part: Block, expected: FloatArray, absent: npt.NDArray[np.bool_]
    ) -> None:
        values = np.ascontiguousarray(tile[: len(self.layout.y), slice(*part)].T)
        np.isnan(values, out=absent)
        if self.missing == "weka":
            np.maximum(values, 1 - values, out=expected[:, 0])
            expected[:, 0][absent] = 1 / 2
            return
        kernels.expected_numbers(values, np.argsort(values, axis=1), self.layout.y, expected)


def _some(tile: FloatArray, rows: IntArray) -> FloatArray:
    these = np.zeros((padded(len(rows), 4), tile.shape[1]))
    these[: len(rows)] = tile[rows]
    return these


# ---- categories -----------------------------------------------------------------------------
class Codes(Columns):
    """Categorical columns: bits of 64 at a time for distances, codes row by row for weights."""

    def __init__(
        self,
        source: DenseSource,
        features: IntArray,
        layout: Layout,
        missing: str,
        n_jobs: int | None,
    ) -> None:
        self.codes, self.layout, self.missing, self.n_jobs = source.codes, layout, missing, n_jobs
        width = len(self.codes)
        most, levels, gaps = (np.zeros(width, np.int64) for _ in range(3))
        run_blocks(
            lambda block: kernels.code_extents(self.codes, *block, most, levels, gaps),
            split(width, CODE_COLUMNS),
            n_jobs,
        )
        place = source.place[features]
        varies = levels[place] > 1
        # words of columns that need as many bits as each other
        order = np.argsort(most[place[varies]], kind="stable")
        self.features, self.place = features[varies][order], place[varies][order]
        self.most, self.levels, self.n_gaps = most, levels, gaps

    @cached_property
    def _planes(self) -> tuple[npt.NDArray[np.uint64], IntArray]:
        """Bits of the known cells and of the levels, and where the planes of each word start."""
        words = split(len(self.place), 64)
        bits = [int(self.most[self.place[high - 1]] - 1).bit_length() for _, high in words]
        starts = np.concatenate([[0], np.cumsum([1 + count for count in bits])])
        planes = np.zeros((starts[-1], len(self.layout.y)), np.uint64)

        def one(block: Block) -> None:
            kernels.code_planes(self.codes, self.layout.rows, self.place, starts, *block, planes)

        run_blocks(one, split(len(words), 16), self.n_jobs)
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
        def one(block: Block) -> None:
            columns, summed = self.place[slice(*block)], np.zeros(block[1] - block[0])
            tile = np.empty((len(self.layout.y), len(columns)), self.codes.dtype)
            kernels.code_rows(self.codes, self.layout.rows, columns, tile)
            kernels.code_weights(
                tile, pairs.starts, pairs.others, pairs.coefficients, pairs.rows, summed
            )
            out[self.features[slice(*block)]] += summed

        run_blocks(one, split(len(self.place), CODE_COLUMNS), self.n_jobs)

    def _gaps(self) -> Iterator["Gaps"]:
        gapped = np.flatnonzero(self.n_gaps[self.place])
        for low, high in split(len(gapped), _gap_columns(self.layout, self.missing)):
            some = gapped[low:high]
            gaps = Gaps(self.features[some], self.layout, self.missing, self.n_jobs)
            gaps.fill(partial(self._expect, self.place[some]))
            yield gaps

    def _expect(
        self, place: IntArray, part: Block, expected: FloatArray, absent: npt.NDArray[np.bool_]
    ) -> None:
        columns, rows = place[slice(*part)], self.layout.rows
        np.equal(self.codes[columns][:, rows], 0, out=absent)
        if self.missing == "weka":
            expected[:] = (1 - 1 / self.levels[columns])[:, None, None]
            expected[:, 0][absent] /= 2
            return
        most = self.most[columns].max()
        kernels.expected_codes(self.codes, rows, columns, most, self.layout.y, expected)


# ---- gaps -----------------------------------------------------------------------------------
def _gap_columns(layout: Layout, missing: str) -> int:
    """How many columns have room in a table of expected differences."""
    return max(1, GAP_BYTES // (8 * layout.n_groups(missing) * len(layout.y)))


class Gaps:
    """What gaps in some columns are expected to differ: ``expected[column, class, row]``.

    A row that has a gap itself counts half, since two such rows meet twice.
    """

    def __init__(
        self, features: IntArray, layout: Layout, missing: str, n_jobs: int | None
    ) -> None:
        self.features, self.n_jobs = features, n_jobs
        n, n_groups = len(layout.y), layout.n_groups(missing)
        self.groups = layout.y if n_groups > 1 else np.zeros(n, np.int64)
        self.expected = np.empty((len(features), n_groups, n))
        self.absent = np.empty((len(features), n), np.bool_)

    def fill(self, expect: Callable[[Block, FloatArray, npt.NDArray[np.bool_]], None]) -> None:
        """Fill both tables by ranges of columns: ``expect(range, expected, absent)``."""

        def one(part: Block) -> None:
            expect(part, self.expected[slice(*part)], self.absent[slice(*part)])

        run_blocks(one, split(len(self.features), 64), self.n_jobs)

    def add_distances(
        self, total: FloatArray, across: FloatArray | None, rows: IntArray | None
    ) -> None:
        """Add to `total` what the gaps of `rows` differ from all rows; None is all.

        And to `across`, which has a row for all and a column for each of `rows`, the reverse.
        """
        everyone = np.arange(len(self.groups))
        holders, columns = np.nonzero(self.absent.T)
        starts = _starts(holders, len(everyone))
        against = [(self.expected, everyone if rows is None else rows, total)]
        if across is not None:
            against.append((np.ascontiguousarray(self.expected[:, :, rows]), everyone, across))
        for expected, these, out in against:

            def strip(part: Block, expected=expected, these=these, out=out) -> None:  # type: ignore[no-untyped-def]
                kernels.gap_distances(expected, starts, columns, self.groups, these, *part, out)

            run_blocks(strip, split(len(these), STRIP), self.n_jobs)

    def add_weights(self, pairs: Pairs, out: FloatArray) -> None:
        """As :meth:`Columns.add_weights`, the gaps only."""
        columns, holders = np.nonzero(self.absent)
        starts = _starts(columns, len(self.features))
        summed, either = np.zeros(len(self.features)), pairs.of_either

        def one(part: Block) -> None:
            kernels.gap_weights(self.expected, starts, holders, self.groups, *either, *part, summed)

        run_blocks(one, split(len(self.features), 256), self.n_jobs)
        out[self.features] += summed
