"""Columns of many levels on the device, as bytes: counted row by row.

The CUDA counterpart of :mod:`featly.core.counts.histograms`. The sum of T(k) = k log2 k over all
cells is built up while counting, by T(k + 1) - T(k) for every row added to a cell of k rows. These
are whole numbers, so the sum does not depend on the order of threads.
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
        Number of the first column of their block.
    columns : int32 array or None
        Positions in the block; None for all.
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
        End of the rows of each level and class.
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


def fill_information(
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
    const u8* const own_levels = levels + blockIdx.x * n;
    int* const own_counts = counts + blockIdx.x * n_levels * n_classes;
    for (i64 row = threadIdx.x; row < n; row += blockDim.x)
        atomicAdd(own_counts + own_levels[row] * n_classes + classes[row], 1);
}

__device__ i64 round_information(i64 value, i64 bits)
{
    const i64 rounded = (value + ((1LL << bits) >> 1)) >> bits;
    return rounded > NOISE ? rounded : 0;
}

// Visit the rows of each level of the other column, class by class, with a warp a column.
extern "C" __global__ void visit(
    const u8* levels, i64 n, i64 m, const int* column, const int* order, const int* ends,
    i64 n_others, i64 n_classes, const i64* steps, const i64* own, const i64* added, i64 bits,
    i64* redundancy, i64* conditional)
{
    __shared__ int counters[8][2][256];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    int* const joint_counts = counters[warp][0];
    int* const class_counts = counters[warp][1];
    for (int k = lane; k < 256; k += 32) joint_counts[k] = class_counts[k] = 0;
    __syncwarp();
    const i64 position = blockIdx.x * (i64)8 + warp;
    if (position >= m) return;
    const u8* const own_levels = levels + position * n;
    i64 joint = 0, given = 0;
    for (i64 other = 0; other < n_others; other++) {
        const int* const parts = ends + other * n_classes;
        for (i64 c = 0; c < n_classes; c++) {
            for (int i = parts[c] + lane; i < parts[c + 1]; i += 32) {
                const int level = own_levels[order[i]];
                joint += steps[atomicAdd(joint_counts + level, 1)];
                if (BY_CLASS) given += steps[atomicAdd(class_counts + level, 1)];
            }
            if (BY_CLASS) {
                __syncwarp();
                for (int i = parts[c] + lane; i < parts[c + 1]; i += 32)
                    class_counts[own_levels[order[i]]] = 0;
                __syncwarp();
            }
        }
        __syncwarp();
        for (int i = parts[0] + lane; i < parts[n_classes]; i += 32)
            joint_counts[own_levels[order[i]]] = 0;
        __syncwarp();
    }
    for (int step = 16; step > 0; step >>= 1) {
        joint += __shfl_xor_sync(0xffffffffu, joint, step);
        given += __shfl_xor_sync(0xffffffffu, given, step);
    }
    if (lane == 0) {
        const i64 f = column ? column[position] : position;
        if (redundancy) redundancy[f] = round_information(joint + added[0] - own[f], bits);
        if (BY_CLASS) conditional[f] = round_information(given - joint + added[1], bits);
    }
}
"""
