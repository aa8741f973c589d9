"""Mean and variance of every column within groups of rows, on the device, in one pass.

As in :mod:`featly.core.sources.moments` each group of a column is shifted by its own first value
before it is summed, so a constant group gives exactly M2 = 0. Rows are summed in an order that
their number and groups determine: by one thread a column where rows lie together in memory, by a
warp where columns do.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.typing import IntArray
from featly.core.runtime import device_cuda
from featly.core.runtime.parallel import split

__all__ = ["TYPE_NAMES", "Tasks", "column_layout", "compute_moments"]


THREADS = 128
WARPS = 8  # columns of a block where a warp sums one
TASK_ROWS = 4096  # rows that one thread or warp sums: more are divided ...
MOST_TASKS = 1024  # ... into at most about so many parts

# the types of numbers that may lie on the device, as the kernels call them
TYPES = {
    "float32": "float",
    "float64": "double",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "int32": "int",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "bool": "uint8",
}
TYPE_NAMES = """
typedef signed char int8;
typedef unsigned char uint8;
typedef short int16;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;
"""

SOURCE = (
    TYPE_NAMES
    + r"""
// Row r of column c is x[r * row_step + c * column_step]. A task is begin, end and group: entries
// of rows.
extern "C" __global__ void first_values(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows,
    const int* __restrict__ bounds, int n_groups, double* __restrict__ shift)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    for (int g = blockIdx.y; g < n_groups; g += gridDim.y) {
        double first = __longlong_as_double(0x7ff8000000000000LL);
        for (int k = bounds[g]; k < bounds[g + 1]; k++) {
            double value = (double)column[rows[k] * row_step];
            if (value == value) { first = value; break; }
        }
        shift[(long long)g * width + j] = first;
    }
}

extern "C" __global__ void moments_rows(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows,
    const int* __restrict__ tasks, int n_tasks, const double* __restrict__ shift,
    double* __restrict__ partial)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    for (int t = blockIdx.y; t < n_tasks; t += gridDim.y) {
        int k = tasks[3 * t], end = tasks[3 * t + 1];
        double s = shift[(long long)tasks[3 * t + 2] * width + j];
        double s1 = 0.0, s2 = 0.0;
        int seen = 0;
        for (; k + 8 <= end; k += 8) {
            double d[8];
            #pragma unroll
            for (int q = 0; q < 8; q++) d[q] = (double)column[rows[k + q] * row_step];
            #pragma unroll
            for (int q = 0; q < 8; q++) {
                bool known = d[q] == d[q];
                d[q] = known ? d[q] - s : 0.0;
                seen += known;
            }
            s1 += ((d[0] + d[1]) + (d[2] + d[3])) + ((d[4] + d[5]) + (d[6] + d[7]));
            s2 += ((d[0] * d[0] + d[1] * d[1]) + (d[2] * d[2] + d[3] * d[3]))
                + ((d[4] * d[4] + d[5] * d[5]) + (d[6] * d[6] + d[7] * d[7]));
        }
        for (; k < end; k++) {
            double d = (double)column[rows[k] * row_step];
            bool known = d == d;
            d = known ? d - s : 0.0;
            seen += known;
            s1 += d;
            s2 += d * d;
        }
        double* out = partial + 3LL * t * width + j;
        out[0] = s1;
        out[width] = s2;
        out[2LL * width] = (double)seen;
    }
}

extern "C" __global__ void moments_columns(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows,
    const int* __restrict__ tasks, int n_tasks, const double* __restrict__ shift,
    double* __restrict__ partial)
{
    int lane = threadIdx.x & 31;
    int j = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    for (int t = blockIdx.y; t < n_tasks; t += gridDim.y) {
        double s = shift[(long long)tasks[3 * t + 2] * width + j];
        double s1 = 0.0, s2 = 0.0;
        int seen = 0;
        for (int k = tasks[3 * t] + lane; k < tasks[3 * t + 1]; k += 32) {
            double d = (double)column[rows[k] * row_step];
            bool known = d == d;
            d = known ? d - s : 0.0;
            seen += known;
            s1 += d;
            s2 += d * d;
        }
        for (int apart = 16; apart > 0; apart >>= 1) {
            s1 += __shfl_xor_sync(0xffffffffu, s1, apart);
            s2 += __shfl_xor_sync(0xffffffffu, s2, apart);
            seen += __shfl_xor_sync(0xffffffffu, seen, apart);
        }
        if (lane == 0) {
            double* out = partial + 3LL * t * width + j;
            out[0] = s1;
            out[width] = s2;
            out[2LL * width] = (double)seen;
        }
    }
}

// the tasks of group g are first[g] to first[g + 1]; fills count, mean and m2 [group][column]
extern "C" __global__ void finish_moments(
    const double* __restrict__ partial, const int* __restrict__ first, int n_groups, int width,
    const double* __restrict__ shift, double* __restrict__ out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    long long size = (long long)n_groups * width;
    for (int g = blockIdx.y; g < n_groups; g += gridDim.y) {
        double s1 = 0.0, s2 = 0.0, seen = 0.0;
        for (int t = first[g]; t < first[g + 1]; t++) {
            const double* from = partial + 3LL * t * width + j;
            s1 += from[0];
            s2 += from[width];
            seen += from[2LL * width];
        }
        long long at = (long long)g * width + j;
        double mean = 0.0, m2 = 0.0;
        if (seen > 0.0) {
            mean = shift[at] + s1 / seen;
            m2 = s2 - s1 * s1 / seen;
            if (m2 < 0.0) m2 = 0.0;  // not fmax, which hides a NaN
        }
        out[at] = seen;
        out[size + at] = mean;
        out[2 * size + at] = m2;
    }
}
"""
)


@dataclass(frozen=True)
class Tasks:
    """Rows in the order in which they are summed, divided among threads: arrays on the device.

    Attributes
    ----------
    rows : int32
        The rows, group by group.
    table : int32 of shape (n_tasks, 3)
        Where the rows of each task begin and end, and their group.
    bounds, first : int32 of shape (n_groups + 1,)
        Where the rows and the tasks of each group begin.
    """

    rows: Any
    table: Any
    bounds: Any
    first: Any

    @classmethod
    def from_groups(cls, groups: IntArray | None, n_groups: int, n_rows: int) -> "Tasks":
        """Make the tasks of rows in groups; a row in none of them is left out."""
        groups = np.zeros(n_rows, np.int64) if groups is None else groups
        rows = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[rows], np.arange(n_groups + 1))
        size = max(TASK_ROWS, -(-n_rows // MOST_TASKS))
        table = [
            (int(bounds[g]) + low, int(bounds[g]) + high, g)
            for g in range(n_groups)
            for low, high in split(int(bounds[g + 1] - bounds[g]), size)
        ]
        first = np.searchsorted([group for _, _, group in table], np.arange(n_groups + 1))
        arrays = (rows, np.array(table).reshape(-1, 3), bounds, first)
        return cls(*(device_cuda.as_device(part.astype(np.int32)) for part in arrays))

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.table)


def column_layout(values: Any) -> tuple[str, bool, np.int64, np.int64]:
    """Return type of the numbers, whether columns lie together, steps of rows and columns."""
    name = str(values.dtype)
    if name not in TYPES:
        raise DataError(
            f"X on the device is of {name}: give float32, float64 or whole numbers (float32 holds "
            "every float16)"
        )
    feature_major = bool(values.flags.f_contiguous and not values.flags.c_contiguous)
    if feature_major:
        return TYPES[name], True, np.int64(1), np.int64(values.shape[0])
    return TYPES[name], False, np.int64(values.shape[1]), np.int64(1)


def compute_moments(values: Any, columns: Any, groups: IntArray | None, n_groups: int) -> Any:
    """Return count, mean and M2 of some columns by group: shape (3, n_groups, columns).

    Parameters
    ----------
    values : device array of shape (n_rows, any number)
        Contiguous, by rows or by columns.
    columns : int32 device array
    groups : int array of shape (n_rows,), or None for a single group
    n_groups : int

    Returns
    -------
    moments : device array
        Missing values are left out; an infinite value makes m2 not finite.
    """
    xp = device_cuda.xp()
    T, feature_major, row_step, column_step = column_layout(values)
    width = len(columns)
    moments = xp.zeros((3, n_groups, width))
    if width == 0 or n_groups == 0:
        return moments
    tasks = Tasks.from_groups(groups, n_groups, values.shape[0])
    shift = xp.empty((n_groups, width))
    group_blocks = min(n_groups, 65535)
    common = (values, row_step, column_step, columns, np.int32(width), tasks.rows)
    blocks = -(-width // THREADS)
    device_cuda.kernel(SOURCE, "first_values", VALUE=T)(
        (blocks, group_blocks), (THREADS,), (*common, tasks.bounds, np.int32(n_groups), shift)
    )
    partial = xp.empty((tasks.count, 3, width))
    if tasks.count:
        name, grid, threads = "moments_rows", blocks, THREADS
        if feature_major:
            name, grid, threads = "moments_columns", -(-width // WARPS), 32 * WARPS
        device_cuda.kernel(SOURCE, name, VALUE=T)(
            (grid, min(tasks.count, 65535)),
            (threads,),
            (*common, tasks.table, np.int32(tasks.count), shift, partial),
        )
    device_cuda.kernel(SOURCE, "finish_moments", VALUE=T)(
        (blocks, group_blocks),
        (THREADS,),
        (partial, tasks.first, np.int32(n_groups), np.int32(width), shift, moments),
    )
    return moments
