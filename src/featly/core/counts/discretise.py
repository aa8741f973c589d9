r"""Numbers cut into intervals.

======================  ===========================================================================
``mdlp``                by entropy, see :mod:`featly.core.counts.mdlp`
``pkid``                :math:`\lfloor\sqrt n\rfloor` intervals of :math:`\sqrt n` values each;
                        Yang, Y. and Webb, G. I. (2001), Proportional k-interval discretization
                        for naive-Bayes classifiers, *ECML 2001*, 564-575
``equal-frequency``     `n_bins` intervals of equally many values
``equal-width``         `n_bins` intervals of the same width between the extremes
======================  ===========================================================================

Interval j of a column with cut points :math:`t_1 < t_2 < \dots` is :math:`(t_{j-1}, t_j]`. A cut
point of the first three lies in the middle between two values. Equal values are never divided:
from below, each interval aims at (values left) / (intervals left) values and ends at the nearest
boundary between two different values, the upper one of two equally near; so there may be fewer
intervals than requested. Missing values are ignored.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CATEGORICAL
from featly.basics.params import OneOf, Whole
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.entropy import FixedPoint
from featly.core.counts.equal_bins import (
    code_stored,
    code_tile,
    frequency_columns,
    stored_columns,
    width_columns,
)
from featly.core.counts.mdlp import mdlp_bytes, mdlp_runs, mdlp_stored
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import CSCSource, DenseSource, Source

__all__ = ["RULES", "CutRule", "Cuts", "cut_codes", "cut_sparse", "learn_cuts"]


ENCODING = OneOf("rows", "distinct")
RULES = ("mdlp", "pkid", "equal-width", "equal-frequency")
MOST_LEVELS = 65_534  # what uint16 can hold beside 0, the missing value
N_BINS = Whole(at_least=1, at_most=MOST_LEVELS)
SMALL_LEVELS = 254
TILE_BYTES = 1 << 20
SMALL_TILE_BYTES = 1 << 16  # below this a task is not worth a thread
TASKS = 16  # into which columns that are few and long are divided
CACHE_LINE = 64
COLUMN_BLOCK = 1024  # of a sparse matrix
REPEATED_VALUES = 1 << 24  # of rows that are repeated, at a time
MOST_COUNTED = 256  # classes, where columns of bytes are counted instead of sorted


@dataclass(frozen=True)
class CutRule:
    """Rule by which numbers are cut into intervals.

    Parameters
    ----------
    name : {"mdlp", "pkid", "equal-width", "equal-frequency"}
    n_bins : int
        Number of intervals; for the last two.
    encoding : {"rows", "distinct"}
        For "mdlp": whether a cut is coded as a position between two rows, as by Fayyad and Irani,
        or between two different values.
    """

    name: str
    n_bins: int = 10
    encoding: str = "rows"

    def __post_init__(self) -> None:
        OneOf(*RULES).check("name", self.name)
        N_BINS.check("n_bins", self.n_bins)
        ENCODING.check("encoding", self.encoding)

    @property
    def is_supervised(self) -> bool:
        """Return whether the cut points depend on the classes."""
        return self.name == "mdlp"

    @property
    def counts_rows(self) -> bool:
        """Return whether the cut points depend on how many rows have a value."""
        return self.name != "equal-width"


@dataclass(frozen=True)
class Cuts:
    """Cut points of many columns.

    Attributes
    ----------
    values : float64 array
        One column after the other, rising within each.
    start : int64 array of shape (n_features + 1,)
        Where each column begins.
    """

    values: FloatArray
    start: IntArray

    def points(self, feature: int) -> FloatArray:
        """Return the cut points of one column."""
        return self.values[self.start[feature] : self.start[feature + 1]]

    @property
    def counts(self) -> IntArray:
        """Number of cut points of each column."""
        return np.diff(self.start)

    def columns(self, low: int, high: int) -> "Cuts":
        """Return the cut points of a range of columns."""
        start = self.start[low : high + 1]
        return Cuts(self.values[start[0] : start[-1]], start - start[0])

    def take(self, features: IntArray) -> "Cuts":
        """Return the cut points of some columns, in the order given."""
        points = [self.points(f) for f in features.tolist()]
        return Cuts(
            np.concatenate([np.empty(0), *points]),
            np.concatenate([[0], np.cumsum(self.counts[features])]).astype(np.int64),
        )


def learn_cuts(
    source: Source,
    y: IntArray | None,
    n_classes: int,
    rule: CutRule,
    n_jobs: int | None = None,
    rows: IntArray | None = None,
) -> Cuts:
    """Learn the cut points of continuous and ordinal features; categorical ones have none.

    Parameters
    ----------
    source : DenseSource or CSCSource
        Floats or whole numbers. A sparse one is not made dense: the time for a column is
        proportional to its stored entries. Centre and scale of the source are ignored.
    y : int64 array of shape (n_rows,), or None
        Class of every row, from 0; unsupervised rules ignore it.
    n_classes : int
    rule : CutRule
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    rows : int array, optional
        Rows to learn from, which may be repeated; all once by default.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> x = np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]])
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> learn_cuts(DenseSource(x), y, 2, CutRule("mdlp")).points(0).tolist()
    [5.0]
    >>> learn_cuts(DenseSource(x), None, 0, CutRule("pkid")).points(0).tolist()
    [5.0]
    """
    if rows is not None:
        labels = None if y is None else y[rows]
        parts = [
            learn_cuts(
                source.view(np.arange(*block)).take_rows(rows), labels, n_classes, rule, n_jobs
            )
            for block in split(source.n_features, max(1, REPEATED_VALUES // max(1, len(rows))))
        ]
        sizes = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
        values = np.concatenate([np.empty(0), *(part.values for part in parts)])
        return Cuts(values, np.concatenate([[0], np.cumsum(sizes)]))
    classes = None
    if rule.is_supervised:
        assert y is not None
        by_value = rule.encoding == "distinct"
        classes = _Classes.from_labels(np.ascontiguousarray(y, np.int64), n_classes, by_value)
    if isinstance(source, CSCSource):
        block_cuts = _learn_sparse(source, classes, rule, n_jobs)
    else:
        assert isinstance(source, DenseSource)
        block_cuts = _learn_dense(source, classes, rule, n_jobs)
    counts = np.zeros(source.n_features, np.int64)
    if block_cuts:
        numeric = source.kinds != CATEGORICAL
        counts[numeric] = np.concatenate([np.diff(ends, prepend=0) for _, ends in block_cuts])
    values = np.concatenate([np.empty(0), *(values for values, _ in block_cuts)])
    return Cuts(values, np.concatenate([[0], np.cumsum(counts)]))


def cut_codes(
    source: DenseSource, cuts: Cuts, n_jobs: int | None = None
) -> tuple[AnyArray, IntArray]:
    """Code a dense table by its cut points.

    Parameters
    ----------
    source : DenseSource
    cuts : Cuts
        Learnt from a table with the same columns.

    Returns
    -------
    codes : uint8 or uint16 array of shape (n_features, n_rows)
        0 is missing; a number has 1 + the number of cut points below it. Codes of categorical
        features are those of the source.
    n_levels : int64 array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> x = np.array([[1.0], [5.0], [np.nan], [9.0]])
    >>> codes, n_levels = cut_codes(DenseSource(x), Cuts(np.array([5.0]), np.array([0, 1])))
    >>> codes.tolist(), n_levels.tolist()
    ([[1, 1, 0, 2]], [2])
    """
    n_levels = _interval_counts(source, cuts)
    rows = source.place[source.categorical]
    n_levels[source.categorical] = np.diff(source.code_atoms)[rows]
    shape = (source.n_features, source.n_rows)
    codes: AnyArray = np.empty(shape, _code_dtype(n_levels))
    codes[source.categorical] = source.codes[rows]
    numeric = np.arange(source.n_features)[source.numeric]
    limits = _limits(cuts.values, _float_dtype(source.values.dtype))

    def code_block(block: tuple[int, int]) -> None:
        tile = _as_floats(_tile(source.values, source.place[numeric[slice(*block)]]))
        code_tile(tile, numeric[slice(*block)], limits, cuts.start, codes)

    run_blocks(code_block, _blocks(source, len(numeric)), n_jobs)
    return codes, n_levels


def cut_sparse(
    source: CSCSource, cuts: Cuts, n_jobs: int | None = None
) -> tuple[AnyArray, AnyArray, IntArray]:
    """Code the stored entries of a sparse table.

    Returns
    -------
    codes : uint8 or uint16 array
        Of the entries of ``source.matrix.data``; 0 in columns that are not in the source.
    zero : array of shape (n_features,)
        The code of a zero in each column.
    n_levels : int64 array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from featly.core.sources import CSCSource
    >>> matrix = scipy.sparse.csc_array(np.array([[0.0], [3.0], [-1.0], [0.0]]))
    >>> codes, zero, n_levels = cut_sparse(
    ...     CSCSource(matrix), Cuts(np.array([-0.5, 1.5]), np.array([0, 2]))
    ... )
    >>> codes.tolist(), zero.tolist(), n_levels.tolist()
    ([3, 1], [2], [3])
    """
    n_levels = _interval_counts(source, cuts)
    matrix = source.matrix
    codes: AnyArray = np.zeros(len(matrix.data), _code_dtype(n_levels))
    zero = np.empty(source.n_features, codes.dtype)

    def code_block(block: tuple[int, int]) -> None:
        code_stored(
            matrix.data, matrix.indptr, source.columns, cuts.values, cuts.start, *block, codes, zero
        )

    run_blocks(code_block, split(source.n_features, COLUMN_BLOCK), n_jobs)
    return codes, zero, n_levels


# ---- learning -------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Classes:
    """Class of every row, and the rows class by class."""

    labels: IntArray
    sizes: IntArray
    order: IntArray
    start: IntArray
    by_value: bool
    table: IntArray
    unit: float

    @classmethod
    def from_labels(cls, labels: IntArray, n_classes: int, by_value: bool) -> "_Classes":
        sizes = np.bincount(labels, minlength=n_classes)
        start = np.concatenate([[0], np.cumsum(sizes)])
        fixed = FixedPoint.for_rows(len(labels))
        order = np.argsort(labels, kind="stable")
        return cls(labels, sizes, order, start, by_value, fixed.table, 2.0**-fixed.shift)


BlockCuts = tuple[FloatArray, IntArray]  # cut points of some columns, and the end of each column's


def _learn_dense(
    source: DenseSource, classes: _Classes | None, rule: CutRule, n_jobs: int | None
) -> list[BlockCuts]:
    values, columns = source.values, source.place[source.numeric]

    def learn_block(block: tuple[int, int]) -> BlockCuts:
        part = columns[slice(*block)]
        if classes is None:
            tile = _as_floats(_tile(values, part))
            return (
                _cut_by_width(tile, rule.n_bins)
                if _is_equal_width(rule)
                else _cut_by_frequency(tile, rule)
            )
        if values.dtype.itemsize == 1 and len(classes.sizes) <= MOST_COUNTED:
            return _cut_by_counts(_tile(values, part), classes)
        return _cut_by_entropy(_as_floats(_tile(values, part, classes.order)), classes)

    return run_blocks(learn_block, _blocks(source, len(columns)), n_jobs)


def _cut_by_entropy(tile: AnyArray, classes: _Classes) -> BlockCuts:
    for low, high in zip(classes.start[:-1], classes.start[1:], strict=True):
        if high - low > 1:
            tile[:, low:high].sort(axis=1)
    cut_points, ends = np.empty(tile.size), np.empty(len(tile), np.int64)
    mdlp_runs(tile, classes.start, classes.by_value, classes.table, classes.unit, cut_points, ends)
    return cut_points[: ends[-1]].copy(), ends


def _cut_by_counts(tile: AnyArray, classes: _Classes) -> BlockCuts:
    lowest = 0
    if tile.dtype.kind == "i":
        tile, lowest = tile.view(np.uint8) ^ np.uint8(128), -128
    cut_points, ends = np.empty(255 * len(tile)), np.empty(len(tile), np.int64)
    mdlp_bytes(
        tile, lowest, classes.labels, len(classes.sizes), classes.by_value, classes.table,
        classes.unit, cut_points, ends,
    )  # fmt: skip
    return cut_points[: ends[-1]].copy(), ends


def _cut_by_frequency(tile: AnyArray, rule: CutRule) -> BlockCuts:
    cut_points, ends = np.empty(tile.size), np.empty(len(tile), np.int64)
    frequency_columns(np.sort(tile, axis=1), _n_bins(rule), cut_points, ends)
    return cut_points[: ends[-1]].copy(), ends


def _cut_by_width(tile: AnyArray, n_bins: int) -> BlockCuts:
    low = np.fmin.reduce(tile, axis=1).astype(np.float64)
    high = np.fmax.reduce(tile, axis=1).astype(np.float64)
    cut_points, ends = np.empty(len(tile) * n_bins), np.empty(len(tile), np.int64)
    width_columns(low, high, n_bins, cut_points, ends)
    return cut_points[: ends[-1]].copy(), ends


def _learn_sparse(
    source: CSCSource, classes: _Classes | None, rule: CutRule, n_jobs: int | None
) -> list[BlockCuts]:
    csc_arrays = (source.matrix.data, source.matrix.indices, source.matrix.indptr, source.columns)
    sizes = np.diff(source.matrix.indptr)[source.columns].astype(np.int64)
    no_labels = np.zeros(source.n_rows if classes is None else 0, np.int64)

    def learn_block(block: tuple[int, int]) -> BlockCuts:
        n_columns = block[1] - block[0]
        ends = np.empty(n_columns, np.int64)
        capacity = int(sizes[slice(*block)].sum()) + n_columns
        if classes is not None:
            cut_points = np.empty(capacity)
            mdlp_stored(
                *csc_arrays, classes.labels, classes.sizes, classes.by_value, classes.table,
                classes.unit, *block, cut_points, ends,
            )  # fmt: skip
        else:
            cut_points = np.empty(n_columns * rule.n_bins if _is_equal_width(rule) else capacity)
            stored_columns(
                *csc_arrays,
                no_labels,
                _is_equal_width(rule),
                _n_bins(rule),
                *block,
                cut_points,
                ends,
            )
        return cut_points[: ends[-1]].copy(), ends

    return run_blocks(learn_block, split(source.n_features, COLUMN_BLOCK), n_jobs)


def _is_equal_width(rule: CutRule) -> bool:
    return rule.name == "equal-width"


def _n_bins(rule: CutRule) -> int:
    """Return the number of intervals; 0 stands for the square root of the number of values."""
    return 0 if rule.name == "pkid" else int(rule.n_bins)


# ---- tiles of a dense table -----------------------------------------------------------------
def _blocks(source: DenseSource, n_columns: int) -> list[tuple[int, int]]:
    """Return ranges of columns that make a tile; they depend on the table alone."""
    column = max(1, source.n_rows * source.values.itemsize)
    least = 1 if source.feature_major else CACHE_LINE // source.values.itemsize
    width = max(least, TILE_BYTES // column)
    width = min(width, max(-(-n_columns // TASKS), SMALL_TILE_BYTES // column, 1))
    return split(n_columns, width)


def _tile(values: AnyArray, columns: IntArray, rows: IntArray | None = None) -> AnyArray:
    """Return some columns, feature-major and contiguous, with the rows in a given order."""
    low, high = int(columns[0]), int(columns[-1]) + 1
    is_range = high - low == len(columns) and bool((np.diff(columns) == 1).all())
    selection: Any = slice(low, high) if is_range else columns
    if values.flags.f_contiguous:
        tile = values.T[selection]
        return np.ascontiguousarray(tile if rows is None else np.take(tile, rows, axis=1))
    tile = values[:, selection]
    return np.ascontiguousarray((tile if rows is None else np.take(tile, rows, axis=0)).T)


def _float_dtype(dtype: np.dtype[Any]) -> type:
    """Return the floats that hold every value of a dtype."""
    small = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.float32 if small else np.float64


def _as_floats(tile: AnyArray) -> AnyArray:
    return tile.astype(_float_dtype(tile.dtype), copy=False)


def _limits(values: FloatArray, dtype: type) -> AnyArray:
    """Round cut points down to a dtype: a number of that dtype lies above both or neither."""
    limits: AnyArray = values.astype(dtype)
    above = limits > values
    limits[above] = np.nextafter(limits[above], dtype(-np.inf))
    return limits


def _interval_counts(source: Source, cuts: Cuts) -> IntArray:
    if len(cuts.start) != source.n_features + 1:
        raise ParameterError(
            f"cut points of {len(cuts.start) - 1} columns, but the table has {source.n_features}: "
            "learn them from a table with the same columns"
        )
    return cuts.counts + 1


def _code_dtype(n_levels: IntArray) -> type:
    most = int(n_levels.max(initial=0))
    if most > MOST_LEVELS:
        raise DataError(
            f"column {int(n_levels.argmax())} has {most} levels, more than a code can hold "
            f"({MOST_LEVELS}): leave it out"
        )
    return np.uint8 if most <= SMALL_LEVELS else np.uint16
