"""Columns as small whole numbers on the device, block by block.

The CUDA counterpart of :mod:`featly.core.counts.codes` and
:mod:`featly.core.counts.whole_numbers`. A table of bytes is read in place, row-major or
feature-major; other whole numbers become bytes a block at a time; a table on the host is copied to
the device a block at a time. Blocks are not cached: columns that are needed again are stored as
bit-planes (:mod:`featly.core.counts.bitplanes_cuda`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from featly.basics.typing import AnyArray, IntArray
from featly.core.counts.codes import Codes, WholeCodes
from featly.core.counts.contingency import Tables
from featly.core.counts.whole_numbers import SMALL, NotWholeError, whole_codes
from featly.core.runtime.device_cuda import (
    NotOnDevice,
    as_device,
    is_device_array,
    kernel,
    to_host,
    translate_memory_errors,
    xp,
)
from featly.core.runtime.parallel import split
from featly.core.runtime.question import GPU
from featly.core.sources import DenseSource

__all__ = ["ByteBlock", "CudaCodes", "CudaTables"]


DEVICE_BLOCK = 1 << 31  # bytes of a table on the device that are packed at a time ...
NARROWED_BLOCK = 1 << 29  # ... where its numbers become bytes first ...
HOST_BLOCK = 1 << 27  # ... or of a table on the host
ALIGNED = 128  # columns: blocks of bytes begin where four of them can be read at once
THREADS = 256
WAVE = 1 << 18  # threads that keep the device busy

C_TYPES = {
    "int16": "short",
    "uint16": "u16",
    "int32": "int",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float32": "float",
    "float64": "double",
}


@dataclass(frozen=True)
class ByteBlock:
    """Some neighbouring columns as bytes on the device.

    Attributes
    ----------
    first : int
        Number of the first column.
    values : uint8 array of CuPy
        Of shape (n_rows, n_columns) where `by_rows`, else (n_columns, n_rows); the last axis is
        contiguous.
    by_rows : bool
    flip : int
        Mask that a byte is XORed with so that bytes are ordered as values: 128 for signed ones.
    codes : bool
        Whether these are codes, with 0 for missing, or values, none of which is missing.
    low, high : int32 arrays of CuPy
        The smallest and the largest byte of each column, after `flip`.
    """

    first: int
    values: Any
    by_rows: bool
    flip: int
    codes: bool
    low: Any
    high: Any

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1 if self.by_rows else 0])

    @property
    def stride(self) -> int:
        """Bytes from a row to the next, or from a column where they lie by columns."""
        return int(self.values.strides[0])

    @property
    def table_row(self) -> Any:
        """Row of a table of counts in which the smallest byte of each column is counted."""
        return self.low if self.codes else xp().ones_like(self.low)

    def most_levels(self, columns: Any = None) -> int:
        """Return the largest span of some columns, or of all."""
        span = self.high - self.low + 1
        return int((span if columns is None else span[columns]).max())

    def part(self, low: int, high: int) -> "ByteBlock":
        """Return some of the columns."""
        columns = slice(low, high)
        values = self.values[:, columns] if self.by_rows else self.values[columns]
        low_, high_ = self.low[columns], self.high[columns]
        return ByteBlock(self.first + low, values, self.by_rows, self.flip, self.codes, low_, high_)

    def levels(self, columns: Any = None) -> Any:
        """Return some columns, feature-major, from 0 for the smallest byte."""
        cupy = xp()
        values, low = self.values, self.low
        axis = 1 if self.by_rows else 0
        if columns is not None:
            values, low = values.take(columns, axis=axis), low[columns]
        if self.by_rows:
            values = values.T
        shift = low.astype(cupy.uint8)[:, None]
        return cupy.ascontiguousarray((values ^ cupy.uint8(self.flip)) - shift)


class CudaCodes:
    """Columns of codes that come to the device block by block.

    See :class:`featly.core.counts.codes.Codes`.

    Parameters
    ----------
    n_rows, n_features : int
    parts : callable
        Gives an iterator of (first column, array on the device, whether by rows, whether codes).
        An array that does not hold codes has whole numbers of any dtype, floats included.
    code_on_host : callable
        Gives the same columns as codes on the host.
    n_levels : int64 array, optional
        Largest code of each column, if known.
    """

    n_features: int
    n_rows: int
    memory: int | None = None
    lies: ClassVar[str] = GPU

    def __init__(
        self,
        n_rows: int,
        n_features: int,
        parts: Callable[[], Iterator[tuple[int, Any, bool, bool]]],
        code_on_host: Callable[[], Codes],
        n_levels: IntArray | None = None,
    ) -> None:
        self.n_rows, self.n_features = n_rows, n_features
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self._parts = parts
        self.on_host: Callable[[], Codes] = code_on_host
        if n_levels is not None:
            self.__dict__["n_levels"] = n_levels

    @staticmethod
    def from_array(
        X: Any,
        block_bytes: int | None = None,
        code_on_host: Callable[[], Codes] | None = None,
    ) -> "CudaCodes":
        """Make codes from an array of whole numbers, on the device or on the host.

        Of shape (n_rows, n_features), in any order of memory. NaN is missing. When the columns
        are read, one that spans more than 254 values raises :class:`NotOnDevice`, a number that is
        not whole :class:`NotWholeError`.
        """
        n, p = X.shape
        on_host = not is_device_array(X)
        if X.dtype.kind not in "biuf" or X.dtype.itemsize > 8:
            raise NotOnDevice(f"columns of {X.dtype} are read on the CPU")
        by_rows = not (X.flags.f_contiguous and X.ndim == 2) or X.flags.c_contiguous
        narrowed = X.dtype.itemsize > 1
        size = HOST_BLOCK if on_host else NARROWED_BLOCK if narrowed else DEVICE_BLOCK
        width = _width(size if block_bytes is None else block_bytes, n, X.itemsize)

        def parts() -> Iterator[tuple[int, Any, bool, bool]]:
            for low, high in split(p, width):
                block = X[:, low:high] if by_rows else X.T[low:high]
                if on_host:
                    block = as_device(block)
                elif not narrowed and block.strides[1] != 1:
                    block = xp().ascontiguousarray(block)
                yield low, block, by_rows, False

        def code_array() -> Codes:
            return whole_codes(DenseSource(X if on_host else to_host(X)))

        return CudaCodes(n, p, parts, code_array if code_on_host is None else code_on_host)

    @staticmethod
    def from_codes(codes: Codes, block_bytes: int | None = None) -> "CudaCodes":
        """Make codes from codes on the host, such as those of numbers that were cut there."""
        size = HOST_BLOCK if block_bytes is None else block_bytes
        width, p = _width(size, codes.n_rows, 1), codes.n_features
        is_held = codes.memory is None  # codes of a table on disk come in their own parts
        ranges = [(0, p)] if is_held else split(p, codes.width)

        def parts() -> Iterator[tuple[int, Any, bool, bool]]:
            for begin, end in ranges:
                first, part_codes = begin, codes if is_held else codes.part(begin, end)
                if part_codes.dtype.itemsize > 1:
                    raise NotOnDevice("columns of more than 254 levels are counted on the CPU")
                for low, high in split(part_codes.n_features, width):
                    if isinstance(part_codes, WholeCodes) and part_codes.values.itemsize == 1:
                        # transposed on the device
                        values, by_rows = (
                            part_codes.values[:, low:high],
                            part_codes.values.flags.c_contiguous,
                        )
                        block = as_device(values if by_rows else values.T)
                        yield first + low, block, bool(by_rows), False
                    else:
                        yield first + low, as_device(part_codes.block(low, high)), False, True

        known = codes.n_levels if is_held else None
        return CudaCodes(codes.n_rows, p, parts, lambda: codes, known)

    def blocks(self) -> Iterator[ByteBlock]:
        """Yield all columns, block by block: one pass over them."""
        with translate_memory_errors():
            for first, block, by_rows, codes in self._parts():
                flip = 128 if block.dtype.kind == "i" else 0
                if block.dtype.itemsize > 1 or block.dtype.kind == "f":
                    block, codes, flip = _narrow_to_bytes(block, by_rows, first), True, 0
                values = block.view(xp().uint8)
                yield ByteBlock(
                    first, values, by_rows, flip, codes, *_bounds(values, by_rows, flip)
                )

    @cached_property
    def n_levels(self) -> IntArray:
        """The largest code of each column: one pass, the first time."""
        largest = np.zeros(self.n_features, np.int64)
        for coded in self.blocks():
            top = coded.high if coded.codes else coded.high - coded.low + 1
            largest[coded.first : coded.first + coded.n_columns] = to_host(top)
        return largest

    def each(self, function: Callable[["CudaCodes"], Any]) -> list[Any]:
        """Call a function with all columns: their blocks come to the device one by one."""
        return [function(self)]

    def any_missing(self) -> bool:
        """Return whether any value is missing: a pass, up to the first."""
        return any(coded.codes and bool((coded.low == 0).any()) for coded in self.blocks())

    def tables(self, groups: IntArray, n_groups: int) -> Tables:
        """Return counts of every column against a grouping of the rows, on the host."""
        from featly.core.counts.entropy_cuda import tables

        return tables(self, groups, n_groups)


@dataclass(frozen=True)
class CudaTables:
    """Counts of every column against a grouping of the rows, which are made when they are asked.

    What a device computes of them is computed there, and never are all of them there; what is
    computed on the host takes them as :class:`featly.core.counts.contingency.Tables`.
    """

    codes: CudaCodes
    groups: IntArray
    n_groups: int
    lies: ClassVar[str] = GPU

    @cached_property
    def _on_host(self) -> Tables:
        return self.codes.tables(self.groups, self.n_groups)

    @property
    def counts(self) -> AnyArray:
        """The counts on the host."""
        return self._on_host.counts

    @property
    def start(self) -> IntArray:
        """Start of each table in the counts."""
        return self._on_host.start

    @property
    def n_classes(self) -> int:
        """Number of groups."""
        return self.n_groups

    def __len__(self) -> int:
        return self.codes.n_features


def _width(size: int, n_rows: int, itemsize: int) -> int:
    """Return the columns of a block of so many bytes."""
    return max(1, size // max(1, n_rows * itemsize * ALIGNED)) * ALIGNED


def _bounds(values: Any, by_rows: bool, flip: int) -> tuple[Any, Any]:
    """Return the smallest and the largest byte of every column."""
    cupy = xp()
    n, m = values.shape if by_rows else values.shape[::-1]
    low, high = cupy.full(m, 255, cupy.int32), cupy.zeros(m, cupy.int32)
    stride, grid = values.strides[0], (-(-m // (THREADS // 32)), 1)
    if by_rows:
        four = 4 if stride % 4 == 0 and values.data.ptr % 4 == 0 else 1
        loop = kernel(SOURCE, "bounds_of_rows", FOUR=int(four == 4))
        blocks = -(-m // (THREADS * four))
        pieces = max(1, min(n // 64, WAVE // (blocks * THREADS)))
        grid = (blocks, min(pieces, 65_535))
    else:
        loop = kernel(SOURCE, "bounds_of_columns", FOUR=0)
    loop(grid, (THREADS,), (values, stride, n, m, flip, low, high))
    return low, high


def _narrow_to_bytes(block: Any, by_rows: bool, first: int) -> Any:
    """Return codes of one byte of whole numbers: ``value - smallest + 1``, 0 where missing."""
    cupy = xp()
    if block.dtype == cupy.float16:
        block = block.astype(cupy.float32)
    n, m = block.shape if by_rows else block.shape[::-1]
    row, column = block.strides if by_rows else block.strides[::-1]
    low, span = cupy.empty(m, block.dtype), cupy.empty(m, cupy.int32)
    bad_row = cupy.empty(m, cupy.int32)
    lanes = 1 if by_rows else 32
    loop = kernel(SOURCE, "survey", TYPE=C_TYPES[block.dtype.name], LANES=lanes, FOUR=0)
    size = block.itemsize
    arguments = (block, row // size, column // size, n, m, low, span, bad_row)
    loop((-(-m * lanes // THREADS),), (THREADS,), arguments)
    most, has_bad = int(span.max()), int((bad_row < n).any())
    if has_bad:
        bad_column = int((bad_row < n).argmax())
        first_bad_row = int(bad_row[bad_column])
        value = float(
            block[first_bad_row, bad_column] if by_rows else block[bad_column, first_bad_row]
        )
        raise NotWholeError(first + bad_column, first_bad_row, value)
    if most >= SMALL:
        column = first + int((span >= SMALL).argmax())
        raise NotOnDevice(
            f"column {column} spans more than {SMALL} values: it is counted on the CPU"
        )
    return _code_loop()(block, low[None, :] if by_rows else low[:, None])


def _code_loop() -> Any:
    """Return the elementwise kernel for the code of a value, given its column's smallest one."""
    return xp().ElementwiseKernel(
        "T x, T low",
        "uint8 code",
        "code = x != x ? 0 : (unsigned char)(x - low + (T)1)",
        "featly_code",
    )


SOURCE = r"""
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifndef TYPE
#define TYPE float
#define LANES 1
#endif
#define REAL ((TYPE)0.5 != (TYPE)0)
#define TOO_WIDE 1048576

// Find the smallest and largest byte of every column of a row-major table. With FOUR, a thread
// takes four neighbouring columns, two of them in the halves of a word. Rows are divided among
// blockIdx.y.
extern "C" __global__ void bounds_of_rows(
    const u8* values, i64 stride, i64 n, i64 m, i64 flip, int* low, int* high)
{
    const i64 begin = n * blockIdx.y / gridDim.y, end = n * (blockIdx.y + 1) / gridDim.y;
#if FOUR
    const i64 column = 4 * (blockIdx.x * (i64)blockDim.x + threadIdx.x);
    if (column >= m) return;
    const u32 flips = (u32)flip * 0x01010101u;
    u32 least[2] = {0x00ff00ffu, 0x00ff00ffu}, most[2] = {0, 0};
    const u8* at = values + begin * stride + column;
    #pragma unroll 8
    for (i64 row = begin; row < end; row++, at += stride) {
        const u32 four = *(const u32*)at ^ flips;
        const u32 even = four & 0x00ff00ffu, odd = (four >> 8) & 0x00ff00ffu;
        least[0] = __vminu2(least[0], even);
        least[1] = __vminu2(least[1], odd);
        most[0] = __vmaxu2(most[0], even);
        most[1] = __vmaxu2(most[1], odd);
    }
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        const int shift = k & 2 ? 16 : 0;
        if (column + k < m) {
            atomicMin(low + column + k, (int)((least[k & 1] >> shift) & 255));
            atomicMax(high + column + k, (int)((most[k & 1] >> shift) & 255));
        }
    }
#else
    const i64 column = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (column >= m) return;
    int least = 255, most = 0;
    const u8* at = values + begin * stride + column;
    #pragma unroll 8
    for (i64 row = begin; row < end; row++, at += stride) {
        const int value = *at ^ (int)flip;
        least = min(least, value);
        most = max(most, value);
    }
    atomicMin(low + column, least);
    atomicMax(high + column, most);
#endif
}

// Find those of a feature-major table: a warp a column.
extern "C" __global__ void bounds_of_columns(
    const u8* values, i64 stride, i64 n, i64 m, i64 flip, int* low, int* high)
{
    const i64 column = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
    if (column >= m) return;
    const int lane = threadIdx.x & 31;
    const u8* at = values + column * stride;
    int least = 255, most = 0;
    #pragma unroll 8
    for (i64 row = lane; row < n; row += 32) {
        const int value = at[row] ^ (int)flip;
        least = min(least, value);
        most = max(most, value);
    }
    for (int step = 16; step > 0; step >>= 1) {
        least = min(least, __shfl_xor_sync(0xffffffffu, least, step));
        most = max(most, __shfl_xor_sync(0xffffffffu, most, step));
    }
    if (lane == 0) {
        low[column] = least;
        high[column] = most;
    }
}

// Find the smallest number of every column, of any type, the distance of the largest from it, and
// the first row with a number that is not whole, or n. LANES threads share a column.
extern "C" __global__ void survey(
    const TYPE* values, i64 row_stride, i64 column_stride, i64 n, i64 m, TYPE* low, int* span,
    int* bad_row)
{
    const i64 column = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / LANES;
    if (column >= m) return;
    const int lane = threadIdx.x % LANES;
    const TYPE* at = values + column * column_stride;
    TYPE least = 0, most = 0;
    int any = 0, bad = (int)n;
    for (i64 row = lane; row < n; row += LANES) {
        const TYPE value = at[row * row_stride];
        if (value != value) continue;
        // infinity less infinity is not 0
        if (REAL && (floor((double)value) != (double)value || value - value != (TYPE)0)) {
            bad = min(bad, (int)row);
            continue;
        }
        least = !any || value < least ? value : least;
        most = !any || value > most ? value : most;
        any = 1;
    }
#if LANES > 1
    for (int step = LANES / 2; step > 0; step >>= 1) {
        const TYPE other_least = __shfl_xor_sync(0xffffffffu, least, step);
        const TYPE other_most = __shfl_xor_sync(0xffffffffu, most, step);
        const int other_any = __shfl_xor_sync(0xffffffffu, any, step);
        bad = min(bad, __shfl_xor_sync(0xffffffffu, bad, step));
        if (other_any) {
            least = !any || other_least < least ? other_least : least;
            most = !any || other_most > most ? other_most : most;
            any = 1;
        }
    }
#endif
    if (lane == 0) {
        low[column] = least;
        // integers are subtracted as unsigned ones, which cannot overflow
        const double distance = REAL ? (double)most - (double)least
                                  : (double)((u64)most - (u64)least);
        span[column] = distance < TOO_WIDE ? (int)distance : TOO_WIDE;
        bad_row[column] = bad;
    }
}
"""
