"""Information of columns about the class, counted on the device.

The CUDA counterpart of :func:`featly.core.counts.entropy.class_information` and
:func:`featly.core.counts.contingency.chi_squared`: the same whole numbers, and the same sums of
floats in the same order. Tables of counts stay on the device; a number a column comes back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.counts import codes as host_codes
from featly.core.counts import contingency, entropy
from featly.core.counts.bitpacking import PlaneLayout
from featly.core.counts.bitplanes_cuda import (
    CONSTANT,
    TILE,
    WIDE,
    DeviceLayout,
    Part,
    group_by_planes,
    margins,
    pack,
)
from featly.core.counts.codes import table_starts
from featly.core.counts.codes_cuda import ByteBlock, CudaCodes, CudaTables
from featly.core.counts.contingency import Tables
from featly.core.counts.entropy import ClassInformation, FixedPoint
from featly.core.counts.histograms_cuda import histograms
from featly.core.runtime.device_cuda import (
    NotOnDevice,
    kernel,
    to_host,
    translate_memory_errors,
    xp,
)
from featly.core.runtime.parallel import split

__all__ = ["chi_squared", "class_information", "tables"]


MOST_PADDING = 4  # words of a plane with classes apart, as a multiple of those without
PLANE_BYTES = 1 << 30  # of planes that are counted once and dropped
COUNT_BYTES = 1 << 27  # of counts that are on the device at a time
THREADS = 256


@dataclass(frozen=True)
class LevelCounts:
    """Counts of some columns of a block by level and class.

    Attributes
    ----------
    first : int
        Number of the first column of the block.
    columns : int32 array or None
        Positions in the block; None for those from `offset` on, in order.
    offset, n_columns : int
        The columns counted here are ``columns[offset : offset + n_columns]``.
    n_levels : int
    counts : int32 array
    strides : tuple
        Entries from a level, a class and a column to the next.
    """

    first: int
    columns: Any
    offset: int
    n_columns: int
    n_levels: int
    counts: Any
    strides: tuple[int, int, int]


class Classes:
    """Classes of the rows, on the device.

    Parameters
    ----------
    classes : int64 array of shape (n_rows,)
    n_classes : int

    Attributes
    ----------
    layout : DeviceLayout
    padding : float
        Words of the layout, as a multiple of those that the rows need.
    """

    n_classes: int
    n_rows: int

    def __init__(self, classes: IntArray, n_classes: int) -> None:
        cupy = xp()
        self.n_rows, self.n_classes = len(classes), n_classes
        self.sizes: IntArray = np.bincount(classes, minlength=n_classes)
        self.classes: Any = cupy.asarray(classes.astype(np.int32))
        self.device_sizes: Any = cupy.asarray(self.sizes.astype(np.int64))
        layout = PlaneLayout.from_classes(classes, n_classes)
        self.padding: float = layout.n_words / -(-self.n_rows // 64)
        self.layout: DeviceLayout = DeviceLayout.from_layout(layout)

    def count_part(self, part: Part) -> Iterator[LevelCounts]:
        """Yield counts of columns in planes of this layout."""
        tile_bytes = 4 * (part.n_planes + 1) * self.n_classes * TILE
        for low, high in split(len(part.data), max(1, COUNT_BYTES // tile_bytes)):
            counts = margins(part, low, high, self.layout)
            width = counts.shape[2]
            m = min(part.n_columns - low * TILE, width)
            strides = (self.n_classes * width, width, 1)
            levels = part.n_planes + 1
            yield LevelCounts(part.first, part.columns, low * TILE, m, levels, counts, strides)

    def count_levels(
        self, levels: Any, n_levels: int, first: int, columns: Any, offset: int = 0
    ) -> Iterator[LevelCounts]:
        """Yield counts of columns in bytes, feature-major, row by row."""
        strides = (self.n_classes, 1, n_levels * self.n_classes)
        for low, high in split(len(levels), max(1, COUNT_BYTES // (4 * strides[2]))):
            counts = histograms(levels[low:high], n_levels, self.classes, self.n_classes)
            start = offset + low
            yield LevelCounts(first, columns, start, high - low, n_levels, counts, strides)

    def count_block(self, coded: ByteBlock, columns: Any) -> Iterator[LevelCounts]:
        """Yield counts of some columns of a block, or of all if None, row by row."""
        n_levels = coded.most_levels(columns)
        m = coded.n_columns if columns is None else len(columns)
        for low, high in split(m, max(1, PLANE_BYTES // self.n_rows)):
            if columns is None:
                levels = coded.part(low, high).levels()
            else:
                levels = coded.levels(columns[low:high])
            yield from self.count_levels(levels, n_levels, coded.first, columns, low)

    def count_blocks(self, codes: CudaCodes) -> Iterator[tuple[ByteBlock, LevelCounts]]:
        """Yield counts of all columns, some at a time: one pass over them."""
        with translate_memory_errors():
            for block in codes.blocks():
                column_bytes = self.n_rows  # bytes of a column in planes, if it has eight of them
                for low, high in split(block.n_columns, max(1, PLANE_BYTES // column_bytes)):
                    coded = block.part(low, high)
                    for n_planes, columns in group_by_planes(coded):
                        for block_counts in self._count_columns(coded, columns, n_planes):
                            yield coded, block_counts

    def _count_columns(
        self, coded: ByteBlock, columns: Any, n_planes: int
    ) -> Iterator[LevelCounts]:
        if n_planes in (CONSTANT, WIDE) or self.padding > MOST_PADDING:
            yield from self.count_block(coded, columns)
        else:
            yield from self.count_part(pack(coded, columns, n_planes, self.layout))


def class_information(codes: CudaCodes, classes: IntArray, n_classes: int) -> ClassInformation:
    """Return mutual information and entropies of every column with the class, on the host."""
    cupy = xp()
    grouping, fixed = Classes(classes, n_classes), FixedPoint.for_rows(len(classes))
    table = cupy.asarray(fixed.table)
    mutual, entropy = (cupy.zeros(codes.n_features, cupy.int64) for _ in range(2))
    by_class = int(fixed.table[grouping.sizes].sum())
    for _, block_counts in grouping.count_blocks(codes):
        fill_class_information(block_counts, grouping, table, by_class, mutual, entropy)
    class_terms = np.broadcast_to(fixed.table[-1] - by_class, codes.n_features)
    return ClassInformation(to_host(mutual), to_host(entropy), class_terms, fixed.scale)


def fill_class_information(
    block_counts: LevelCounts,
    grouping: Classes,
    table: Any,
    by_class: int,
    mutual: Any,
    entropy: Any,
) -> None:
    """Fill in n I(X; Y) and n H(X) of the columns that were counted."""
    loop = kernel(SOURCE, "class_information")
    arguments = (
        table,
        grouping.n_rows,
        by_class,
        mutual[block_counts.first :],
        entropy[block_counts.first :],
    )
    loop(*_launch(block_counts, grouping, arguments))


def chi_squared(
    codes: CudaCodes, classes: IntArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return Pearson's statistic of every column and its degrees of freedom, on the host."""
    cupy = xp()
    grouping = Classes(classes, n_classes)
    statistic, freedom = cupy.zeros(codes.n_features), cupy.ones(codes.n_features)
    loop = kernel(SOURCE, "pearson")
    for _, block_counts in grouping.count_blocks(codes):
        out = (statistic[block_counts.first :], freedom[block_counts.first :])
        loop(*_launch(block_counts, grouping, (grouping.device_sizes, grouping.n_rows, *out)))
    return to_host(statistic), to_host(freedom)


def tables(codes: CudaCodes, groups: IntArray, n_groups: int) -> Tables:
    """Return counts of every column against a grouping of the rows, on the host.

    The first row of every table counts missing values, the others the levels.
    """
    cupy = xp()
    grouping = Classes(groups, n_groups)
    start = table_starts(codes.n_levels, n_groups)
    counts = np.zeros(start[-1], np.int64)
    loop = kernel(SOURCE, "scatter")
    latest: ByteBlock | None = None
    begin = block_tables = cupy.zeros(0, cupy.int64)

    def fetch_tables() -> None:
        if latest is not None:
            low = int(start[latest.first])
            counts[low : low + len(block_tables)] = to_host(block_tables)

    for coded, block_counts in grouping.count_blocks(codes):
        if coded is not latest:
            fetch_tables()
            block_starts = start[coded.first : coded.first + coded.n_columns + 1]
            begin, latest = cupy.asarray(block_starts - block_starts[0]), coded
            block_tables = cupy.zeros(int(block_starts[-1] - block_starts[0]), cupy.int64)
        loop(*_launch(block_counts, grouping, (begin, coded.table_row, block_tables)))
    fetch_tables()
    return Tables(counts, start, n_groups)


# ---- answers --------------------------------------------------------------------------------
@host_codes.count_levels.answer(CudaCodes)
def _tables_of_codes(codes: CudaCodes, groups: IntArray, n_groups: int) -> CudaTables:
    """Count them when something is computed of the counts."""
    return CudaTables(codes, groups, n_groups)


@host_codes.spread_missing.answer(CudaTables)
def _spread_nothing(tables: CudaTables) -> CudaTables:
    """Return the same counts, if there is nothing to spread."""
    if tables.codes.any_missing():
        raise NotOnDevice("missing='spread' is computed on the CPU")
    return tables


@entropy.class_information.answer(CudaTables)
def _information_of_tables(
    tables: CudaTables, n_rows: float, n_jobs: int | None = None
) -> ClassInformation:
    """Count and sum up on the device."""
    return class_information(tables.codes, tables.groups, tables.n_groups)


@contingency.chi_squared.answer(CudaTables)
def _chi_squared_of_tables(
    tables: CudaTables, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Count and sum up on the device."""
    return chi_squared(tables.codes, tables.groups, tables.n_groups)


def _launch(
    block_counts: LevelCounts, grouping: Classes, arguments: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return grid, block and arguments of a kernel of one thread a column."""
    m = block_counts.n_columns
    columns = 0 if block_counts.columns is None else block_counts.columns[block_counts.offset :]
    offset = block_counts.offset if block_counts.columns is None else 0
    head = (
        block_counts.counts,
        *block_counts.strides,
        block_counts.n_levels,
        grouping.n_classes,
        m,
    )
    return (-(-m // THREADS),), (THREADS,), (*head, columns, offset, *arguments)


SOURCE = r"""
typedef long long i64;

#define COUNTED const int* counts, i64 to_level, i64 to_class, i64 to_column, i64 n_levels, \
    i64 n_classes, i64 m, const int* columns, i64 offset
#define COUNT(level, c) (i64)own_counts[(level) * to_level + (c) * to_class]
#define BEGIN \
    const i64 position = blockIdx.x * (i64)blockDim.x + threadIdx.x; \
    if (position >= m) return; \
    const i64 f = columns ? columns[position] : offset + position; \
    const int* const own_counts = counts + position * to_column;

extern "C" __global__ void class_information(
    COUNTED, const i64* table, i64 n, i64 by_class, i64* mutual, i64* entropy)
{
    BEGIN
    i64 cells = 0, levels = 0, terms = 2 + n_classes;
    for (i64 level = 0; level < n_levels; level++) {
        i64 size = 0;
        for (i64 c = 0; c < n_classes; c++) {
            const i64 count = COUNT(level, c);
            size += count;
            cells += table[count];
            terms += count > 1;
        }
        levels += table[size];
        terms += size > 1;
    }
    // 0 where rounding alone explains it
    const i64 sum = table[n] + cells - levels - by_class;
    mutual[f] = sum <= terms ? 0 : sum;
    entropy[f] = table[n] - levels;
}

extern "C" __global__ void pearson(
    COUNTED, const i64* sizes, i64 n, double* statistic, double* freedom)
{
    BEGIN
    i64 n_occupied = 0, n_present = 0;
    for (i64 c = 0; c < n_classes; c++) n_present += sizes[c] > 0;
    for (i64 level = 0; level < n_levels; level++) {
        i64 size = 0;
        for (i64 c = 0; c < n_classes; c++) size += COUNT(level, c);
        n_occupied += size > 0;
    }
    if (n_occupied < 2 || n_present < 2) return;
    double sum = 0.0;
    for (i64 level = 0; level < n_levels; level++) {
        i64 size = 0;
        for (i64 c = 0; c < n_classes; c++) size += COUNT(level, c);
        if (size == 0) continue;
        for (i64 c = 0; c < n_classes; c++) {
            if (sizes[c] == 0) continue;
            // each operation is rounded by itself, as on the CPU
            const double expected = (double)(size * sizes[c]);
            const double difference = __dsub_rn((double)(COUNT(level, c) * n), expected);
            sum = __dadd_rn(sum, __ddiv_rn(__dmul_rn(difference, difference), expected));
        }
    }
    statistic[f] = __ddiv_rn(sum, (double)n);
    freedom[f] = (double)((n_occupied - 1) * (n_present - 1));
}

extern "C" __global__ void scatter(COUNTED, const i64* start, const int* table_row, i64* out)
{
    BEGIN
    i64* const to = out + start[f];
    const i64 n_here = (start[f + 1] - start[f]) / n_classes - table_row[f];
    for (i64 level = 0; level < n_levels && level < n_here; level++)
        for (i64 c = 0; c < n_classes; c++)
            to[(table_row[f] + level) * n_classes + c] = COUNT(level, c);
}
"""
