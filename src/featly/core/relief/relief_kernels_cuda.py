"""CUDA kernels of the Relief family: scaling, rules, pairs and weights.

The distances of a row are turned into coefficients in place, as by the rules of
:mod:`featly.core.relief.relief`; a block works on a row. Counts are added in any order,
floating-point sums in a fixed one.
"""

from featly.core.sources.moments_cuda import TYPE_NAMES

__all__ = ["COLUMNS", "PAIRS", "RULES"]

# ---- columns: their ranges, and tiles of them scaled to 0..1, rows one after the other ----------
COLUMNS = (
    TYPE_NAMES
    + r"""
// the smallest value, the largest and their number, of every column: [3][width]
extern "C" __global__ void extremes_rows(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, int n_rows, double* __restrict__ out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    double low = __longlong_as_double(0x7ff0000000000000LL), high = -low;
    int known = 0;
    int i = 0;
    for (; i + 8 <= n_rows; i += 8) {
        double v[8];
        #pragma unroll
        for (int q = 0; q < 8; q++) v[q] = (double)column[(i + q) * row_step];
        #pragma unroll
        for (int q = 0; q < 8; q++) {
            low = v[q] < low ? v[q] : low;
            high = v[q] > high ? v[q] : high;
            known += v[q] == v[q];
        }
    }
    for (; i < n_rows; i++) {
        double v = (double)column[i * row_step];
        low = v < low ? v : low;
        high = v > high ? v : high;
        known += v == v;
    }
    out[j] = low;
    out[width + j] = high;
    out[2LL * width + j] = (double)known;
}

extern "C" __global__ void extremes_columns(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, int n_rows, double* __restrict__ out)
{
    int lane = threadIdx.x & 31;
    int j = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (j >= width) return;
    const VALUE* column = x + columns[j] * column_step;
    double low = __longlong_as_double(0x7ff0000000000000LL), high = -low;
    int known = 0;
    for (int i = lane; i < n_rows; i += 32) {
        double v = (double)column[i * row_step];
        low = v < low ? v : low;
        high = v > high ? v : high;
        known += v == v;
    }
    for (int apart = 16; apart > 0; apart >>= 1) {
        double other = __shfl_xor_sync(0xffffffffu, low, apart);
        low = other < low ? other : low;
        other = __shfl_xor_sync(0xffffffffu, high, apart);
        high = other > high ? other : high;
        known += __shfl_xor_sync(0xffffffffu, known, apart);
    }
    if (lane == 0) {
        out[j] = low;
        out[width + j] = high;
        out[2LL * width + j] = (double)known;
    }
}

// out[i][j] = (x[rows[i]][columns[j]] - low) / span, zero past the last column
extern "C" __global__ void scale_rows(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows, int n_rows,
    const double* __restrict__ low, const double* __restrict__ high, int step,
    double* __restrict__ out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= step) return;
    bool inside = j < width;
    const VALUE* column = x + (inside ? columns[j] : 0) * column_step;
    double least = inside ? low[j] : 0.0, span = inside ? high[j] - low[j] : 1.0;
    for (int i = blockIdx.y; i < n_rows; i += gridDim.y)
        out[(long long)i * step + j] =
            inside ? ((double)column[rows[i] * row_step] - least) / span : 0.0;
}

// the same for a table by columns, transposed in shared memory
extern "C" __global__ void scale_columns(
    const VALUE* __restrict__ x, long long row_step, long long column_step,
    const int* __restrict__ columns, int width, const int* __restrict__ rows, int n_rows,
    const double* __restrict__ low, const double* __restrict__ high, int step,
    double* __restrict__ out)
{
    __shared__ double part[32][33];
    int begin = blockIdx.x * 32, t = threadIdx.x;
    for (int first = blockIdx.y * 32; first < n_rows; first += gridDim.y * 32) {
        for (int y = threadIdx.y; y < 32; y += blockDim.y) {
            int j = begin + y, i = first + t;
            double z = 0.0;
            if (j < width && i < n_rows)
                z = ((double)x[columns[j] * column_step + rows[i] * row_step] - low[j])
                    / (high[j] - low[j]);
            part[y][t] = z;
        }
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += blockDim.y) {
            int j = begin + t, i = first + y;
            if (j < step && i < n_rows) out[(long long)i * step + j] = part[t][y];
        }
        __syncthreads();
    }
}
"""
)

# ---- rules: a row of distances becomes a row of coefficients ------------------------------------
RULES = r"""
#define THREADS 256
#define NEAR 1e-10
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

// each of these functions is called by all threads of a block and returns the same to all
__device__ int add_counts(int mine)
{
    __shared__ int sums[THREADS];
    __syncthreads();
    sums[threadIdx.x] = mine;
    for (int apart = THREADS / 2; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart) sums[threadIdx.x] += sums[threadIdx.x + apart];
    }
    __syncthreads();
    return sums[0];
}

__device__ double add_up(double mine)
{
    __shared__ double sums[THREADS];
    __syncthreads();
    sums[threadIdx.x] = mine;
    for (int apart = THREADS / 2; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart) sums[threadIdx.x] += sums[threadIdx.x + apart];
    }
    __syncthreads();
    return sums[0];
}

__device__ double smallest(double mine)
{
    __shared__ double values[THREADS];
    __syncthreads();
    values[threadIdx.x] = mine;
    for (int apart = THREADS / 2; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart && values[threadIdx.x + apart] < values[threadIdx.x])
            values[threadIdx.x] = values[threadIdx.x + apart];
    }
    __syncthreads();
    return values[0];
}

__device__ int class_of(int row, const int* bounds)
{
    int c = 0;
    while (bounds[c + 1] <= row) c++;
    return c;
}

// the count-th smallest of distances, which are not negative: a radix search, eight bits at a time
__device__ double kth(const double* row, int size, int count)
{
    __shared__ int bins[256];
    __shared__ int chosen, left;
    unsigned long long prefix = 0, known = 0;
    __syncthreads();
    if (threadIdx.x == 0) left = count;
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (int q = threadIdx.x; q < 256; q += THREADS) bins[q] = 0;
        __syncthreads();
        for (int j = threadIdx.x; j < size; j += THREADS) {
            unsigned long long bits = (unsigned long long)__double_as_longlong(row[j]);
            if ((bits & known) == prefix) atomicAdd(&bins[(bits >> shift) & 255], 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int bin = 0;
            while (bins[bin] < left) left -= bins[bin++];
            chosen = bin;
        }
        __syncthreads();
        prefix |= (unsigned long long)chosen << shift;
        known |= 255ULL << shift;
    }
    return __longlong_as_double((long long)prefix);
}

// distances to coefficients that sum to the factor: `count` rows, the last ties share
__device__ void share_out(double* row, int size, double farthest, int count, double factor)
{
    double nearer = farthest * (1 - NEAR), limit = farthest * (1 + NEAR);
    int ahead = 0, level = 0;
    for (int j = threadIdx.x; j < size; j += THREADS) {
        ahead += row[j] < nearer;
        level += row[j] >= nearer && row[j] <= limit;
    }
    ahead = add_counts(ahead);
    level = add_counts(level);
    double each = count > 0 ? factor / count : 0.0;
    double last = count > 0 ? each * (count - ahead) / level : 0.0;
    for (int j = threadIdx.x; j < size; j += THREADS) {
        double d = row[j];
        row[j] = d < nearer ? each : d <= limit ? last : 0.0;
    }
    __syncthreads();
}

extern "C" __global__ void nearest(
    double* total, int n, const int* __restrict__ own, const int* __restrict__ bounds,
    int n_classes, const double* __restrict__ share, int k)
{
    double* row = total + (long long)blockIdx.x * n;
    int itself = own[blockIdx.x], hits = class_of(itself, bounds);
    if (threadIdx.x == 0) row[itself] = INFINITE;
    __syncthreads();
    for (int c = 0; c < n_classes; c++) {
        int begin = bounds[c], size = bounds[c + 1] - begin;
        int count = min(k, size - (c == hits));
        double factor = c == hits ? -1.0 : share[c] / (1 - share[hits]);
        double farthest = count > 0 ? kth(row + begin, size, count) : 0.0;
        share_out(row + begin, size, farthest, count, factor);
    }
}

// ReliefF as in Weka, a thread a row: a nearer row replaces the first of the farthest so far
extern "C" __global__ void nearest_first_come(
    double* total, int n, int m, const int* __restrict__ own, const int* __restrict__ bounds,
    int n_classes, const double* __restrict__ share, int k, double* distances, int* choices)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    double* distance = distances + (long long)i * k;
    int* chosen = choices + (long long)i * k;
    int hits = class_of(own[i], bounds);
    for (int c = 0; c < n_classes; c++) {
        double* row = total + (long long)i * n + bounds[c];
        int count = bounds[c + 1] - bounds[c], itself = own[i] - bounds[c];
        int size = 0, slot = 0;
        for (int j = 0; j < count; j++) {
            if (j == itself || (size == k && row[j] >= distance[slot] * (1 - NEAR))) continue;
            if (size < k) slot = size++;
            distance[slot] = row[j];
            chosen[slot] = j;
            double farthest = 0.0;
            for (int q = 0; q < size; q++)
                farthest = distance[q] > farthest ? distance[q] : farthest;
            slot = 0;
            while (distance[slot] < farthest * (1 - NEAR)) slot++;
        }
        double factor = c == hits ? -1.0 : share[c] / (1 - share[hits]);
        for (int j = 0; j < count; j++) row[j] = 0.0;
        for (int q = 0; q < size; q++) row[chosen[q]] = factor / size;
    }
}

extern "C" __global__ void nearest_of_all(
    double* total, int n, const int* __restrict__ own, const int* __restrict__ bounds)
{
    double* row = total + (long long)blockIdx.x * n;
    int itself = own[blockIdx.x], c = class_of(itself, bounds);
    int begin = bounds[c], end = bounds[c + 1];
    if (threadIdx.x == 0) row[itself] = INFINITE;
    __syncthreads();
    double hit = INFINITE, miss = INFINITE;
    for (int j = threadIdx.x; j < n; j += THREADS) {
        double d = row[j];
        if (begin <= j && j < end) hit = d < hit ? d : hit;
        else miss = d < miss ? d : miss;
    }
    hit = smallest(hit);
    double limit = smallest(miss) * (1 + NEAR);
    int level = 0;
    for (int j = threadIdx.x; j < n; j += THREADS)
        level += !(begin <= j && j < end) && row[j] <= limit;
    level = add_counts(level);
    for (int j = threadIdx.x; j < n; j += THREADS)
        if (!(begin <= j && j < end)) row[j] = row[j] <= limit ? 1.0 / level : 0.0;
    share_out(row + begin, end - begin, hit, min(1, end - begin - 1), -1.0);
}

extern "C" __global__ void near_rows(
    double* total, int n, const int* __restrict__ own, const int* __restrict__ bounds,
    int n_classes, const double* __restrict__ share)
{
    double* row = total + (long long)blockIdx.x * n;
    int itself = own[blockIdx.x], hits = class_of(itself, bounds);
    if (threadIdx.x == 0) row[itself] = 0.0;
    __syncthreads();
    double mean = 0.0;
    for (int j = threadIdx.x; j < n; j += THREADS) mean += row[j];
    mean = add_up(mean) / (n - 1);
    double spread = 0.0;
    for (int j = threadIdx.x; j < n; j += THREADS) spread += (row[j] - mean) * (row[j] - mean);
    double variance = add_up(spread) - mean * mean;  // without the term of the row itself
    double limit = mean - sqrt((variance > 0.0 ? variance : 0.0) / (n - 1)) / 2;
    if (threadIdx.x == 0) row[itself] = INFINITE;
    __syncthreads();
    limit *= 1 - NEAR;
    double share_met = 0.0;
    for (int c = 0; c < n_classes; c++) {
        int count = 0;
        for (int j = bounds[c] + threadIdx.x; j < bounds[c + 1]; j += THREADS)
            count += row[j] < limit;
        count = add_counts(count);
        if (count > 0 && c != hits) share_met += share[c];
        double each = (c == hits ? -1.0 : share[c]) / (count > 1 ? count : 1);
        for (int j = bounds[c] + threadIdx.x; j < bounds[c + 1]; j += THREADS)
            row[j] = row[j] < limit ? each : 0.0;
    }
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += THREADS)
        if (share_met > 0.0 && !(bounds[hits] <= j && j < bounds[hits + 1])) row[j] /= share_met;
}
"""

# ---- pairs, and the differences of columns between them -----------------------------------------
PAIRS = r"""
#define THREADS 256

__device__ double coefficient(const double* total, int n, int triangle, int i, int j)
{
    double mine = total[(long long)i * n + j];
    return triangle ? mine + total[(long long)j * n + i] : mine;
}

// counts[i]: number of coefficients of row i that are not 0; in a square both directions are one
extern "C" __global__ void count_pairs(
    const double* __restrict__ total, int n, int triangle, int* __restrict__ counts)
{
    __shared__ int sums[THREADS];
    int i = blockIdx.x, mine = 0;
    for (int j = (triangle ? i + 1 : 0) + threadIdx.x; j < n; j += THREADS)
        mine += coefficient(total, n, triangle, i, j) != 0.0;
    sums[threadIdx.x] = mine;
    for (int apart = THREADS / 2; apart > 0; apart >>= 1) {
        __syncthreads();
        if (threadIdx.x < apart) sums[threadIdx.x] += sums[threadIdx.x + apart];
    }
    if (threadIdx.x == 0) counts[i] = sums[0];
}

// list the coefficients that are not 0, row by row
extern "C" __global__ void collect_pairs(
    const double* __restrict__ total, int n, int triangle, const int* __restrict__ own,
    const long long* __restrict__ starts, int* __restrict__ firsts, int* __restrict__ others,
    double* __restrict__ coefficients)
{
    __shared__ int before[THREADS / 32 + 1];
    int i = blockIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    long long position = starts[i];
    for (int begin = triangle ? i + 1 : 0; begin < n; begin += THREADS) {
        int j = begin + threadIdx.x;
        double c = j < n ? coefficient(total, n, triangle, i, j) : 0.0;
        unsigned counts_here = __ballot_sync(0xffffffffu, c != 0.0);
        if (lane == 0) before[warp + 1] = __popc(counts_here);
        if (threadIdx.x == 0) before[0] = 0;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int w = 0; w < THREADS / 32; w++) before[w + 1] += before[w];
        __syncthreads();
        if (c != 0.0) {
            long long at = position + before[warp] + __popc(counts_here & ((1u << lane) - 1));
            firsts[at] = own[i];
            others[at] = j;
            coefficients[at] = c;
        }
        position += before[THREADS / 32];
        __syncthreads();
    }
}

// partial[part][f]: coefficient times difference, summed over the pairs of the part in order
extern "C" __global__ void pair_weights(
    const double* __restrict__ tile, int step, long long n_pairs, long long size,
    const int* __restrict__ firsts, const int* __restrict__ others,
    const double* __restrict__ coefficients, double* __restrict__ partial)
{
    __shared__ int first[128], other[128];
    __shared__ double by[128];
    int f = blockIdx.x * 128 + threadIdx.x;
    long long begin = blockIdx.y * size, end = begin + size < n_pairs ? begin + size : n_pairs;
    double sum = 0.0;
    const double* column = tile + (f < step ? f : 0);
    for (long long k = begin; k < end; k += 128) {
        int count = end - k < 128 ? (int)(end - k) : 128;
        __syncthreads();
        if (threadIdx.x < count) {
            first[threadIdx.x] = firsts[k + threadIdx.x];
            other[threadIdx.x] = others[k + threadIdx.x];
            by[threadIdx.x] = coefficients[k + threadIdx.x];
        }
        __syncthreads();
        int q = 0;
        for (; q + 8 <= count; q += 8) {
            double a[8], b[8];
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                a[u] = column[(long long)first[q + u] * step];
                b[u] = column[(long long)other[q + u] * step];
            }
            #pragma unroll
            for (int u = 0; u < 8; u++) sum += by[q + u] * fabs(a[u] - b[u]);
        }
        for (; q < count; q++)
            sum += by[q] * fabs(column[(long long)first[q] * step]
                                - column[(long long)other[q] * step]);
    }
    if (f < step) partial[(long long)blockIdx.y * step + f] = sum;
}

// out[f] += partial[0][f] + partial[1][f] + ...
extern "C" __global__ void add_weights(
    const double* __restrict__ partial, int n_parts, int step, int width, double* __restrict__ out)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= width) return;
    double sum = 0.0;
    for (int part = 0; part < n_parts; part++) sum += partial[(long long)part * step + f];
    out[f] += sum;
}
"""
