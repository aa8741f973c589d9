"""CUDA kernels for all pairs of columns.

Screened values have 16 bits, and their order as whole numbers is the order of the values: numbers
in half precision without a sign, or fractions of 31743, the bits of the largest such number. A
pair that passes is stored as one word of 64 bits: column, 65535 minus the screened value, other
column, in 24, 16 and 24 bits. Such words, sorted, list the pairs of every column from the largest
value down.

Sums of a column run in the 32 lanes of a warp, and no multiplication is fused with an addition: the
bits are those of :mod:`featly.core.pairs.correlation` on the CPU.
"""

__all__ = ["CODES", "LISTS", "UNITS"]

COMMON = r"""
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define WARP 0xffffffffu

static __device__ __forceinline__ double sum_lanes(double lane) {
    for (int half = 16; half > 0; half >>= 1)
        lane = __dadd_rn(lane, __shfl_down_sync(WARP, lane, half));
    return __shfl_sync(WARP, lane, 0);
}

static __device__ __forceinline__ float half_to_float(u16 bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// the largest half that is not above a number from 0 up
static __device__ __forceinline__ u16 half_below(float x) {
    u16 bits;
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

// the least screened value of a pair that may be as good as one of this screened value
static __device__ __forceinline__ u16 lower_bound(
    u16 code, float relative, float absolute, int coded)
{
    if (coded) return code;
    float x = half_to_float(code) * (1.0f - relative) - absolute;
    return x > 0.0f ? half_below(x) : (u16)0;
}
"""

UNITS = (
    COMMON
    + r"""
// unit columns in half precision, a warp a column: the operations of the CPU in the same order
extern "C" __global__ void standardise(
    const VALUE* values, i64 row_step, i64 column_step, int n, int p, int padded, double unit,
    u16* halves, double* origins, double* means, double* scales, double* slacks,
    int* first_infinite)
{
    const int f = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (f >= p) return;
    const VALUE* x = values + f * column_step;
    double origin = 0.0;
    bool has_origin = false;
    for (int low = 0; low < n && !has_origin; low += 32) {
        const int i = low + lane;
        double v = 0.0;
        bool is_known = false;
        if (i < n) {
            v = (double)x[i * row_step];
            is_known = v == v;
        }
        const u32 known = __ballot_sync(WARP, is_known);
        if (known) {
            origin = __shfl_sync(WARP, v, __ffs(known) - 1);
            has_origin = true;
        }
    }
    double sum = 0.0;
    int count = 0;
    for (int i = lane; i < n; i += 32) {
        const double v = (double)x[i * row_step];
        if (v == v) {
            sum = __dadd_rn(sum, __dsub_rn(v, origin));
            ++count;
        }
    }
    for (int half = 16; half > 0; half >>= 1) count += __shfl_xor_sync(WARP, count, half);
    const double mean = count ? __ddiv_rn(sum_lanes(sum), (double)count) : 0.0;
    sum = 0.0;
    for (int i = lane; i < n; i += 32) {
        const double v = (double)x[i * row_step];
        if (v == v) {
            const double z = __dsub_rn(__dsub_rn(v, origin), mean);
            sum = __dadd_rn(sum, __dmul_rn(z, z));
        }
    }
    const double squares = sum_lanes(sum);
    const bool finite = squares < 1.0 / 0.0;
    const bool varies = finite && squares >= LEAST;
    const double scale = varies ? __ddiv_rn(1.0, __dsqrt_rn(squares)) : 0.0;
    u16* out = halves + (i64)f * padded;
    sum = 0.0;
    for (int i = lane; i < padded; i += 32) {
        u16 bits = 0;
        if (varies && i < n) {
            const double v = (double)x[i * row_step];
            if (v == v) {
                const double z = __dmul_rn(__dsub_rn(__dsub_rn(v, origin), mean), scale);
                const double wide = z * unit;
                asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(wide));
                const double off = (double)half_to_float(bits) / unit - z;
                sum += off * off;
            }
        }
        out[i] = bits;
    }
    sum = sum_lanes(sum);
    if (lane == 0) {
        origins[f] = origin;
        means[f] = mean;
        scales[f] = scale;
        slacks[f] = sqrt(sum);
        if (!finite) atomicMin(first_infinite, f);
    }
}

// the exact values of pairs, a warp a pair
extern "C" __global__ void pair_values(
    const VALUE* values, i64 row_step, i64 column_step, int n, const double* origins,
    const double* means, const double* scales, const u64* pairs, i64 n_pairs, double* out)
{
    const i64 k = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (k >= n_pairs) return;
    const i64 f = (i64)(pairs[k] >> 40), g = (i64)(pairs[k] & 0xffffff);
    const VALUE *x = values + f * column_step, *y = values + g * column_step;
    const double x0 = origins[f], xm = means[f], xs = scales[f];
    const double y0 = origins[g], ym = means[g], ys = scales[g];
    double sum = 0.0;
    for (int i = lane; i < n; i += 32) {
        const double v = (double)x[i * row_step], w = (double)y[i * row_step];
        if (v == v && w == w) {
            const double a = __dmul_rn(__dsub_rn(__dsub_rn(v, x0), xm), xs);
            const double b = __dmul_rn(__dsub_rn(__dsub_rn(w, y0), ym), ys);
            sum = __dadd_rn(sum, __dmul_rn(a, b));
        }
    }
    sum = sum_lanes(sum);
    if (lane == 0) out[k] = fmin(rint(fabs(sum) * GRID) / GRID, 1.0);
}

// mean ranks of sorted columns, a thread a column
extern "C" __global__ void mid_ranks(
    const double* values, const i64* order, int n, int width, RANK* ranks)
{
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= width) return;
    const double* x = values + (i64)f * n;
    const i64* rows = order + (i64)f * n;
    RANK* out = ranks + (i64)f * n;
    int first = 0;
    while (first < n) {
        const double value = x[rows[first]];
        int last = first;
        while (last + 1 < n && x[rows[last + 1]] == value) ++last;
        const RANK rank = (RANK)(0.5 * ((double)first + last) + 1.0);
        const RANK result = value == value ? rank : (RANK)(0.0 / 0.0);
        for (int k = first; k <= last; ++k) out[rows[k]] = result;
        first = last + 1;
    }
}

// products in float32 to half precision without a sign, rounded down
extern "C" __global__ void narrow(const float* wide, i64 size, u16* out) {
    const i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < size) out[k] = half_below(fabsf(wide[k]));
}
"""
)

LISTS = (
    COMMON
    + r"""
#define NEVER 0x7c00

// limits from the tile of a block with itself, which at least k columns reach. A block of 256
// threads a row: each finds the largest value of its columns, and the limit is the k-th of those
extern "C" __global__ void row_limits(
    const u16* tile, int ld, int width, int first, int k, float relative, float absolute,
    int coded, u16* limits)
{
    __shared__ int largest[256];
    const int row = blockIdx.x, me = threadIdx.x;
    const u16* line = tile + (i64)row * ld;
    int best = -1;
    for (int low = me * 8; low < width; low += 2048) {
        const uint4 eight = *(const uint4*)(line + low);
        const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
        for (int e = 0; e < 8; ++e) {
            const int code = (words[e >> 1] >> (16 * (e & 1))) & 0x7fff;
            if (low + e < width && low + e != row && code > best) best = code;
        }
    }
    largest[me] = best;
    __syncthreads();
    int rank = 0;
    for (int other = 0; other < 256; ++other)
        rank += largest[other] > best || (largest[other] == best && other < me);
    if (rank == k - 1 && best >= 0) {
        const u16 limit = lower_bound((u16)best, relative, absolute, coded);
        if (limit > limits[first + row]) limits[first + row] = limit;
    }
}

static __device__ __forceinline__ u32 not_below(u32 two, u32 limit) {
    u32 mask;
    asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(two), "r"(limit));
    return mask;
}

static __device__ __forceinline__ void append(
    u64 f, u32 code, u64 g, u64* list, u64* count, u64 capacity)
{
    const u64 position = atomicAdd(count, 1ull);
    if (position < capacity) list[position] = f << 40 | (u64)(0xffff - code) << 24 | g;
}

// eight values of which some pass: rare, so not inlined
static __device__ __noinline__ void append_passing(
    uint4 values, uint4 down, u32 limit, int row, int column, int width, int first_row,
    int first_column, int mode, u64* list, u64* count, u64 capacity)
{
    const u64 low = (u64)values.y << 32 | values.x, high = (u64)values.w << 32 | values.z;
    const u64 low_limit = (u64)down.y << 32 | down.x, high_limit = (u64)down.w << 32 | down.z;
#pragma unroll 1
    for (int e = 0; e < 8; ++e) {
        const int other = column + e, at = 16 * (e & 3);
        const u32 code = (u32)((e < 4 ? low : high) >> at) & 0x7fff;
        const u32 theirs = (u32)((e < 4 ? low_limit : high_limit) >> at) & 0xffff;
        if (other >= width) return;
        if ((mode == 1 && other == row) || (mode == 3 && other <= row)) continue;
        const u64 f = first_row + row, g = first_column + other;
        if (code >= limit) append(f, code, g, list, count, capacity);
        if (code >= theirs) append(g, code, f, list, count, capacity);
    }
}

// pairs of a tile that reach the limit of their row or of their column, eight columns a thread
// mode 0: listed for the row and for the column; 1: a block with itself, listed for the row;
// 2: listed once; 3: a block with itself, listed once
extern "C" __global__ void scan(
    const u16* tile, int ld, int rows, int width, int first_row, int first_column,
    const u16* limits, int mode, u64* list, u64* count, u64 capacity)
{
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (column >= width) return;
    const int low = blockIdx.y * ROWS, high = min(low + ROWS, rows);
    uint4 down = make_uint4(0x7c007c00u, 0x7c007c00u, 0x7c007c00u, 0x7c007c00u);
    if (mode == 0) down = *(const uint4*)(limits + first_column + column);
    for (int begin = low; begin < high; begin += 8) {
        uint4 values[8];
        u32 across[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            const int row = min(begin + u, high - 1);
            values[u] = __ldcs((const uint4*)(tile + (i64)row * ld + column));
            across[u] = limits[first_row + row] * 0x10001u;
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            const u32 a = values[u].x & 0x7fff7fffu, b = values[u].y & 0x7fff7fffu;
            const u32 c = values[u].z & 0x7fff7fffu, d = values[u].w & 0x7fff7fffu;
            const u32 passing =
                not_below(a, across[u]) | not_below(a, down.x) |
                not_below(b, across[u]) | not_below(b, down.y) |
                not_below(c, across[u]) | not_below(c, down.z) |
                not_below(d, across[u]) | not_below(d, down.w);
            if (passing && begin + u < high)
                append_passing(
                    values[u], down, across[u] & 0xffff, begin + u, column, width, first_row,
                    first_column, mode, list, count, capacity);
        }
    }
}

// start of the pairs of every column in a sorted list
extern "C" __global__ void begins(const u64* pairs, i64 n_pairs, int p, i64* start) {
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f > p) return;
    const u64 wanted = (u64)f << 40;
    i64 low = 0, high = n_pairs;
    while (low < high) {
        const i64 middle = (low + high) >> 1;
        if (pairs[middle] < wanted) low = middle + 1; else high = middle;
    }
    start[f] = low;
}

// raise the limits by the k-th pair of every column, and count the pairs that still pass
extern "C" __global__ void shrink(
    const u64* pairs, const i64* start, int p, int k, float relative, float absolute, int coded,
    u16* limits, i64* n_retained)
{
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= p) return;
    const i64 low = start[f], high = start[f + 1];
    i64 end = high;
    if (high - low >= k) {
        const u16 code = 0xffff - (u16)(pairs[low + k - 1] >> 24);
        const u16 limit = max((int)lower_bound(code, relative, absolute, coded), (int)limits[f]);
        limits[f] = limit;
        end = low + k;
        while (end < high && (u16)(0xffff - (u16)(pairs[end] >> 24)) >= limit) ++end;
    }
    n_retained[f] = end - low;
}

extern "C" __global__ void gather(
    const u64* pairs, const i64* start, const i64* ends, int p, u64* out)
{
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= p) return;
    const i64 to = f ? ends[f - 1] : 0;
    for (i64 k = 0; k < ends[f] - to; ++k) out[to + k] = pairs[start[f] + k];
}

// the k pairs of largest value of every column, ties by the other column; a warp a column
extern "C" __global__ void best_pairs(
    const u64* pairs, const double* values, const i64* start, int p, int k, double grid,
    i64* index, double* best)
{
    const i64 f = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (f >= p) return;
    const u64 none = ~0ull;
    u64 before = 0;
    for (int t = 0; t < k; ++t) {
        u64 least = none;
        for (i64 j = start[f] + lane; j < start[f + 1]; j += 32) {
            if (!(values[j] > 0.0)) continue;
            // one more than the distance from 1, so that no word is 0
            const u64 word = ((u64)((1.0 - values[j]) * grid) << 24 | (pairs[j] & 0xffffff)) + 1;
            if (word > before && word < least) least = word;
        }
        for (int half = 16; half > 0; half >>= 1) {
            const u64 other = __shfl_xor_sync(WARP, least, half);
            if (other < least) least = other;
        }
        if (lane == 0) {
            const bool exists = least != none;
            index[f * k + t] = exists ? (i64)((least - 1) & 0xffffff) : -1;
            best[f * k + t] = exists ? 1.0 - (double)((least - 1) >> 24) / grid : 0.0;
        }
        before = least;
        if (least == none) {
            for (int rest = t + 1 + lane; rest < k; rest += 32) {
                index[f * k + rest] = -1;
                best[f * k + rest] = 0.0;
            }
            break;
        }
    }
}
"""
)

CODES = (
    COMMON
    + r"""
// levels that occur, numbered from 0, with their sizes and entropies; a warp a column
extern "C" __global__ void slots(
    const u8* codes, int n, int p, const i64* table, u8* out, int* sizes, int* occupied,
    i64* entropy)
{
    __shared__ int counts[8][256];
    __shared__ u8 new_levels[8][256];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int f = blockIdx.x * 8 + warp;
    int *count = counts[warp];
    u8 *new_level = new_levels[warp];
    for (int k = lane; k < 256; k += 32) count[k] = 0;
    __syncwarp();
    if (f >= p) return;
    const u8* x = codes + (i64)f * n;
    for (int i = lane; i < n; i += 32) atomicAdd(count + x[i], 1);
    __syncwarp();
    int levels = 0;
    i64 sum = 0;
    for (int low = 0; low < 256; low += 32) {
        const int size = count[low + lane];
        const u32 occupied_here = __ballot_sync(WARP, size > 0);
        const int slot = levels + __popc(occupied_here & ((1u << lane) - 1));
        new_level[low + lane] = (u8)slot;
        if (size > 0 && slot < MOST) sizes[f * MOST + slot] = size;
        sum += table[size];
        levels += __popc(occupied_here);
    }
    for (int half = 16; half > 0; half >>= 1) sum += __shfl_xor_sync(WARP, sum, half);
    __syncwarp();
    for (int i = lane; i < n; i += 32) out[(i64)f * n + i] = new_level[x[i]];
    if (lane == 0) {
        occupied[f] = levels;
        entropy[f] = table[n] - sum;
    }
}

// for every level of a column but its last, a plane of 0 and 1 in half precision
extern "C" __global__ void indicators(
    const u8* slot, const int* occupied, int n, i64 p, int padded, u16* planes)
{
    const i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    const i64 f = at / padded;
    const int i = (int)(at % padded);
    if (f >= p) return;
    const int mine = i < n ? slot[f * n + i] : 255, last = occupied[f] - 1;
    for (int a = 0; a < PLANES; ++a)
        planes[(f * PLANES + a) * padded + i] = mine == a && mine < last ? 0x3c00 : 0;
}

static __device__ __forceinline__ double quotient(i64 entropies, i64 cells, int terms, i64 whole) {
    const i64 mutual = entropies - (whole - cells);
    if (mutual <= terms) return 0.0;
    return rint((double)(2 * mutual) / (double)entropies * GRID) / GRID;
}

static __device__ __forceinline__ int cell(float count) { return (int)count; }
static __device__ __forceinline__ int cell(u16 bits) { return (int)half_to_float(bits); }

// symmetric uncertainties of a tile from the products of planes, as fractions of 31743
extern "C" __global__ void uncertainties(
    const CELL* products, i64 ld, int rows, int width, int first_row, int first_column,
    const int* sizes, const int* occupied, const i64* entropy, const i64* table, int n, u16* tile,
    int tile_ld)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= width) return;
    const int f = first_row + row, g = first_column + column;
    const int mine = occupied[f] - 1, theirs = occupied[g] - 1;
    u16 code = 0;
    if (mine > 0 && theirs > 0) {
        int left[PLANES];
        i64 cells = 0;
        int terms = 2 + mine + 1 + theirs + 1, corner = sizes[f * MOST + mine];
#pragma unroll
        for (int b = 0; b < PLANES; ++b) left[b] = b < theirs ? sizes[g * MOST + b] : 0;
#pragma unroll
        for (int a = 0; a < PLANES; ++a) {
            if (a >= mine) continue;
            const CELL* line = products + ((i64)row * PLANES + a) * ld + (i64)column * PLANES;
            int rest = sizes[f * MOST + a];
#pragma unroll
            for (int b = 0; b < PLANES; ++b) {
                const int count = cell(line[b]);
                rest -= count;
                left[b] -= count;
                cells += table[count];
                terms += count > 1;
            }
            cells += table[rest];
            terms += rest > 1;
        }
#pragma unroll
        for (int b = 0; b < PLANES; ++b) {
            corner -= left[b];
            cells += table[left[b]];
            terms += left[b] > 1;
        }
        cells += table[corner];
        terms += corner > 1;
        code = (u16)(quotient(entropy[f] + entropy[g], cells, terms, table[n]) * 31743.0);
    }
    tile[(i64)row * tile_ld + column] = code;
}

// the exact values of pairs, a warp a pair, with its joint counts in shared memory
extern "C" __global__ void code_values(
    const u8* slot, int n, const int* occupied, const i64* entropy, const i64* table,
    const u64* pairs, i64 n_pairs, double* out)
{
    __shared__ int counts[8][MOST * MOST];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const i64 k = (i64)blockIdx.x * 8 + warp;
    int* count = counts[warp];
    for (int c = lane; c < MOST * MOST; c += 32) count[c] = 0;
    __syncwarp();
    if (k >= n_pairs) return;
    const i64 f = (i64)(pairs[k] >> 40), g = (i64)(pairs[k] & 0xffffff);
    for (int i = lane; i < n; i += 32)
        atomicAdd(count + slot[f * n + i] * MOST + slot[g * n + i], 1);
    __syncwarp();
    i64 cells = 0;
    int terms = 0;
    for (int c = lane; c < MOST * MOST; c += 32) {
        cells += table[count[c]];
        terms += count[c] > 1;
    }
    for (int half = 16; half > 0; half >>= 1) {
        cells += __shfl_xor_sync(WARP, cells, half);
        terms += __shfl_xor_sync(WARP, terms, half);
    }
    if (lane == 0) {
        const bool vary = occupied[f] > 1 && occupied[g] > 1;
        terms += 2 + occupied[f] + occupied[g];
        out[k] = vary ? quotient(entropy[f] + entropy[g], cells, terms, table[n]) : 0.0;
    }
}
"""
)
