"""CUDA kernels of the clinical kernel: a block sorts a column, a thread walks along one.

Column f, in the order of its rows, is ``order[i][f]`` and ``line[i][f]``: threads that walk along
neighbouring columns read neighbouring memory.
"""

from featly.core.sources.moments_cuda import TYPE_NAMES

__all__ = ["MOST_SORTED", "SORT", "WALK"]

MOST_SORTED = 4096  # rows that fit into a block's shared memory

SORT = (
    TYPE_NAMES
    + r"""
#define THREADS (SIZE / 2 < 512 ? SIZE / 2 : 512)

__device__ double least(double* shared, double mine)
{
    __syncthreads();
    shared[threadIdx.x] = mine;
    for (int apart = THREADS / 2; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart && shared[threadIdx.x + apart] < shared[threadIdx.x])
            shared[threadIdx.x] = shared[threadIdx.x + apart];
    }
    __syncthreads();
    return shared[0];
}

__device__ int sum_all(int* shared, int mine)
{
    __syncthreads();
    shared[threadIdx.x] = mine;
    for (int apart = THREADS / 2; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart) shared[threadIdx.x] += shared[threadIdx.x + apart];
    }
    __syncthreads();
    return shared[0];
}

// A column of numbers, or of positions if GIVEN, in the order of its positions on the line. facts:
// how many are different; whether no two are near; whether all lie in 0..1.
extern "C" __global__ void sort_column(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, const double* __restrict__ center,
    const double* __restrict__ scale, int n, long long step, long long at,
    int* __restrict__ order, double* __restrict__ line, int* __restrict__ facts)
{
    __shared__ double key[SIZE];
    __shared__ int row[SIZE];
    const double infinite = __longlong_as_double(0x7ff0000000000000LL);
    int j = blockIdx.x, c = columns[j];
    const VALUE* column = x + c * column_step;
#if GIVEN
    for (int i = threadIdx.x; i < SIZE; i += THREADS) {
        key[i] = i < n ? (double)column[i * row_step] : infinite;
        row[i] = i;
    }
#else
    double low = infinite, high = infinite;  // the largest by its negative
    double m = center[c], s = scale[c];
    for (int i = threadIdx.x; i < n; i += THREADS) {
        double v = ((double)column[i * row_step] - m) * s;
        low = v < low ? v : low;
        high = -v < high ? -v : high;
    }
    low = least(key, low);
    high = -least(key, high);
    __syncthreads();
    double width = low <= high ? high - low : 0.0;
    for (int i = threadIdx.x; i < SIZE; i += THREADS) {
        double z = infinite;
        if (i < n) {
            double v = ((double)column[i * row_step] - m) * s;
            if (v != v) z = -2.0 * (i + 1);
            else if (width > 0.0) {
                z = (v - low) / width;
                z = z > 0.0 ? z : 0.0;
                z = z < 1.0 ? z : 1.0;
            }
            else z = 0.0;
        }
        key[i] = z;
        row[i] = i;
    }
#endif
    for (int run = 2; run <= SIZE; run <<= 1)
        for (int apart = run >> 1; apart > 0; apart >>= 1) {
            __syncthreads();
            for (int t = threadIdx.x; t < SIZE / 2; t += THREADS) {
                int a = 2 * t - (t & (apart - 1)), b = a + apart;
                bool rises = (a & run) == 0;
                bool above = key[a] > key[b] || (key[a] == key[b] && row[a] > row[b]);
                if (above == rises) {
                    double k = key[a];
                    key[a] = key[b];
                    key[b] = k;
                    int r = row[a];
                    row[a] = row[b];
                    row[b] = r;
                }
            }
        }
    __syncthreads();
    int steps = 0, close = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        order[i * step + at + j] = row[i];
        line[i * step + at + j] = key[i];
        if (i + 1 < n) {
            steps += key[i + 1] > key[i];
            close += key[i + 1] - key[i] <= 1.0;
        }
    }
    bool inside = key[0] >= 0.0 && key[n - 1] <= 1.0;
    steps = sum_all(row, steps);
    close = sum_all(row, close);
    if (threadIdx.x == 0) {
        facts[3LL * j] = 1 + steps;
        facts[3LL * j + 1] = close == 0;
        facts[3LL * j + 2] = inside;
    }
}
"""
)

WALK = r"""
// out[k] = v' K_f v for f = places[k]; without include_missing, minus what missing values add
extern "C" __global__ void clinical_forms(
    const int* __restrict__ order, const double* __restrict__ line, long long step,
    const int* __restrict__ places, int count, const double* __restrict__ v, int n,
    int include_missing, double* __restrict__ out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    const int* rows = order + places[k];
    const double* z = line + places[k];
    int start = 0;
    if (!include_missing)
        while (start < n && z[start * step] < 0.0) start++;  // missing values come first
    if (start == n) {
        out[k] = 0.0;
        return;
    }
    double form = 0.0, total = 0.0, first = 0.0, second = 0.0, here = z[start * step];
    #pragma unroll 4
    for (int i = start; i < n - 1; i++) {
        total += v[rows[i * step]];
        double next = z[(i + 1) * step], apart = next - here;
        here = next;
        if (apart > 1.0) {
            form += total * total - 2 * total * first + 2 * second;
            total = first = second = 0.0;
        } else {
            first += apart * total;
            second += apart * total * total;
        }
    }
    total += v[rows[(n - 1) * step]];
    form += total * total - 2 * total * first + 2 * second;
    out[k] = form > 0.0 ? form : 0.0;
}

// out[part][row][k of the part] = factors[k] (K_f v)[row]; past the last column zeros
extern "C" __global__ void clinical_products(
    const int* __restrict__ order, const double* __restrict__ line, long long step,
    const int* __restrict__ places, int count, const double* __restrict__ v,
    const double* __restrict__ factors, int n, int include_missing, int part, int padded,
    double* __restrict__ out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= padded) return;
    double* to = out + (long long)(k / part) * n * part + k % part;
    if (k >= count) {
        for (int i = 0; i < n; i++) to[(long long)i * part] = 0.0;
        return;
    }
    const int* rows = order + places[k];
    const double* z = line + places[k];
    double w = factors[k];
    int start = 0;
    while (start < n) {
        int end = start;
        double total = 0.0, first = 0.0, begin = z[start * step], here = begin;
        while (true) {
            total += v[rows[end * step]];
            end++;
            if (end == n) break;
            double next = z[end * step];
            if (next - here > 1.0) break;
            first += (next - here) * total;
            here = next;
        }
        // how far the others are from the first row of the run, weighted by v
        double distance = (here - begin) * total - first, below = 0.0;
        here = begin;
        for (int i = start; i < end; i++) {
            int row = rows[i * step];
            to[(long long)row * part] =
                include_missing || here >= 0.0 ? w * (total - distance) : 0.0;
            if (i + 1 < end) {
                double next = z[(i + 1) * step];
                below += v[row];
                distance += (next - here) * (2 * below - total);
                here = next;
            }
        }
        start = end;
    }
}

// out[row][k] = factors[k] times the position of the row; past the last column zeros
extern "C" __global__ void spread_columns(
    const int* __restrict__ order, const double* __restrict__ line, long long step,
    const int* __restrict__ places, int count, const double* __restrict__ factors, int n,
    int padded, double* __restrict__ out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= padded) return;
    int place = k < count ? places[k] : 0;
    double factor = k < count ? factors[k] : 0.0;
    for (int i = blockIdx.y; i < n; i += gridDim.y) {
        int row = k < count ? order[i * step + place] : i;
        out[(long long)row * padded + k] = k < count ? factor * line[i * step + place] : 0.0;
    }
}

// out[row] += sum over k of tile[row][k], or, with weigh_missing, of weights of negative entries
extern "C" __global__ void add_row_sums(
    const double* __restrict__ tile, int step, int count, const double* __restrict__ weights,
    int weigh_missing, double* __restrict__ out)
{
    __shared__ double sums[256];
    const double* row = tile + (long long)blockIdx.x * step;
    double mine = 0.0;
    for (int k = threadIdx.x; k < count; k += 256)
        mine += weigh_missing ? (row[k] < 0.0 ? weights[k] : 0.0) : row[k];
    sums[threadIdx.x] = mine;
    for (int apart = 128; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart) sums[threadIdx.x] += sums[threadIdx.x + apart];
    }
    if (threadIdx.x == 0) out[blockIdx.x] += sums[0];
}
"""
