"""Bit-planes on the device: packed from blocks of columns, counted against one column.

The CUDA counterpart of :mod:`featly.core.counts.bitpacking` and
:mod:`featly.core.counts.bitplanes`: counts, and so results, are the same whole numbers. A column
whose bytes span L values has L - 1 planes, rounded up to one of a few numbers for which kernels are
compiled: an empty plane changes nothing. A column of too many levels is stored as bytes
(:mod:`featly.core.counts.histograms_cuda`).
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.core.counts.bitpacking import PlaneLayout
from featly.core.counts.bitplane_kernels_cuda import PACK, PLANES
from featly.core.counts.bitplanes import NOISE
from featly.core.counts.codes_cuda import ByteBlock
from featly.core.runtime.device_cuda import kernel, xp

__all__ = [
    "CONSTANT",
    "WIDE",
    "ConditioningColumn",
    "DeviceLayout",
    "Part",
    "Terms",
    "group_by_planes",
    "pack",
]


TILE = 128  # columns that lie together
THREADS = 256
WAVE = 1 << 18  # threads that keep the device busy
PLANE_NUMBERS = (1, 2, 3, 4, 6, 8)  # of a column, for which kernels are compiled
OTHER_NUMBERS = (2, 3, 4, 8)  # planes of the other column that are counted at a time
MOST_COUNTERS = 24  # that a thread holds in registers
MOST_SHARED_ENTRIES = 2048  # of the table of k log2 k, in shared memory ...
MOST_SHARED_WORDS = 4096  # ... beside words of the other column
MOST_WASTE = 1.25  # planes made for columns to stay in order, as a multiple of those needed
CONSTANT, WIDE = 0, -1  # in place of a number of planes


@dataclass(frozen=True)
class DeviceLayout:
    """Positions of the rows in the words of a plane: a :class:`PlaneLayout` on the device.

    Attributes
    ----------
    n_words : int
        Words of 32 rows.
    n_classes : int
        Of the grouping by which counts are taken.
    rows : int32 array of shape (32 * n_words,)
        The row of each bit, -1 for none.
    bits : int32 array of shape (n_rows,)
        The bit of each row.
    ends : int32 array of shape (n_classes + 1,)
        The words of class c are ``ends[c]:ends[c + 1]``.
    sizes : int32 array of shape (n_classes,)
    classes : int32 array of shape (n_rows,)
    """

    n_words: int
    n_classes: int
    rows: Any
    bits: Any
    ends: Any
    sizes: Any
    classes: Any

    @staticmethod
    def from_layout(layout: PlaneLayout) -> "DeviceLayout":
        """Copy a layout of words of 64 rows, each of which is two of 32."""
        sizes = np.bincount(layout.classes, minlength=layout.n_classes)
        arrays = (layout.rows, layout.bits, 2 * layout.ends, sizes, layout.classes)
        device_arrays = (xp().asarray(array.astype(np.int32)) for array in arrays)
        return DeviceLayout(2 * layout.n_words, layout.n_classes, *device_arrays)

    def as_one_class(self) -> "DeviceLayout":
        """Return the same words, with all classes counted as one."""
        cupy = xp()
        ends = cupy.asarray(np.array([0, self.n_words], np.int32))
        sizes = cupy.asarray(np.array([len(self.bits)], np.int32))
        zeros = cupy.zeros_like(self.classes)
        return DeviceLayout(self.n_words, 1, self.rows, self.bits, ends, sizes, zeros)


@dataclass(frozen=True)
class Part:
    """Some columns as planes.

    Attributes
    ----------
    first : int
        Number of the first column of their block.
    columns : int32 array or None
        Positions in the block; None for all.
    n_columns, n_planes : int
    data : uint32 array of shape (n_tiles, n_words, n_planes, 128)
        The planes. None once a :class:`~featly.core.greedy.cache_cuda.PlaneStore` has it.
    """

    first: int
    columns: Any
    n_columns: int
    n_planes: int
    data: Any


def group_by_planes(coded: ByteBlock) -> Iterator[tuple[int, Any]]:
    """Yield numbers of planes, and the columns of a block that get that many; None for all.

    CONSTANT stands for columns with one level, WIDE for those with too many. All columns get the
    same number of planes where that wastes little memory, since they then stay in order.
    """
    cupy = xp()
    number = np.zeros(256, np.int8)
    number[1:] = len(PLANE_NUMBERS) + 1
    for k in range(len(PLANE_NUMBERS), 0, -1):
        number[1 : PLANE_NUMBERS[k - 1] + 1] = k
    group = cupy.asarray(number)[coded.high - coded.low]
    sizes = cupy.bincount(group, minlength=len(PLANE_NUMBERS) + 2).get()
    planes = np.array([CONSTANT, *PLANE_NUMBERS, WIDE])
    occurring = np.flatnonzero(sizes)
    largest = int(planes[occurring[-1]])
    needed = int((planes * sizes)[:-1].sum())
    if len(occurring) == 1 or (largest > 0 and largest * coded.n_columns <= MOST_WASTE * needed):
        yield largest, None
        return
    for k in occurring.tolist():
        yield int(planes[k]), cupy.flatnonzero(group == k).astype(cupy.int32)


def pack(coded: ByteBlock, columns: Any, n_planes: int, layout: DeviceLayout) -> Part:
    """Pack some columns of a block, or with None all of them, into planes."""
    m = coded.n_columns if columns is None else len(columns)
    n_tiles = -(-m // TILE)
    planes = xp().empty((n_tiles, layout.n_words, n_planes, TILE), np.uint32)
    if m % TILE:
        planes[-1] = 0  # positions without a column are counted too: their rows are at no level
    values, stride = coded.values, coded.stride
    head = (values, stride, m, coded.flip, coded.low)
    tail = (layout.rows, layout.n_words, planes)
    if not coded.by_rows:
        loop = kernel(PACK, "pack_columns", PLANES=n_planes)
        grid = (n_tiles, -(-layout.n_words // 8))
        loop(grid, (THREADS,), (*head, 0 if columns is None else columns, *tail))
    elif columns is None and stride % 4 == 0 and values.data.ptr % 4 == 0:
        loop = kernel(PACK, "pack_four", PLANES=n_planes)
        loop(_grid(-(-m // 4), layout.n_words), (THREADS,), (*head, *tail))
    else:
        loop = kernel(PACK, "pack_one", PLANES=n_planes)
        grid = _grid(m, layout.n_words)
        loop(grid, (THREADS,), (*head, 0 if columns is None else columns, *tail))
    return Part(coded.first, columns, m, n_planes, planes)


def _grid(n_threads: int, n_words: int) -> tuple[int, int]:
    """Return the number of blocks for some threads, and of pieces into which the words are cut."""
    blocks = -(-n_threads // THREADS)
    return blocks, max(1, min(n_words, WAVE // (blocks * THREADS), 65_535))


@dataclass(frozen=True)
class ConditioningColumn:
    """The column that all others are counted against.

    Attributes
    ----------
    n_levels : int
        Some of them may be empty.
    levels : int32 array of shape (n_rows,)
    counts : int32 array of shape (n_levels + 8, n_classes)
    planes : uint32 array of shape (n_levels + 8, n_words)
        One for every level; the last eight are empty.
    added : int64 array of shape (2,)
        Terms added to sums over counts of both columns, and to those by class.
    """

    n_levels: int
    levels: Any
    counts: Any
    planes: Any
    added: Any

    @staticmethod
    def from_levels(
        levels: Any, n_levels: int, layout: DeviceLayout, table: Any
    ) -> "ConditioningColumn":
        """Make the column from its levels from 0, an int32 array on the device."""
        cupy = xp()
        padded = n_levels + OTHER_NUMBERS[-1]
        counts = cupy.zeros((padded, layout.n_classes), cupy.int32)
        planes = cupy.empty((padded, layout.n_words), cupy.uint32)
        added = cupy.zeros(2, cupy.int64)
        n = len(levels)
        blocks = min(1024, -(-max(n, padded * layout.n_words) // THREADS))
        loop = kernel(OTHER, "fill_other")
        arguments = (levels, n, layout.classes, layout.n_classes, layout.rows, layout.n_words)
        loop((blocks,), (THREADS,), (*arguments, padded, counts, planes))
        sums = kernel(OTHER, "sum_other")
        sums((1,), (THREADS,), (counts, n_levels, layout.n_classes, table, n, added))
        return ConditioningColumn(n_levels, levels, counts, planes, added)


def unpack_levels(words: Any, stride: int, n_planes: int, layout: DeviceLayout) -> Any:
    """Return the levels of a column from its planes, whose words are `stride` apart."""
    levels = xp().empty(len(layout.bits), np.int32)
    loop = kernel(OTHER, "read_levels")
    arguments = (words, stride, n_planes, layout.bits, len(levels), levels)
    loop((-(-len(levels) // THREADS),), (THREADS,), arguments)
    return levels


@dataclass(frozen=True)
class Terms:
    """Tables by which counts become information, and the arrays to write it to.

    All are int64 arrays of CuPy: T(k) = k log2 k and its differences, the sum of T over the levels
    of every column, and the results. `redundancy` is None where it is not wanted.
    """

    table: Any
    steps: Any
    own: Any
    dropped_bits: int
    redundancy: Any
    conditional: Any


def fill_information(
    part: Part, planes: Any, other: ConditioningColumn, layout: DeviceLayout, terms: Terms
) -> None:
    """Compute the information that every column of a part shares with the other one."""
    at_once = next((k for k in OTHER_NUMBERS if k >= other.n_levels), OTHER_NUMBERS[-1])
    while at_once * part.n_planes > MOST_COUNTERS:
        at_once = OTHER_NUMBERS[OTHER_NUMBERS.index(at_once) - 1]
    n_table = len(terms.table)
    shared = n_table <= MOST_SHARED_ENTRIES
    loop = kernel(
        PLANES,
        "count",
        PLANES=part.n_planes,
        OTHERS=at_once,
        BY_CLASS=int(layout.n_classes > 1),
        SHARED_TABLE=int(shared),
        NOISE=NOISE,
    )
    rounds = -(-other.n_levels // at_once)
    shared_words = min(MOST_SHARED_WORDS, rounds * at_once * layout.n_words)
    memory = (8 * n_table if shared else 0) + 4 * shared_words
    n_tiles, from_first = len(planes), slice(part.first, None)
    wants_redundancy = terms.redundancy is not None
    arguments = (
        planes, n_tiles, part.n_columns, layout.n_words, layout.ends, layout.n_classes,
        other.planes, other.n_levels, other.counts, terms.table, n_table,
        0 if part.columns is None else part.columns, terms.own[from_first], other.added,
        terms.dropped_bits, shared_words, terms.redundancy[from_first] if wants_redundancy else 0,
        terms.conditional[from_first] if layout.n_classes > 1 else 0,
    )  # fmt: skip
    loop((min(-(-n_tiles // 2), _most_blocks()),), (2 * TILE,), arguments, shared_mem=memory)


def margins(part: Part, first: int, last: int, layout: DeviceLayout) -> Any:
    """Return the rows of each class at each level of the columns in tiles ``first:last``.

    Of shape (n_planes + 1, n_classes, 128 * tiles).
    """
    width = TILE * (last - first)
    counts = xp().empty((part.n_planes + 1, layout.n_classes, width), np.int32)
    loop = kernel(PLANES, "margins", PLANES=part.n_planes, OTHERS=2, BY_CLASS=0, SHARED_TABLE=0,
                  NOISE=NOISE)  # fmt: skip
    arguments = (part.data, first, layout.n_words, layout.ends, layout.n_classes)
    loop((last - first,), (TILE,), (*arguments, layout.sizes, width, counts))
    return counts


@functools.cache
def _most_blocks() -> int:
    """Return the number of blocks that run at a time; each loads the other column once."""
    return 8 * int(xp().cuda.Device().attributes["MultiProcessorCount"])


OTHER = r"""
typedef unsigned int u32;
typedef long long i64;

// Read the level of every row of a column from its planes; rows without a bit are at the last.
extern "C" __global__ void read_levels(
    const u32* words, i64 stride, i64 n_planes, const int* bits, i64 n, int* levels)
{
    const i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (row >= n) return;
    const int bit = bits[row];
    int level = (int)n_planes;
    for (int i = 0; i < n_planes; i++)
        if ((words[(i64)((bit >> 5) * n_planes + i) * stride] >> (bit & 31)) & 1) level = i;
    levels[row] = level;
}

// Add up counts of the levels by class, which must be 0 before, and make a plane of each level.
extern "C" __global__ void fill_other(
    const int* levels, i64 n, const int* classes, i64 n_classes, const int* rows, i64 n_words,
    i64 padded, int* counts, u32* planes)
{
    const i64 thread = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 row = thread; row < n; row += n_threads)
        atomicAdd(counts + levels[row] * n_classes + classes[row], 1);
    for (i64 k = thread; k < padded * n_words; k += n_threads) {
        const int level = (int)(k / n_words);
        const int* const word_rows = rows + 32 * (k % n_words);
        u32 word = 0;
        for (int i = 0; i < 32; i++)
            if (word_rows[i] >= 0 && levels[word_rows[i]] == level) word |= 1u << i;
        planes[k] = word;
    }
}

// Compute T(n) - sum of T over levels, and that sum - sum of T over levels by class; T is `table`.
extern "C" __global__ void sum_other(
    const int* counts, i64 n_levels, i64 n_classes, const i64* table, i64 n, i64* added)
{
    __shared__ unsigned long long sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    for (i64 level = threadIdx.x; level < n_levels; level += blockDim.x) {
        i64 size = 0, cells = 0;
        for (i64 c = 0; c < n_classes; c++) {
            const int count = counts[level * n_classes + c];
            size += count;
            cells += table[count];
        }
        atomicAdd(sums, (unsigned long long)table[size]);
        atomicAdd(sums + 1, (unsigned long long)cells);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        added[0] = table[n] - (i64)sums[0];
        added[1] = (i64)sums[0] - (i64)sums[1];
    }
}
"""
