"""Codes of columns of whole numbers that are not cut.

The code of a value is ``value - smallest + 1`` if at most 254 codes result; levels may then be
empty. Otherwise the distinct values of a column are numbered in order.
"""

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import FEW, Codes, DenseCodes, SparseCodes, WholeCodes
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import CSCSource, DenseSource, Source

__all__ = ["NotWholeError", "TooManyLevelsError", "whole_codes"]

# mypy: disable-error-code="no-untyped-def"


SMALL = 254  # levels in a byte, with 0 for a missing value
MOST = 65_534  # levels in two bytes
TILE = 256  # columns
STRETCH = 1 << 22  # cells whose bounds one task computes


class NotWholeError(ValueError):
    """A column holds a number that is not whole."""

    value: float
    row: int
    feature: int

    def __init__(self, feature: int, row: int, value: float) -> None:
        super().__init__(f"feature {feature}, row {row}: {value}")
        self.feature, self.row, self.value = feature, row, value


class TooManyLevelsError(ValueError):
    """A column has more distinct values than there are codes."""

    count: int
    feature: int

    def __init__(self, feature: int, count: int) -> None:
        super().__init__(f"feature {feature}: {count}")
        self.feature, self.count = feature, count


def whole_codes(source: Source, n_jobs: int | None = None) -> Codes:
    """Return the columns of a source as codes; every number is a level.

    Integers in memory are not copied where every column spans at most 254 values.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> whole_codes(DenseSource(np.array([[5.0], [3.0], [np.nan]]))).block(0, 1).tolist()
    [[3, 1, 0]]
    """
    if isinstance(source, CSCSource):
        return _sparse_codes(source, n_jobs)
    assert isinstance(source, DenseSource)
    is_integer_table = source.values.dtype.kind in "iu" and len(source.categorical) == 0
    if is_integer_table and np.array_equal(source.place, np.arange(source.values.shape[1])):
        low, high = _bounds(source.values, n_jobs)
        if (high - low).max(initial=0) < SMALL:
            return WholeCodes(source.values, low, high, n_jobs)
    return _dense_codes(source, n_jobs)


def _bounds(values: AnyArray, n_jobs: int | None) -> tuple[IntArray, IntArray]:
    """Return bounds of every column; the same for all where that costs few empty levels."""
    blocks = split(values.shape[1], 4096)
    memory = values.ravel(order="K")  # in the order of memory: no copy

    def bound_stretch(block: tuple[int, int]) -> tuple[int, int]:
        part = memory[slice(*block)]
        return int(part.min()), int(part.max())

    stretch_bounds = run_blocks(bound_stretch, split(len(memory), STRETCH), n_jobs)
    low, high = min(a for a, _ in stretch_bounds), max(b for _, b in stretch_bounds)
    p = values.shape[1]
    if high - low < FEW:
        return np.full(p, low, np.int64), np.full(p, high, np.int64)

    def bound_columns(block: tuple[int, int]) -> tuple[AnyArray, AnyArray]:
        part = values[:, slice(*block)]
        return part.min(axis=0), part.max(axis=0)

    lows, highs = zip(*run_blocks(bound_columns, blocks, n_jobs), strict=True)
    return np.concatenate(lows).astype(np.int64), np.concatenate(highs).astype(np.int64)


def _dense_codes(source: DenseSource, n_jobs: int | None) -> Codes:
    numeric = np.flatnonzero(source.kinds != CATEGORICAL)
    codes = np.empty((source.n_features, source.n_rows), np.uint8)
    n_levels, lowest = np.zeros(source.n_features, np.int64), np.ones(source.n_features)
    view = source.view(numeric)

    def code_block(block: tuple[int, int]) -> None:
        tile = _tile(view, *block)
        levels, lows = np.empty(len(tile), np.int64), np.empty(len(tile))
        out = np.empty(tile.shape, np.uint8)
        row, column = _code_tile(tile, out, levels, lows)
        if column >= 0:
            raise NotWholeError(int(numeric[block[0] + column]), row, float(tile[column, row]))
        codes[numeric[slice(*block)]] = out
        n_levels[numeric[slice(*block)]] = levels
        lowest[numeric[slice(*block)]] = lows

    run_blocks(code_block, split(len(numeric), TILE), n_jobs)
    nominal = source.categorical
    n_levels[nominal] = np.diff(source.code_atoms)[source.place[nominal]]
    wide = np.flatnonzero(n_levels < 0)
    if len(wide) or (len(nominal) and source.codes.dtype == np.uint16):
        codes = codes.astype(np.uint16)
    codes[nominal] = source.codes[source.place[nominal]]
    distinct = {}
    for f in wide.tolist():
        codes[f], distinct[f] = _number_levels(_tile(source, f, f + 1)[0], f)
        n_levels[f] = len(distinct[f])
    numbered = DenseCodes(codes, n_levels, n_jobs)
    numbered.lowest, numbered.distinct = lowest, distinct
    return numbered


def _tile(source: DenseSource, low: int, high: int) -> FloatArray:
    columns = np.arange(low, high)
    if source.values.dtype.kind in "iu":
        return np.ascontiguousarray(source.values[:, source.place[columns]].T).astype(np.float64)
    return source.load(columns)


def _number_levels(values: FloatArray, feature: int) -> tuple[IntArray, FloatArray]:
    """Number distinct values in order from 1, 0 where missing; return these and the values."""
    is_known = ~np.isnan(values)
    levels, level_index = np.unique(values[is_known], return_inverse=True)
    if len(levels) > MOST:
        raise TooManyLevelsError(feature, len(levels))
    codes = np.zeros(len(values), np.int64)
    codes[is_known] = level_index + 1
    return codes, levels


def _sparse_codes(source: CSCSource, n_jobs: int | None) -> Codes:
    matrix = source.matrix[:, source.columns]
    n_stored, p = np.diff(matrix.indptr), source.n_features
    column = np.repeat(np.arange(p), n_stored)
    not_whole = (matrix.data != np.floor(matrix.data)) & ~np.isnan(matrix.data)
    not_whole |= np.isinf(matrix.data)
    if not_whole.any():
        k = int(np.flatnonzero(not_whole)[0])
        raise NotWholeError(int(column[k]), int(matrix.indices[k]), float(matrix.data[k]))
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    low[n_stored < source.n_rows], high[n_stored < source.n_rows] = 0.0, 0.0
    occupied = np.flatnonzero(n_stored)
    if len(occupied):
        begin = matrix.indptr[occupied]
        with np.errstate(invalid="ignore"):  # a column of nothing but NaN
            low[occupied] = np.fmin(low[occupied], np.fmin.reduceat(matrix.data, begin))
            high[occupied] = np.fmax(high[occupied], np.fmax.reduceat(matrix.data, begin))
    n_levels = np.where(high >= low, high - low + 1, 0).astype(np.int64)
    low[high < low] = 0.0
    wide = np.flatnonzero(n_levels > SMALL)
    dtype = np.uint16 if len(wide) else np.uint8
    small = n_levels[column] <= SMALL
    shifted = np.where(np.isnan(matrix.data) | ~small, 0, matrix.data - low[column] + 1)
    data = shifted.astype(dtype)
    zero = np.where((n_stored < source.n_rows) & (n_levels <= SMALL), 1 - low, 0).astype(dtype)
    distinct = {}
    for f in wide.tolist():
        a, b = matrix.indptr[f], matrix.indptr[f + 1]
        values = np.append(matrix.data[a:b], [0.0] * int(b - a < source.n_rows))
        codes, distinct[f] = _number_levels(values.astype(np.float64), f)
        n_levels[f] = len(distinct[f])
        data[a:b] = codes[: b - a]
        zero[f] = codes[-1]
    numbered = SparseCodes(matrix, data, zero, n_levels, n_jobs)
    numbered.lowest, numbered.distinct = low, distinct
    return numbered


@kernel
def _code_tile(tile, out, n_levels, lows):
    """Code a feature-major tile; return row and column of a number that is not whole, or -1, -1.

    The number of levels is -1 for a column that spans too much; `lows` gets the lowest numbers.
    """
    for f in range(len(tile)):
        x = tile[f]
        low, high = np.inf, -np.inf
        for i in range(len(x)):
            v = x[i]
            if v == v:
                if v != np.floor(v) or v - v != 0.0:
                    return i, f
                low = min(low, v)
                high = max(high, v)
        lows[f] = low if high >= low else 1.0
        if high - low >= SMALL:
            n_levels[f] = -1
            continue
        n_levels[f] = np.int64(high - low) + 1 if high >= low else 0
        for i in range(len(x)):
            v = x[i]
            out[f, i] = np.uint8(v - low + 1.0) if v == v else np.uint8(0)
    return -1, -1
