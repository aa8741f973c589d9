"""Columns as small whole numbers, and their counts against classes.

A code of 0 is a missing value, 1 to `n_levels` are the levels. A user's array of small integers is
read in place: a tile is transposed when it is needed, and rows are counted one after the other,
many columns at a time, with one byte a counter.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from featly.basics.typing import AnyArray, FloatArray, IntArray, WordArray
from featly.core.counts.contingency import Tables
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import MEMORY, question
from featly.core.runtime.simd import equal_mask, ones

__all__ = ["Codes", "CodesView", "DenseCodes", "SparseCodes", "WholeCodes", "copy_bytes",
           "count_levels", "gather_columns", "range_columns", "select_columns",
           "spread_missing"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def"


COLUMN_BLOCK = 4096
ROW_BLOCK = 8192
COPY_BYTES = 1 << 28  # of codes that are copied at most, to make columns contiguous
FEW = 12  # up to so many levels, comparing bytes with each of them beats a histogram
MOST_EXACT = 1 << 24  # total weight of rows whose counts are whole numbers
RANGE_VALUES = 1 << 23  # that are coded at a time, if the memory limit allows it
RANGE_SHARE = 16  # a range of values takes no more than this fraction of the memory
ALIGNED = 512
CHUNK = 248  # rows that a counter of one byte can hold, a multiple of 8


class Codes(ABC):
    """Columns of codes in some storage.

    Attributes
    ----------
    n_rows, n_features : int
    n_levels : int64 array of shape (n_features,)
        The largest code of each column; a level may be empty, missing does not count.
    dtype : dtype
        uint8, or uint16 where a column has more than 254 levels.
    lowest : array of shape (n_features,), or None
        The number that code 1 stands for, in columns where a code is a number less a constant.
    distinct : dict
        The numbers that the codes 1, 2, ... of other columns stand for.
    memory : int or None
        Bytes that columns may take, where they are coded when asked for; None for codes in memory.
    lies : {"memory", "disk", "gpu"}
        Where they are counted, see :mod:`featly.core.runtime.question`.
    """

    n_rows: int
    n_features: int
    n_levels: IntArray
    dtype: np.dtype[Any]
    n_jobs: int | None
    memory: int | None = None
    lies: ClassVar[str] = MEMORY
    lowest: AnyArray | None = None
    distinct: Mapping[int, FloatArray] = MappingProxyType({})

    @abstractmethod
    def block(self, low: int, high: int) -> AnyArray:
        """Return columns ``low:high``: contiguous codes of shape (high - low, n_rows)."""

    @abstractmethod
    def take(self, features: IntArray) -> AnyArray:
        """Return some columns: contiguous codes of shape (len(features), n_rows)."""

    @property
    def width(self) -> int:
        """Columns that are packed or copied at a time."""
        return range_columns(self.n_rows)

    def part(self, low: int, high: int) -> "Codes":
        """Return a range of columns, in memory."""
        return select_columns(self, np.arange(low, high))

    def each(self, function: Callable[["Codes"], Any]) -> list[Any]:
        """Call a function with every range of columns that is in memory at a time."""
        return [function(self)]

    def tables(self, groups: IntArray, n_groups: int) -> Tables:
        """Count every column against a grouping of the rows.

        The first row of every table counts missing values, the others the levels.
        """
        start = table_starts(self.n_levels, n_groups)
        counts = np.zeros(start[-1], np.int64)
        members = class_words(groups, n_groups)
        first = np.zeros(self.n_features, np.uint8)  # the byte of level 0, which is missing

        def count_block(block: tuple[int, int]) -> None:
            codes, sizes = self.block(*block), self.n_levels[slice(*block)]
            if codes.dtype == np.uint8 and n_groups <= FEW and sizes.max(initial=0) <= FEW:
                raw = codes.reshape(-1)
                _count_bytes(raw, self.n_rows, members, first, 0, self.n_levels, start, *block, 0,
                             counts)  # fmt: skip
            else:
                _count_columns(codes, groups, n_groups, start, block[0], counts)

        run_blocks(count_block, split(self.n_features, COLUMN_BLOCK), self.n_jobs)
        return Tables(counts, start, n_groups)

    def weighted_tables(self, groups: IntArray, n_groups: int, weights: FloatArray) -> Tables:
        """Count every column against a grouping of rows that have weights.

        Whole weights give whole counts, unless they are too large for exact entropies.
        """
        start = table_starts(self.n_levels, n_groups)
        is_whole = bool((weights == np.rint(weights)).all()) and weights.sum() <= MOST_EXACT
        counts = np.zeros(start[-1], np.int64 if is_whole else np.float64)
        amounts = weights.astype(counts.dtype)

        def count_block(block: tuple[int, int]) -> None:
            _count_weights(self.block(*block), groups, n_groups, amounts, start, block[0], counts)

        run_blocks(count_block, split(self.n_features, COLUMN_BLOCK), self.n_jobs)
        return Tables(counts, start, n_groups)


@question(gpu="featly.core.counts.entropy_cuda")
def count_levels(codes: Codes, groups: IntArray, n_groups: int) -> Tables:
    """Count the levels of every column in every group of rows."""
    return codes.tables(groups, n_groups)


def range_columns(n_rows: int, memory: int | None = None, itemsize: int = 1) -> int:
    """Return how many columns are coded and packed at a time.

    Examples
    --------
    >>> range_columns(1000), range_columns(1_000_000), range_columns(1000, 10**8, 8)
    (8192, 8, 512)
    """
    values = RANGE_VALUES
    if memory is not None:
        values = min(values, memory // RANGE_SHARE // itemsize)
    width = max(1, values // max(1, n_rows))
    return width // ALIGNED * ALIGNED if width >= ALIGNED else width


class DenseCodes(Codes):
    """Codes in a feature-major matrix.

    Parameters
    ----------
    matrix : uint8 or uint16 array of shape (n_features, n_rows)
    n_levels : int array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> codes = DenseCodes(np.array([[1, 2, 2, 0]], np.uint8), np.array([2]))
    >>> codes.tables(np.array([0, 0, 1, 1]), 2).table(0).tolist()
    [[0, 1], [1, 0], [1, 1]]
    """

    n_rows: int
    n_features: int

    def __init__(self, matrix: AnyArray, n_levels: IntArray, n_jobs: int | None = None) -> None:
        self.matrix = matrix
        self.dtype: np.dtype[Any] = matrix.dtype
        self.n_features, self.n_rows = matrix.shape
        self.n_levels = n_levels
        self.n_jobs = n_jobs

    def block(self, low: int, high: int) -> AnyArray:
        """Return a range of columns, without a copy."""
        return self.matrix[low:high]

    def take(self, features: IntArray) -> AnyArray:
        """Return some columns, copied."""
        return self.matrix[features]


class WholeCodes(Codes):
    """Codes ``value - low + 1`` of a user's array of integers, which is not copied.

    Parameters
    ----------
    values : integer array of shape (n_rows, n_features)
        In any order of memory.
    low, high : int arrays of shape (n_features,)
        Bounds of the values of each column; at most 254 apart.
    """

    n_features: int
    n_rows: int
    low: IntArray
    values: AnyArray

    def __init__(
        self,
        values: AnyArray,
        low: IntArray,
        high: IntArray,
        n_jobs: int | None = None,
    ) -> None:
        self.values, self.low = values, low
        self.lowest: AnyArray | None = low
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self.n_rows, self.n_features = values.shape
        self.n_levels: IntArray = (high - low + 1).astype(np.int64)
        self.n_jobs = n_jobs

    def block(self, low: int, high: int) -> AnyArray:
        """Return a tile, transposed and shifted."""
        if self.values.itemsize > 1 and self.values.flags.c_contiguous:
            codes = np.empty((high - low, self.n_rows), np.uint8)
            _transpose_codes(self.values, self.low, low, codes)
            return codes
        return self._code(self.values[:, low:high], self.low[low:high])

    def take(self, features: IntArray) -> AnyArray:
        """Return some columns, transposed and shifted."""
        return self._code(self.values[:, features], self.low[features])

    def _code(self, tile: AnyArray, low: IntArray) -> AnyArray:
        if tile.dtype.itemsize == 1:  # modulo 256, so an overflow does no harm
            shift = (1 - low).astype(np.uint8)
            return np.ascontiguousarray(tile.view(np.uint8).T) + shift[:, None]
        return (np.ascontiguousarray(tile.T) - (low[:, None] - 1)).astype(np.uint8)

    def tables(self, groups: IntArray, n_groups: int) -> Tables:
        """Count every column against a grouping of the rows; no value is missing."""
        most = int(self.n_levels.max(initial=0))
        bytewise = self.values.itemsize == 1 and most <= FEW
        if bytewise and self.values.flags.f_contiguous and n_groups <= FEW:
            return self._tables_of_columns(groups, n_groups)
        rowwise = self.values.flags.c_contiguous and bytewise
        if not rowwise or (self.low[:1] != self.low).any():
            return super().tables(groups, n_groups)
        start = table_starts(self.n_levels, n_groups)
        counts = np.zeros(start[-1], np.int64)
        order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=n_groups))
        raw = self.values.view(np.uint8)
        first = int(self.low[0]) & 255

        def count_block(block: tuple[int, int]) -> None:
            _count_rows(raw, order, ends, first, most, *block, start, counts)

        run_blocks(count_block, split(self.n_features, ROW_BLOCK), self.n_jobs)
        return Tables(counts, start, n_groups)

    def _tables_of_columns(self, groups: IntArray, n_groups: int) -> Tables:
        """Count bytes of a column-major array, without a copy."""
        start = table_starts(self.n_levels, n_groups)
        counts = np.zeros(start[-1], np.int64)
        members, raw = class_words(groups, n_groups), self.values.T.reshape(-1).view(np.uint8)
        zero = (self.low - 1).astype(np.uint8)

        def count_block(block: tuple[int, int]) -> None:
            begin = block[0] * self.n_rows
            _count_bytes(raw, self.n_rows, members, zero, 1, self.n_levels, start, *block, begin,
                         counts)  # fmt: skip

        run_blocks(count_block, split(self.n_features, COLUMN_BLOCK), self.n_jobs)
        return Tables(counts, start, n_groups)


class SparseCodes(Codes):
    """Codes of the stored entries of a sparse matrix, and one a column for all others.

    Parameters
    ----------
    matrix : scipy.sparse.csc_array of shape (n_rows, n_features)
        Only its structure is used.
    data : uint8 or uint16 array
        Code of every stored entry, in the order of ``matrix.data``.
    zero : uint8 or uint16 array of shape (n_features,)
        Code of the entries that are not stored.
    n_levels : int array of shape (n_features,)
    """

    n_features: int
    n_rows: int
    zero: AnyArray
    data: AnyArray
    indptr: Any
    indices: Any

    def __init__(
        self,
        matrix: scipy.sparse.csc_array,
        data: AnyArray,
        zero: AnyArray,
        n_levels: IntArray,
        n_jobs: int | None = None,
    ) -> None:
        self.indices, self.indptr = matrix.indices, matrix.indptr
        self.data, self.zero = data, zero
        self.dtype: np.dtype[Any] = data.dtype
        self.n_rows, self.n_features = matrix.shape
        self.n_levels = n_levels
        self.n_jobs = n_jobs

    def block(self, low: int, high: int) -> AnyArray:
        """Return a tile, made dense."""
        return self.take(np.arange(low, high))

    def take(self, features: IntArray) -> AnyArray:
        """Return some columns, made dense."""
        tile = np.empty((len(features), self.n_rows), self.dtype)
        _fill_tile(self.data, self.indices, self.indptr, self.zero, features, tile)
        return tile

    def tables(self, groups: IntArray, n_groups: int) -> Tables:
        """Count in one pass over the stored entries; all others have the code of zero."""
        start = table_starts(self.n_levels, n_groups)
        counts = np.zeros(start[-1], np.int64)
        sizes = np.bincount(groups, minlength=n_groups)
        entries = (self.data, self.indices, self.indptr, self.zero)

        def count_block(block: tuple[int, int]) -> None:
            _count_stored(*entries, groups, sizes, start, *block, counts)

        run_blocks(count_block, split(self.n_features, COLUMN_BLOCK), self.n_jobs)
        return Tables(counts, start, n_groups)


class CodesView(Codes):
    """A selection of the columns of other codes, fetched when needed."""

    dtype: np.dtype[Any]
    n_levels: IntArray
    n_features: int
    n_rows: int
    features: IntArray
    codes: Codes

    def __init__(self, codes: Codes, features: IntArray) -> None:
        self.codes, self.features = codes, features
        self.n_rows, self.n_features = codes.n_rows, len(features)
        self.n_levels, self.dtype = codes.n_levels[features], codes.dtype
        self.n_jobs: int | None = codes.n_jobs

    def block(self, low: int, high: int) -> AnyArray:
        """Return a range of them."""
        return self.codes.take(self.features[low:high])

    def take(self, features: IntArray) -> AnyArray:
        """Return some of them."""
        return self.codes.take(self.features[features])


def copy_bytes(codes: Codes) -> int:
    """Return the bytes that a copy of some columns may take."""
    return COPY_BYTES if codes.memory is None else min(COPY_BYTES, codes.memory // 2)


def gather_columns(codes: Codes, features: IntArray) -> Codes:
    """Copy some columns to contiguous memory, where that does not take too much of it.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes, gather_columns
    >>> codes = DenseCodes(np.array([[1, 1], [1, 2], [2, 1]], np.uint8), np.array([1, 2, 2]))
    >>> gather_columns(codes, np.array([2, 1])).block(0, 2).tolist()
    [[2, 1], [1, 2]]
    """
    selection = select_columns(codes, features)
    size = selection.n_features * selection.n_rows * selection.dtype.itemsize
    if isinstance(selection, DenseCodes) or size > copy_bytes(codes):
        return selection
    matrix = np.empty((selection.n_features, selection.n_rows), selection.dtype)

    def copy(block: tuple[int, int]) -> None:
        matrix[slice(*block)] = selection.block(*block)

    run_blocks(copy, split(selection.n_features, COLUMN_BLOCK), selection.n_jobs)
    return DenseCodes(matrix, selection.n_levels, selection.n_jobs)


@question
def select_columns(codes: Codes, features: IntArray) -> Codes:
    """Select some columns without a copy; the codes themselves where these are all, in order.

    Those of a table on disk are coded once.
    """
    same = np.array_equal(features, np.arange(codes.n_features))
    return codes if same else CodesView(codes, features)


def class_words(groups: IntArray, n_groups: int) -> WordArray:
    """Return the rows of each group as bits, 64 rows a word.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import class_words
    >>> class_words(np.array([0, 1, 1]), 2).tolist()
    [[1], [6]]
    """
    inside = np.zeros((n_groups, -(-len(groups) // 64) * 64), np.uint8)
    inside[groups, np.arange(len(groups))] = 1
    return np.packbits(inside, axis=1, bitorder="little").view(np.uint64)


def table_starts(n_levels: IntArray, n_groups: int) -> IntArray:
    """Return the starts of tables that have a row for missing values."""
    return np.concatenate([[0], np.cumsum((n_levels + 1) * n_groups, dtype=np.int64)])


@question(gpu="featly.core.counts.entropy_cuda")
def spread_missing(tables: Tables) -> Tables:
    """Spread the row of missing values of every table over its levels.

    A missing value of class c is divided among the levels in proportion to their rows of all
    classes, as Weka does. A column without any value has no counts.

    Examples
    --------
    >>> import numpy as np
    >>> tables = Tables(np.array([0, 4, 2, 0, 2, 4]), np.array([0, 6]), 2)
    >>> spread_missing(tables).table(0).tolist()
    [[2.0, 1.0], [2.0, 7.0]]
    """
    n_groups = tables.n_classes
    ordinal = np.arange(len(tables) + 1)
    out = Tables(
        np.zeros(len(tables.counts) - n_groups * len(tables)),
        tables.start - n_groups * ordinal,
        n_groups,
    )
    _spread_counts(tables.counts, tables.start, n_groups, out.start, out.counts)
    return out


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _count_columns(codes, groups, n_groups, start, first, counts):
    """Count feature-major codes whose first column is column `first` of the table."""
    for k in range(len(codes)):
        x = codes[k]
        base = start[first + k]
        for i in range(len(x)):
            counts[base + np.int64(x[i]) * n_groups + groups[i]] += 1


@kernel
def _count_weights(codes, groups, n_groups, weights, start, first, counts):
    """Do as :func:`_count_columns` for rows with weights."""
    for k in range(len(codes)):
        x = codes[k]
        base = start[first + k]
        for i in range(len(x)):
            counts[base + np.int64(x[i]) * n_groups + groups[i]] += weights[i]


@kernel
def _count_bytes(raw, n, members, zero, lowest, n_levels, start, lo, hi, begin, counts):
    """Count columns ``lo:hi``, bytes that lie one after the other from ``raw[begin]`` on.

    Level l of column f is the byte ``zero[f] + l``, from `lowest` to the last one. 64 rows are
    compared with a level at once; the bits of the result are counted after an AND with those of a
    class. The last level gets the remaining rows.
    """
    n_groups, n_words = members.shape
    sizes = np.zeros(n_groups, np.int64)
    for c in range(n_groups):
        for w in range(n_words):
            sizes[c] += np.int64(ones(members[c, w]))
    for f in range(lo, hi):
        at = begin + (f - lo) * n
        base = start[f]
        for c in range(n_groups):
            counts[base + n_levels[f] * n_groups + c] = sizes[c]
        for level in range(lowest, n_levels[f]):
            byte = np.uint8(zero[f] + np.uint8(level))
            cell = base + level * n_groups
            for w in range(n_words):
                offset = at + 64 * w
                if offset + 64 <= len(raw):
                    word = equal_mask(raw, offset, byte)
                else:  # fewer than 64 bytes are left
                    word = np.uint64(0)
                    for i in range(len(raw) - offset):
                        word |= np.uint64(raw[offset + i] == byte) << np.uint64(i)
                for c in range(n_groups):
                    counts[cell + c] += np.int64(ones(word & members[c, w]))
            for c in range(n_groups):
                counts[base + n_levels[f] * n_groups + c] -= counts[cell + c]


@kernel
def _count_rows(raw, order, ends, first, most, lo, hi, start, counts):
    """Count columns ``lo:hi`` of a row-major array of bytes; level l is the byte first + l."""
    n_groups = len(ends)
    width = hi - lo
    lanes = np.empty((most, width), np.uint8)
    begin = 0
    for c in range(n_groups):
        for f in range(lo, hi):
            counts[start[f + 1] - n_groups + c] = ends[c] - begin
        k = begin
        while k < ends[c]:
            stop = min(k + CHUNK, ends[c])
            lanes[:] = 0
            while k < stop:
                if k + 8 <= stop:
                    x0 = raw[order[k], lo:hi]
                    x1 = raw[order[k + 1], lo:hi]
                    x2 = raw[order[k + 2], lo:hi]
                    x3 = raw[order[k + 3], lo:hi]
                    x4 = raw[order[k + 4], lo:hi]
                    x5 = raw[order[k + 5], lo:hi]
                    x6 = raw[order[k + 6], lo:hi]
                    x7 = raw[order[k + 7], lo:hi]
                    for level in range(most - 1):
                        v = np.uint8(first + level)
                        lane = lanes[level]
                        for j in range(width):
                            lane[j] += np.uint8(
                                np.uint8(x0[j] == v)
                                + np.uint8(x1[j] == v)
                                + np.uint8(x2[j] == v)
                                + np.uint8(x3[j] == v)
                                + np.uint8(x4[j] == v)
                                + np.uint8(x5[j] == v)
                                + np.uint8(x6[j] == v)
                                + np.uint8(x7[j] == v)
                            )
                    k += 8
                else:
                    x0 = raw[order[k], lo:hi]
                    for level in range(most - 1):
                        v = np.uint8(first + level)
                        lane = lanes[level]
                        for j in range(width):
                            lane[j] += np.uint8(x0[j] == v)
                    k += 1
            for j in range(width):
                base = start[lo + j]
                levels = (start[lo + j + 1] - base) // n_groups - 1
                last = base + levels * n_groups + c
                for level in range(levels - 1):
                    counts[base + (level + 1) * n_groups + c] += lanes[level, j]
                    counts[last] -= lanes[level, j]
        begin = ends[c]


@kernel
def _transpose_codes(values, low, begin, codes):
    """Fill in codes of columns from `begin` on, of row-major numbers, 64 columns at a time."""
    width, n = codes.shape
    for first in range(0, width, 64):
        last = min(first + 64, width)
        for i in range(n):
            for j in range(first, last):
                codes[j, i] = np.uint8(np.int64(values[i, begin + j]) - low[begin + j] + 1)


@kernel
def _count_stored(data, indices, indptr, zero, groups, sizes, start, lo, hi, counts):
    n_groups = len(sizes)
    for f in range(lo, hi):
        base = start[f]
        zero_cell = base + np.int64(zero[f]) * n_groups
        for c in range(n_groups):
            counts[zero_cell + c] += sizes[c]
        for k in range(indptr[f], indptr[f + 1]):
            c = groups[indices[k]]
            counts[zero_cell + c] -= 1
            counts[base + np.int64(data[k]) * n_groups + c] += 1


@kernel
def _fill_tile(data, indices, indptr, zero, features, tile):
    for k in range(len(features)):
        f = features[k]
        tile[k, :] = zero[f]
        for e in range(indptr[f], indptr[f + 1]):
            tile[k, indices[e]] = data[e]


@kernel
def _spread_counts(counts, start, n_groups, target, out):
    for f in range(len(start) - 1):
        n_levels = (start[f + 1] - start[f]) // n_groups - 1
        total = 0
        for k in range(start[f] + n_groups, start[f + 1]):
            total += counts[k]
        for level in range(n_levels):
            base = start[f] + (level + 1) * n_groups
            size = 0
            for c in range(n_groups):
                size += counts[base + c]
            for c in range(n_groups):
                count = np.float64(counts[base + c])
                if total > 0:
                    count += counts[start[f] + c] * (size / total)
                out[target[f] + level * n_groups + c] = count
