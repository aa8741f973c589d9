"""Codes of columns on disk: a range of them is coded when it is read.

Cut points are learnt when a range is read for the first time, and cached. Empty levels may differ
between a range and a table in memory; no count depends on them.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import Codes, DenseCodes, range_columns, select_columns
from featly.core.counts.contingency import Tables
from featly.core.counts.discretise import CutRule, Cuts, cut_codes, learn_cuts
from featly.core.counts.uncertainty import uncertainty
from featly.core.counts.whole_numbers import NotWholeError, TooManyLevelsError, whole_codes
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import DISK
from featly.core.sources import DenseSource, Source, StreamedSource
from featly.core.sources.column_file import ColumnFile, positions_in_order

__all__ = ["CodesInOrder", "InfiniteError", "StreamedCodes", "refuse_infinite"]


KEPT_SHARE = 4  # codes that are needed again stay in memory up to this fraction of its budget


class InfiniteError(ValueError):
    """A column that is to be cut holds an infinite value."""

    def __init__(self, feature: int) -> None:
        super().__init__(f"feature {feature}")
        self.feature = feature


class StreamedCodes(Codes):
    """Columns of a streamed source as codes.

    Parameters
    ----------
    source : StreamedSource
    rule : CutRule, Cuts or None
        None: numbers are levels.
    y, n_classes
        For a rule that needs the classes.
    make_error : callable, optional
        Converts a NotWholeError, TooManyLevelsError or InfiniteError to the error to be raised.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    rows : int array, optional
        Rows from which cuts are learnt, which may be repeated; all once by default.
    """

    n_features: int
    n_rows: int
    n_classes: int
    y: IntArray
    rule: CutRule | Cuts | None
    lies: ClassVar[str] = DISK

    def __init__(
        self,
        source: StreamedSource,
        rule: CutRule | Cuts | None,
        y: IntArray,
        n_classes: int,
        make_error: Callable[[Any], Exception] = lambda error: error,
        n_jobs: int | None = None,
        rows: IntArray | None = None,
    ) -> None:
        self.make_error: Callable[[Any], Exception] = make_error
        self.rows: IntArray | None = rows
        self.rule, self.y, self.n_classes = rule, y, n_classes
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.memory: int | None = source.memory
        self.n_jobs = n_jobs
        self._width: int = range_columns(source.n_rows, source.memory, source.store.dtype.itemsize)
        self.source: StreamedSource = source.with_block_width(self._width)
        self._cuts: dict[tuple[int, int], Cuts] = {}
        self._n_levels: IntArray | None = None

    @property
    def width(self) -> int:
        """Columns that are coded at a time."""
        return self._width

    @property
    def n_levels(self) -> IntArray:  # type: ignore[override]
        """Largest code of each column: one pass, the first time."""
        if self._n_levels is None:
            self._n_levels = np.concatenate(self.each(lambda codes: codes.n_levels))
        return self._n_levels

    def each(self, function: Callable[[Codes], Any]) -> list[Any]:
        """Call a function with every range of columns, loaded one after the other."""
        ranges = split(self.n_features, self._width)
        return run_blocks(lambda part: function(self.part(*part)), ranges, self.n_jobs)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """uint8, or uint16 where a column has more than 254 levels."""
        return np.dtype(np.uint8 if self.n_levels.max(initial=0) <= 254 else np.uint16)

    def part(self, low: int, high: int) -> Codes:
        """Return a range of columns, in memory."""
        try:
            if self.rule is None:
                stored_levels = self.source.levels(low, high)
                if stored_levels is not None:
                    return DenseCodes(*stored_levels, self.n_jobs)
            return self._code(self.source.range(low, high), low)
        except NotWholeError as error:
            raise self.make_error(
                NotWholeError(low + error.feature, error.row, error.value)
            ) from None
        except TooManyLevelsError as error:
            raise self.make_error(TooManyLevelsError(low + error.feature, error.count)) from None
        except InfiniteError as error:
            raise self.make_error(InfiniteError(low + error.feature)) from None

    def _code(self, part: DenseSource, low: int) -> Codes:
        if self.rule is None:
            return whole_codes(part, self.n_jobs)
        bounds = low, low + part.n_features
        cuts = self._cuts.get(bounds)
        if cuts is None:
            refuse_infinite(part, 1)
            if isinstance(self.rule, Cuts):
                cuts = self.rule.columns(*bounds)
            else:
                groups = (self.y, self.n_classes)
                cuts = learn_cuts(part, *groups, self.rule, self.n_jobs, self.rows)
            self._cuts[bounds] = cuts
        return DenseCodes(*cut_codes(part, cuts, self.n_jobs), self.n_jobs)

    def block(self, low: int, high: int) -> AnyArray:
        """Return a range of columns."""
        return self.take(np.arange(low, high))

    def take(self, features: IntArray) -> AnyArray:
        """Return some columns."""
        matrix: AnyArray = np.empty((len(features), self.n_rows), self.dtype)
        number = np.asarray(features) // self._width
        for k in np.unique(number).tolist():
            wanted, low = np.flatnonzero(number == k), k * self._width
            codes = self.part(low, min(low + self._width, self.n_features))
            matrix[wanted] = codes.take(np.asarray(features)[wanted] - low)
        return matrix

    def tables(self, groups: IntArray, n_groups: int) -> Tables:
        """Count every column against a grouping of the rows: one pass."""
        parts = self.each(lambda codes: (codes.tables(groups, n_groups), codes.n_levels))
        self._n_levels = np.concatenate([levels for _, levels in parts])
        sizes = np.concatenate([np.diff(tables.start) for tables, _ in parts])
        start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        return Tables(np.concatenate([tables.counts for tables, _ in parts]), start, n_groups)


def refuse_infinite(source: Source, n_jobs: int | None = None) -> None:
    """Raise InfiniteError for the first column of numbers that holds an infinite value."""
    if not source.has_infinite(n_jobs):
        return
    for feature in np.flatnonzero(source.kinds != CATEGORICAL).tolist():
        if np.isinf(source.load(np.array([feature]))).any():
            raise InfiniteError(feature)


class CodesInOrder(Codes):
    """Columns of levels in an order, stored on disk with one or two bytes a value.

    Parameters
    ----------
    codes : Codes
    order : int64 array
        Columns, each at most once.
    """

    dtype: np.dtype[Any]
    n_levels: IntArray
    n_jobs: int | None
    n_features: int
    n_rows: int

    def __init__(self, codes: Codes, order: IntArray) -> None:
        self.n_rows, self.n_features, self.n_jobs = codes.n_rows, len(order), codes.n_jobs
        self.n_levels, self.dtype = codes.n_levels[order], codes.dtype
        self.memory: int | None = codes.memory
        self._file = ColumnFile(self.n_rows, self.dtype, len(order))
        position = positions_in_order(order, codes.n_features)

        def write(part: tuple[int, int]) -> None:
            part_codes = codes.part(*part)
            matrix = part_codes.block(0, part_codes.n_features).astype(self.dtype, copy=False)
            self._file.write(position[slice(*part)], matrix)

        run_blocks(write, split(codes.n_features, codes.width), codes.n_jobs)

    def block(self, low: int, high: int) -> AnyArray:
        """Return a range of columns."""
        return self._file.columns(low, high)

    def take(self, features: IntArray) -> AnyArray:
        """Return some columns."""
        return self._file.read_columns(np.asarray(features))


# ---- answers --------------------------------------------------------------------------------
@select_columns.answer(StreamedCodes)
def _select_streamed(codes: StreamedCodes, features: IntArray) -> Codes:
    """Code them once: to read and to cut columns each time takes longer than most of their uses."""
    assert codes.memory is not None
    if len(features) * codes.n_rows * codes.dtype.itemsize > codes.memory // KEPT_SHARE:
        return CodesInOrder(codes, features)
    matrix = np.empty((len(features), codes.n_rows), codes.dtype)
    position = positions_in_order(features, codes.n_features)

    def copy(block: tuple[int, int]) -> None:
        targets = position[slice(*block)]
        wanted = np.flatnonzero(targets >= 0)
        if len(wanted):
            matrix[targets[wanted]] = codes.part(*block).take(wanted)

    run_blocks(copy, split(codes.n_features, codes.width), codes.n_jobs)
    return DenseCodes(matrix, codes.n_levels[features], codes.n_jobs)


@uncertainty.answer(StreamedCodes)
def _uncertainty_streamed(
    codes: StreamedCodes, groups: IntArray, n_groups: int, *, spread: bool = False
) -> FloatArray:
    """Compute it part by part."""
    return np.concatenate(
        codes.each(lambda part: uncertainty(part, groups, n_groups, spread=spread))
    )
