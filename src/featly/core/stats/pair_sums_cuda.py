"""Distances of rows on the device: absolute differences of all pairs, summed over columns.

The algorithm is that of a product of matrices, with the absolute value of a difference in place of
a product. A thread holds 8 x 8 pairs in registers, a block 128 x 128, and both read their columns
from shared memory. All sums are in float64, and their order depends on the numbers of rows and
columns alone. Of a square only the blocks on and above its diagonal are computed.
"""

from typing import Any

import numpy as np

from featly.core.runtime import device_cuda

__all__ = ["STEP", "PairSums", "padded_width"]

TILE = 128  # rows by rows of a block
STEP = 8  # columns that a block reads at a time: tiles are padded to a multiple of it
BLOCKS = 512  # fewer blocks than this leave the device idle: columns are divided among more ...
LEAST_COLUMNS = 64  # ... down to so many columns each

SOURCE = r"""
#define TILE 128
#define STEP 8

__device__ __forceinline__ double term(double a, double b, double reach)
{
#if CLIPPED
    double left = reach - fabs(a - b);
    return left + fabs(left);  // twice the remainder, or exactly 0: faster than a comparison
#else
    return fabs(a - b);
#endif
}

// total[slab][i][j] += sum over the columns of the slab of |these[i] - tile[j]|, or, if clipped,
// of max(0, reach - |these[i] - tile[j]|). Both have `step` columns, of which each slab takes
// `columns`; the padding is zero, and so are its reaches.
extern "C" __global__ void __launch_bounds__(256) pair_sums(
    const double* __restrict__ these, int m, const double* __restrict__ tile, int n, int step,
    int columns, const double* __restrict__ reaches, int triangle, double* __restrict__ total)
{
    if (triangle && blockIdx.x < blockIdx.y) return;
    __shared__ double2 a[2][STEP][TILE / 2], b[2][STEP][TILE / 2];
#if CLIPPED
    __shared__ double r[2][STEP];
#endif
    int first = blockIdx.y * TILE, begin = blockIdx.x * TILE;
    int low = blockIdx.z * columns, high = min(low + columns, step);
    int t = threadIdx.x, tx = t & 15, ty = t >> 4;
    // every thread fetches four columns of one row of each side
    int row = t >> 1, from = (t & 1) * 4;
    bool has_a = first + row < m, has_b = begin + row < n;
    const double* at_a = these + (long long)(has_a ? first + row : 0) * step + from;
    const double* at_b = tile + (long long)(has_b ? begin + row : 0) * step + from;
    double sum[8][8];
    #pragma unroll
    for (int i = 0; i < 8; i++)
        #pragma unroll
        for (int j = 0; j < 8; j++) sum[i][j] = 0.0;
    double2 none = {0.0, 0.0}, a0 = none, a1 = none, b0 = none, b1 = none;
#if CLIPPED
    double reach = 0.0;
#endif
    if (low < high) {
        if (has_a) {
            a0 = *(const double2*)(at_a + low);
            a1 = *(const double2*)(at_a + low + 2);
        }
        if (has_b) {
            b0 = *(const double2*)(at_b + low);
            b1 = *(const double2*)(at_b + low + 2);
        }
#if CLIPPED
        if (t < STEP) reach = reaches[low + t];
#endif
    }
    int side = 0;
    for (int k = low; k < high; k += STEP) {
        double* to_a = (double*)a[side];
        double* to_b = (double*)b[side];
        to_a[from * TILE + row] = a0.x;
        to_a[(from + 1) * TILE + row] = a0.y;
        to_a[(from + 2) * TILE + row] = a1.x;
        to_a[(from + 3) * TILE + row] = a1.y;
        to_b[from * TILE + row] = b0.x;
        to_b[(from + 1) * TILE + row] = b0.y;
        to_b[(from + 2) * TILE + row] = b1.x;
        to_b[(from + 3) * TILE + row] = b1.y;
#if CLIPPED
        if (t < STEP) r[side][t] = reach;
#endif
        __syncthreads();
        int next = k + STEP;
        if (next < high) {
            if (has_a) {
                a0 = *(const double2*)(at_a + next);
                a1 = *(const double2*)(at_a + next + 2);
            }
            if (has_b) {
                b0 = *(const double2*)(at_b + next);
                b1 = *(const double2*)(at_b + next + 2);
            }
#if CLIPPED
            if (t < STEP) reach = reaches[next + t];
#endif
        }
        #pragma unroll
        for (int q = 0; q < STEP; q++) {
            double x[8], y[8];
            #pragma unroll
            for (int g = 0; g < 4; g++) {
                double2 u = a[side][q][ty + 16 * g], v = b[side][q][tx + 16 * g];
                x[2 * g] = u.x;
                x[2 * g + 1] = u.y;
                y[2 * g] = v.x;
                y[2 * g + 1] = v.y;
            }
#if CLIPPED
            double within = r[side][q];
#else
            double within = 0.0;
#endif
            #pragma unroll
            for (int i = 0; i < 8; i++)
                #pragma unroll
                for (int j = 0; j < 8; j++) sum[i][j] += term(x[i], y[j], within);
        }
        side ^= 1;  // all threads have read the other side before the last barrier
    }
    double* out = total + (long long)blockIdx.z * m * n;
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        int p = first + 2 * ty + 32 * (i >> 1) + (i & 1);
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            int q = begin + 2 * tx + 32 * (j >> 1) + (j & 1);
#if CLIPPED
            sum[i][j] *= 0.5;
#endif
            if (p < m && q < n) out[(long long)p * n + q] += sum[i][j];
        }
    }
}

// slabs[0] = slabs[0] + slabs[1] + ...
extern "C" __global__ void add_slabs(double* __restrict__ slabs, int n_slabs, long long size)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    double sum = slabs[i];
    for (int slab = 1; slab < n_slabs; slab++) sum += slabs[slab * size + i];
    slabs[i] = sum;
}

// copy what is above the diagonal to below it
extern "C" __global__ void mirror(double* __restrict__ total, int n)
{
    __shared__ double part[32][33];
    if (blockIdx.x < blockIdx.y) return;
    int i = blockIdx.y * 32, j = blockIdx.x * 32, x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (i + y < n && j + x < n) part[y][x] = total[(long long)(i + y) * n + j + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (j + y < n && i + x < n && j + y > i + x)
            total[(long long)(j + y) * n + i + x] = part[x][y];
}
"""


def padded_width(count: int) -> int:
    """Return the width of a tile of so many columns, padded with zeros."""
    return -(-count // STEP) * STEP


class PairSums:
    """Sums over columns for all pairs of rows, of some rows with all, or of rows of two tables.

    Parameters
    ----------
    n_rows : int
    width : int
        Expected number of columns: it decides how they are divided among blocks.
    n_these : int, optional
        Number of rows on the other side; None means all pairs of the same rows.
    """

    triangle: bool
    n_rows: int

    def __init__(self, n_rows: int, width: int, n_these: int | None = None) -> None:
        self.n_rows, self.triangle = n_rows, n_these is None
        self.n_these: int = n_rows if n_these is None else n_these
        self.grid: tuple[int, int] = (-(-self.n_rows // TILE), -(-self.n_these // TILE))
        self.n_slabs: int = self.count_slabs(n_rows, width, n_these)
        shape = (self.n_slabs, self.n_these, n_rows)
        with device_cuda.translate_memory_errors(8 * self.n_slabs * self.n_these * n_rows):
            self._slabs = device_cuda.xp().zeros(shape)

    @staticmethod
    def count_slabs(n_rows: int, width: int, n_these: int | None = None) -> int:
        """Return the number of partial sums that are made at once, so that few rows use the device.

        Each is a slab: a part of the columns.
        """
        across = -(-n_rows // TILE)
        blocks = across * (across + 1) // 2
        if n_these is not None:
            blocks = across * -(-n_these // TILE)
        return max(1, min(-(-BLOCKS // blocks), width // LEAST_COLUMNS))

    def add(self, tile: Any, these: Any = None, reaches: Any = None) -> None:
        """Add the columns of a tile, float64 of shape (rows, columns), row-major.

        Its number of columns is that of :func:`padded_width`. `these` are the rows on the other
        side. With `reaches`, one a column, ``max(0, reach - |difference|)`` is summed.
        """
        width = tile.shape[1]
        if width == 0:
            return
        columns = padded_width(-(-width // self.n_slabs))
        clipped = reaches is not None
        device_cuda.kernel(SOURCE, "pair_sums", CLIPPED=int(clipped))(
            (*self.grid, -(-width // columns)),
            (256,),
            (tile if these is None else these, np.int32(self.n_these), tile,
             np.int32(self.n_rows), np.int32(width), np.int32(columns),
             reaches if clipped else tile, np.int32(self.triangle), self._slabs),
        )  # fmt: skip

    def total(self) -> Any:
        """Return the sums, float64 of shape (these, rows); nothing is added afterwards."""
        n = self.n_rows
        if self.n_slabs > 1:
            size = self.n_these * n
            device_cuda.kernel(SOURCE, "add_slabs", CLIPPED=0)(
                (-(-size // 256),), (256,), (self._slabs, np.int32(self.n_slabs), np.int64(size))
            )
        sums = self._slabs[0]
        if self.triangle:
            across = -(-n // 32)
            device_cuda.kernel(SOURCE, "mirror", CLIPPED=0)(
                (across, across), (32, 8), (sums, np.int32(n))
            )
        return sums
