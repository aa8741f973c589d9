"""Columns of many levels on the device, as bytes: counted row by row.

The twin of :mod:`featly.core.counts.histograms`. The sum of T(k) = k log2 k over all cells is built
up while counting, by T(k + 1) - T(k) for every row that comes to a cell of k rows: whole numbers,
which add up to the same whichever thread comes first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.core.counts.bitplanes import NOISE
from featly.core.counts.bitplanes_cuda import ConditioningColumn, DeviceLayout, Terms
from featly.core.runtime.device_cuda import kernel, xp

__all__ = ["WideColumns", "histograms"]

THREADS = 256


@dataclass(frozen=True)
class WideColumns:
    """Some columns as bytes.

    Attributes
    ----------
    first : int
        The number of the first column of the block that they are from.
    columns : int32 array or None
        Which columns of the block; None for all.
    n_columns : int
    n_levels : int
        More than the largest level of any.
    data : uint8 array of shape (n_columns, n_rows)
        Their levels from 0. None once a :class:`~featly.core.greedy.cache_cuda.PlaneStore` has it.
    """

    first: int
    columns: Any
    n_columns: int
    n_levels: int
    data: Any


@dataclass(frozen=True)
class RowOrder:
    """Rows sorted by the levels of the other column, and within them by class.

    Attributes
    ----------
    order : int32 array of shape (n_rows,)
    ends : int32 array of shape (n_levels * n_classes + 1,)
        Where the rows of a level and class end.
    """

    order: Any
    ends: Any

    @staticmethod
    def from_column(other: ConditioningColumn, layout: DeviceLayout) -> "RowOrder":
        """Sort the rows by the other column and the class."""
        cupy = xp()
        key = other.levels * layout.n_classes + layout.classes
        ends = cupy.zeros(other.n_levels * layout.n_classes + 1, cupy.int32)
        cupy.cumsum(other.counts[: other.n_levels].ravel(), out=ends[1:])
        return RowOrder(cupy.argsort(key).astype(cupy.int32), ends)


def information(
    wide: WideColumns,
    levels: Any,
    other: ConditioningColumn,
    rows: RowOrder,
    layout: DeviceLayout,
    terms: Terms,
) -> None:
    """Compute the information that every column shares with the other one."""
    m, n = levels.shape
    from_first = slice(wide.first, None)
    by_class = layout.n_classes > 1
    loop = kernel(SOURCE, "visit", BY_CLASS=int(by_class), NOISE=NOISE)
    wants_redundancy = terms.redundancy is not None
    arguments = (
        levels, n, m, 0 if wide.columns is None else wide.columns, rows.order, rows.ends,
        other.n_levels, layout.n_classes, terms.steps, terms.own[from_first], other.added,
        terms.dropped_bits, terms.redundancy[from_first] if wants_redundancy else 0,
        terms.conditional[from_first] if by_class else 0,
    )  # fmt: skip
    loop((-(-m * 32 // THREADS),), (THREADS,), arguments)


def histograms(levels: Any, n_levels: int, classes: Any, n_classes: int) -> Any:
    """Return counts of levels by class, of shape (n_columns, n_levels, n_classes)."""
    m, n = levels.shape
    counts = xp().zeros((m, n_levels, n_classes), np.int32)
    loop = kernel(SOURCE, "histogram", BY_CLASS=0, NOISE=NOISE)
    loop((m,), (THREADS,), (levels, n, n_levels, classes, n_classes, counts))
    return counts


SOURCE = r"""
typedef unsigned char u8;
typedef long long i64;

extern "C" __global__ void histogram(
    const u8* levels, i64 n, i64 n_levels, const int* classes, i64 n_classes, int* counts)
{
    const u8* const mine = levels + blockIdx.x * n;
    int* const here = counts + blockIdx.x * n_levels * n_classes;
    for (i64 row = threadIdx.x; row < n; row += blockDim.x)
        atomicAdd(here + mine[row] * n_classes + classes[row], 1);
}

__device__ i64 settle(i64 value, i64 bits)
{
    const i64 found = (value + ((1LL << bits) >> 1)) >> bits;
    return found > NOISE ? found : 0;
}

// A warp a column: it visits the rows of a level of the other column, class by class.
extern "C" __global__ void visit(
    const u8* levels, i64 n, i64 m, const int* column, const int* order, const int* ends,
    i64 n_others, i64 n_classes, const i64* steps, const i64* own, const i64* added, i64 bits,
    i64* redundancy, i64* conditional)
{
    __shared__ int counters[8][2][256];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    int* const together = counters[warp][0];
    int* const by_class = counters[warp][1];
    for (int k = lane; k < 256; k += 32) together[k] = by_class[k] = 0;
    __syncwarp();
    const i64 place = blockIdx.x * (i64)8 + warp;
    if (place >= m) return;
    const u8* const mine = levels + place * n;
    i64 joint = 0, given = 0;
    for (i64 other = 0; other < n_others; other++) {
        const int* const parts = ends + other * n_classes;
        for (i64 c = 0; c < n_classes; c++) {
            for (int i = parts[c] + lane; i < parts[c + 1]; i += 32) {
                const int level = mine[order[i]];
                joint += steps[atomicAdd(together + level, 1)];
                if (BY_CLASS) given += steps[atomicAdd(by_class + level, 1)];
            }
            if (BY_CLASS) {
                __syncwarp();
                for (int i = parts[c] + lane; i < parts[c + 1]; i += 32)
                    by_class[mine[order[i]]] = 0;
                __syncwarp();
            }
        }
        __syncwarp();
        for (int i = parts[0] + lane; i < parts[n_classes]; i += 32)
            together[mine[order[i]]] = 0;
        __syncwarp();
    }
    for (int step = 16; step > 0; step >>= 1) {
        joint += __shfl_xor_sync(0xffffffffu, joint, step);
        given += __shfl_xor_sync(0xffffffffu, given, step);
    }
    if (lane == 0) {
        const i64 f = column ? column[place] : place;
        if (redundancy) redundancy[f] = settle(joint + added[0] - own[f], bits);
        if (BY_CLASS) conditional[f] = settle(given - joint + added[1], bits);
    }
}
"""
