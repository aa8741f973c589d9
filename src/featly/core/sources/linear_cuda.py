"""Linear algebra over columns on the device: ``v' K_f v`` of every column, tiles, Gram matrices.

Columns are centred and scaled as they are read. The sum over the rows of a column runs in an
order that is the same for all columns of a table; Gram matrices are products of float64 tiles of
a fixed size, whose partial sums are added in order.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from featly.basics.typing import FloatArray
from featly.core.runtime import device_cuda
from featly.core.runtime.parallel import split
from featly.core.sources.moments_cuda import TYPE_NAMES, Tasks, column_layout

__all__ = ["add_gram", "add_outer", "compute_forms", "make_tile", "part_width"]


THREADS = 128
WARPS = 8  # columns of a block where a warp sums one
TILE_BYTES = 1 << 28  # of float64 columns that a Gram matrix is made from at a time
PARTIAL_BYTES = 1 << 28  # of the partial sums that are made side by side ...
PART_COLUMNS = 1024  # ... each of at least so many columns
MOST_ROWS = 65535  # of a grid

SOURCE = (
    TYPE_NAMES
    + r"""
// partial[task][j] = sum over the rows of the task of v (x - center); v goes with rows
extern "C" __global__ void forms_rows(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows,
    const double* __restrict__ v, const int* __restrict__ tasks, int n_tasks,
    const double* __restrict__ center, double* __restrict__ partial)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    double m = center[columns[j]];
    for (int t = blockIdx.y; t < n_tasks; t += gridDim.y) {
        int k = tasks[3 * t], end = tasks[3 * t + 1];
        double w = 0.0;
        for (; k + 8 <= end; k += 8) {
            double d[8];
            #pragma unroll
            for (int q = 0; q < 8; q++) d[q] = (double)column[rows[k + q] * row_step];
            #pragma unroll
            for (int q = 0; q < 8; q++) d[q] = v[k + q] * (d[q] - m);
            w += ((d[0] + d[1]) + (d[2] + d[3])) + ((d[4] + d[5]) + (d[6] + d[7]));
        }
        for (; k < end; k++) w += v[k] * ((double)column[rows[k] * row_step] - m);
        partial[(long long)t * width + j] = w;
    }
}

extern "C" __global__ void forms_columns(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows,
    const double* __restrict__ v, const int* __restrict__ tasks, int n_tasks,
    const double* __restrict__ center, double* __restrict__ partial)
{
    int lane = threadIdx.x & 31;
    int j = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    double m = center[columns[j]];
    for (int t = blockIdx.y; t < n_tasks; t += gridDim.y) {
        double w = 0.0;
        for (int k = tasks[3 * t] + lane; k < tasks[3 * t + 1]; k += 32)
            w += v[k] * ((double)column[rows[k] * row_step] - m);
        for (int apart = 16; apart > 0; apart >>= 1)
            w += __shfl_xor_sync(0xffffffffu, w, apart);
        if (lane == 0) partial[(long long)t * width + j] = w;
    }
}

extern "C" __global__ void finish_forms(
    const double* __restrict__ partial, int n_tasks, const int* __restrict__ columns, int width,
    const double* __restrict__ scale, double* __restrict__ out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    double w = 0.0;
    for (int t = 0; t < n_tasks; t++) w += partial[(long long)t * width + j];
    w *= scale[columns[j]];
    out[j] = w * w;
}

// out[part][row][column of the part] of a table by rows; past the last column there are zeros
extern "C" __global__ void tile_rows(
    const VALUE* __restrict__ x, long long row_step, const int* __restrict__ columns, int width,
    const double* __restrict__ center, const double* __restrict__ scale, int n_rows,
    int part, int padded, double* __restrict__ out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= padded) return;
    int c = j < width ? columns[j] : 0;
    double m = center[c], s = scale[c];
    double* to = out + (long long)(j / part) * n_rows * part + j % part;
    for (int i = blockIdx.y; i < n_rows; i += gridDim.y)
        to[(long long)i * part] = j < width ? ((double)x[i * row_step + c] - m) * s : 0.0;
}

// out[column][row] of a table by columns
extern "C" __global__ void tile_columns(
    const VALUE* __restrict__ x, long long column_step, const int* __restrict__ columns, int width,
    const double* __restrict__ center, const double* __restrict__ scale, int n_rows, int padded,
    double* __restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_rows) return;
    for (int j = blockIdx.y; j < padded; j += gridDim.y) {
        int c = j < width ? columns[j] : 0;
        out[(long long)j * n_rows + i] =
            j < width ? ((double)x[c * column_step + i] - center[c]) * scale[c] : 0.0;
    }
}
"""
)

SUMS = r"""
// total[i] += parts[0][i] + parts[1][i] + ...
extern "C" __global__ void add_parts(
    const double* __restrict__ parts, int n_parts, long long size, double* __restrict__ total)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    double sum = 0.0;
    for (int part = 0; part < n_parts; part++) sum += parts[part * size + i];
    total[i] += sum;
}
"""


def compute_forms(values: Any, columns: Any, v: FloatArray, center: Any, scale: Any) -> Any:
    """Return ``(scale_f sum_i v_i (x_if - center_f))^2`` for some columns, on the device.

    Parameters
    ----------
    values : device array of shape (n_rows, any number)
        Contiguous, by rows or by columns.
    columns : int32 device array
    v : float64 array of shape (n_rows,), not on the device
    center, scale : float64 device arrays, an entry for every column of `values`
    """
    xp = device_cuda.xp()
    T, feature_major, row_step, column_step = column_layout(values)
    width, rows = len(columns), np.flatnonzero(v)
    out = xp.zeros(width)
    if width == 0 or len(rows) == 0:
        return out
    tasks = Tasks.from_groups(None, 1, len(rows))
    name, grid, threads = "forms_rows", -(-width // THREADS), THREADS
    if feature_major:
        name, grid, threads = "forms_columns", -(-width // WARPS), 32 * WARPS
    partial = xp.empty((tasks.count, width))
    row_index, row_values = (
        device_cuda.as_device(rows.astype(np.int32)),
        device_cuda.as_device(v[rows]),
    )
    device_cuda.kernel(SOURCE, name, VALUE=T)(
        (grid, tasks.count),
        (threads,),
        (
            values,
            row_step,
            column_step,
            columns,
            np.int32(width),
            row_index,
            row_values,
            tasks.table,
            np.int32(tasks.count),
            center,
            partial,
        ),
    )
    device_cuda.kernel(SOURCE, "finish_forms", VALUE=T)(
        (-(-width // THREADS),),
        (THREADS,),
        (partial, np.int32(tasks.count), columns, np.int32(width), scale, out),
    )
    return out


def make_tile(
    values: Any, columns: Any, center: Any, scale: Any, part: int | None = None
) -> tuple[Any, bool]:
    """Return some columns, centred and scaled, in float64, as parts of so many columns each.

    The last part is filled up with zeros. The array is of shape (parts, n_rows, part) where the
    table lies by rows and (parts, part, n_rows) where it lies by columns, which is the second
    thing returned. Without `part` there is one.
    """
    T, feature_major, row_step, column_step = column_layout(values)
    n, width = values.shape[0], len(columns)
    part = max(1, width) if part is None else part
    n_parts = -(-width // part)
    padded = n_parts * part
    shape = (n_parts, part, n) if feature_major else (n_parts, n, part)
    out = device_cuda.xp().empty(shape)
    if width == 0:
        return out, feature_major
    common = (columns, np.int32(width), center, scale, np.int32(n))
    if feature_major:
        device_cuda.kernel(SOURCE, "tile_columns", VALUE=T)(
            (-(-n // THREADS), min(padded, MOST_ROWS)),
            (THREADS,),
            (values, column_step, *common, np.int32(padded), out),
        )
    else:
        device_cuda.kernel(SOURCE, "tile_rows", VALUE=T)(
            (-(-padded // THREADS), min(n, MOST_ROWS)),
            (THREADS,),
            (values, row_step, *common, np.int32(part), np.int32(padded), out),
        )
    return out, feature_major


def add_gram(total: Any, values: Any, columns: Any, center: Any, scale: Any) -> None:
    """Add the Gram matrix of some columns to `total`, float64 of shape (n_rows, n_rows)."""
    for low, high in _tiles(values.shape[0], len(columns)):
        tile, feature_major = make_tile(
            values, columns[low:high], center, scale, part_width(values.shape[0], high - low)
        )
        add_outer(total, tile, feature_major)


def _tiles(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of columns that are made float64 at a time; they depend on the table alone."""
    yield from split(width, max(1, TILE_BYTES // (8 * n_rows)))


def part_width(n_rows: int, width: int) -> int:
    """Return the columns of a part, so that a product of few rows keeps the device busy."""
    most = max(1, PARTIAL_BYTES // (8 * n_rows * n_rows))
    return max(1, min(width, max(PART_COLUMNS, -(-width // most))))


def add_outer(total: Any, tile: Any, feature_major: bool) -> None:
    """Add ``Z Z'`` of every part Z of a tile, rows by columns, to `total`."""
    xp = device_cuda.xp()
    n, n_parts = len(total), len(tile)
    if n_parts == 0:
        return
    if n_parts == 1:
        Z = tile[0].T if feature_major else tile[0]
        total += Z @ Z.T
        return
    parts = xp.empty((n_parts, n, n))
    _batched_outer(tile, feature_major, parts)
    size = n * n
    device_cuda.kernel(SUMS, "add_parts")(
        (-(-size // 256),), (256,), (parts, np.int32(n_parts), np.int64(size), total)
    )


def _batched_outer(tile: Any, feature_major: bool, parts: Any) -> None:
    """Fill ``parts[k] = Z_k Z_k'``, all at once; CuPy's own product would copy the transpose."""
    from cupy.cuda import cublas

    n_parts, n = len(tile), parts.shape[1]
    width = tile.shape[1] if feature_major else tile.shape[2]
    alpha, beta = np.ones(1), np.zeros(1)
    # to cuBLAS, whose matrices lie by columns, a part by columns is Z and one by rows is Z'
    first, second = cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_T
    if not feature_major:
        first, second = second, first
    step = n if feature_major else width
    cublas.dgemmStridedBatched(
        device_cuda.xp().cuda.device.get_cublas_handle(),
        first,
        second,
        n,
        n,
        width,
        alpha.ctypes.data,
        tile.data.ptr,
        step,
        n * width,
        tile.data.ptr,
        step,
        n * width,
        beta.ctypes.data,
        parts.data.ptr,
        n,
        n * n,
        n_parts,
    )
