"""CUDA kernels of bit-planes.

Planes lie in tiles of 128 columns: ``planes[tile][word][plane][column % 128]``, words of 32 rows. A
tile is contiguous, so a warp reads 128 bytes at a time.

Macros: ``PLANES``, the planes of a column; ``OTHERS``, the planes of the other column that are
counted at a time; ``BY_CLASS``, whether counts are wanted by class; ``SHARED_TABLE``, whether the
table of k log2 k fits into shared memory; ``NOISE``, see :mod:`featly.core.counts.bitplanes`.
"""

__all__ = ["PACK", "PLANES"]

_TYPES = r"""
typedef unsigned char u8;
typedef unsigned int u32;
typedef long long i64;
#define TILE 128
"""

PACK = (
    _TYPES
    + r"""
// Pack a row-major table of bytes, four neighbouring columns a thread. rows[bit] is the row of a
// bit, -1 for none. Words are divided among blockIdx.y.
//
// Eight rows of four columns are the bits of one word, column by column in its bytes; the bytes of
// four such words are rearranged into a word of 32 rows for each column.
extern "C" __global__ void pack_four(
    const u8* values, i64 stride, i64 m, i64 flip, const int* low, const int* rows, i64 n_words,
    u32* planes)
{
    const i64 column = 4 * (blockIdx.x * (i64)blockDim.x + threadIdx.x);
    if (column >= m) return;
    u32 wanted[PLANES];
    for (int i = 0; i < PLANES; i++) {
        wanted[i] = 0;
        for (int k = 0; k < 4; k++) {
            const int least = column + k < m ? low[column + k] : 0;
            wanted[i] |= (((u32)(least + i) ^ (u32)flip) & 255u) << (8 * k);
        }
    }
    u32* to = planes + (column / TILE) * n_words * PLANES * TILE + column % TILE;
    const i64 begin = n_words * blockIdx.y / gridDim.y;
    const i64 end = n_words * (blockIdx.y + 1) / gridDim.y;
    for (i64 word = begin; word < end; word++) {
        u32 bits[PLANES][4];
        #pragma unroll
        for (int quarter = 0; quarter < 4; quarter++) {
            #pragma unroll
            for (int i = 0; i < PLANES; i++) bits[i][quarter] = 0;
            const int4* const eight_rows = (const int4*)(rows + 32 * word + 8 * quarter);
            const int4 p = __ldg(eight_rows), q = __ldg(eight_rows + 1);
            const int row_of_bit[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
            u32 read[8];
            #pragma unroll
            for (int k = 0; k < 8; k++)
                read[k] = __ldcs((const u32*)(values + max(row_of_bit[k], 0) * stride + column));
            #pragma unroll
            for (int k = 0; k < 8; k++) {
                const u32 row_mask = row_of_bit[k] < 0 ? 0u : 0x80808080u;
                const u32 four = read[k];
                #pragma unroll
                for (int i = 0; i < PLANES; i++) {
                    // the highest bit of every byte that is the one wanted
                    const u32 other = four ^ wanted[i];
                    const u32 same = ~(((other & 0x7f7f7f7fu) + 0x7f7f7f7fu) | other) & row_mask;
                    bits[i][quarter] |= same >> (7 - k);
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < PLANES; i++) {
            const u32 a = bits[i][0], b = bits[i][1], c = bits[i][2], d = bits[i][3];
            const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
            const u32 AB = __byte_perm(a, b, 0x7362), CD = __byte_perm(c, d, 0x7362);
            uint4 rearranged;
            rearranged.x = __byte_perm(ab, cd, 0x5410);
            rearranged.y = __byte_perm(ab, cd, 0x7632);
            rearranged.z = __byte_perm(AB, CD, 0x5410);
            rearranged.w = __byte_perm(AB, CD, 0x7632);
            *(uint4*)(to + (word * PLANES + i) * TILE) = rearranged;
        }
    }
}

// Pack some columns of such a table, or all where `columns` is null, a column a thread.
extern "C" __global__ void pack_one(
    const u8* values, i64 stride, i64 m, i64 flip, const int* low, const int* columns,
    const int* rows, i64 n_words, u32* planes)
{
    const i64 position = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (position >= m) return;
    const i64 column = columns ? columns[position] : position;
    const int least = low[column];
    u32* to = planes + (position / TILE) * n_words * PLANES * TILE + position % TILE;
    const i64 begin = n_words * blockIdx.y / gridDim.y;
    const i64 end = n_words * (blockIdx.y + 1) / gridDim.y;
    for (i64 word = begin; word < end; word++) {
        u32 bits[PLANES];
        #pragma unroll
        for (int i = 0; i < PLANES; i++) bits[i] = 0;
        #pragma unroll 8
        for (int k = 0; k < 32; k++) {
            const int row = __ldg(rows + 32 * word + k);
            const int value = values[max(row, 0) * stride + column];
            const int level = row < 0 ? -1 : (value ^ (int)flip) - least;
            #pragma unroll
            for (int i = 0; i < PLANES; i++) bits[i] |= (u32)(level == i) << k;
        }
        #pragma unroll
        for (int i = 0; i < PLANES; i++) to[(word * PLANES + i) * TILE] = bits[i];
    }
}

// Pack a feature-major table: a warp compares the values of 32 rows with a level by one ballot. A
// block packs a tile of columns and WORDS words, which it transposes in shared memory.
#define WORDS 8
extern "C" __global__ void pack_columns(
    const u8* values, i64 stride, i64 m, i64 flip, const int* low, const int* columns,
    const int* rows, i64 n_words, u32* planes)
{
    __shared__ u32 transposed[WORDS * PLANES * TILE];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
    const i64 tile = blockIdx.x, first = blockIdx.y * (i64)WORDS;
    const int n_words_here = (int)min((i64)WORDS, n_words - first);
    for (int k = warp; k < TILE; k += n_warps) {
        const i64 position = tile * TILE + k;
        const i64 column = position >= m ? 0 : columns ? columns[position] : position;
        const int least = low[column];
        const u8* at = values + column * stride;
        for (int word = 0; word < n_words_here; word++) {
            const int row = __ldg(rows + 32 * (first + word) + lane);
            const int level = row < 0 ? -1 : (at[row] ^ (int)flip) - least;
            #pragma unroll
            for (int i = 0; i < PLANES; i++) {
                const u32 bits = __ballot_sync(0xffffffffu, level == i);
                if (lane == 0) transposed[(word * PLANES + i) * TILE + k] = bits;
            }
        }
    }
    __syncthreads();
    u32* to = planes + (tile * n_words + first) * PLANES * TILE;
    for (int k = threadIdx.x; k < n_words_here * PLANES * TILE; k += blockDim.x)
        to[k] = transposed[k];
}
"""
)

PLANES = (
    _TYPES
    + r"""
// Count the rows of each class at each level of every column, for the tiles from `tile` on:
// counts[(level * n_classes + class) * width + column].
extern "C" __global__ void margins(
    const u32* planes, i64 tile, i64 n_words, const int* ends, i64 n_classes, const int* sizes,
    i64 width, int* counts)
{
    const i64 position = blockIdx.x * (i64)TILE + threadIdx.x;
    const u32* mine = planes + (tile + blockIdx.x) * n_words * PLANES * TILE + threadIdx.x;
    for (i64 c = 0; c < n_classes; c++) {
        int in_planes[PLANES];
        #pragma unroll
        for (int i = 0; i < PLANES; i++) in_planes[i] = 0;
        #pragma unroll 4
        for (int word = ends[c]; word < ends[c + 1]; word++) {
            #pragma unroll
            for (int i = 0; i < PLANES; i++)
                in_planes[i] += __popc(__ldcs(mine + ((i64)word * PLANES + i) * TILE));
        }
        int remaining = sizes[c];
        #pragma unroll
        for (int i = 0; i < PLANES; i++) {
            remaining -= in_planes[i];
            counts[(i * n_classes + c) * width + position] = in_planes[i];
        }
        counts[(PLANES * n_classes + c) * width + position] = remaining;
    }
}

__device__ i64 round_information(i64 value, i64 bits)
{
    const i64 rounded = (value + ((1LL << bits) >> 1)) >> bits;
    return rounded > NOISE ? rounded : 0;
}

// Compute the information that every column shares with the other one, as
// BitPlanes.fill_information does. The planes of the other column, one for each of its levels, are
// others[level][word], its counts other_counts[level][class]. The last level is followed by OTHERS
// levels without a row. A block takes two tiles.
extern "C" __global__ void __launch_bounds__(2 * TILE) count(
    const u32* planes, i64 n_tiles, i64 m, i64 n_words, const int* ends, i64 n_classes,
    const u32* others, i64 n_others, const int* other_counts, const i64* table, i64 n_table,
    const int* column, const i64* own, const i64* added, i64 bits, i64 shared_words,
    i64* redundancy, i64* conditional)
{
    extern __shared__ i64 memory[];
#if SHARED_TABLE
    for (int k = threadIdx.x; k < n_table; k += blockDim.x) memory[k] = table[k];
    const i64* const look_up = memory;
    u32* const shared_others = (u32*)(memory + n_table);
#else
    const i64* const look_up = table;
    u32* const shared_others = (u32*)memory;
#endif
    const int n_rounds = (int)((n_others + OTHERS - 1) / OTHERS);
    // if it fits, the other column stays in shared memory: shared_others[round][word][OTHERS]
    const bool all_fit = n_rounds * n_words * OTHERS <= shared_words;
    const int words_at_once = all_fit ? (int)n_words : (int)(shared_words / OTHERS);
    if (all_fit) {
        for (i64 k = threadIdx.x; k < n_rounds * n_words * OTHERS; k += blockDim.x) {
            const i64 level = k / (n_words * OTHERS) * OTHERS + k % OTHERS;
            shared_others[k] = others[level * n_words + k / OTHERS % n_words];
        }
    }
    __syncthreads();
    const i64 added_joint = added[0], added_given = added[1];
    for (i64 pair = blockIdx.x; 2 * pair < n_tiles; pair += gridDim.x) {
        i64 tile = 2 * pair + threadIdx.x / TILE;
        const i64 position = tile * TILE + threadIdx.x % TILE;
        if (tile >= n_tiles) tile = n_tiles - 1;  // all threads must come to the barriers
        const u32* const mine = planes + tile * n_words * PLANES * TILE + threadIdx.x % TILE;
        i64 joint = 0, given = 0;
        for (int round = 0; round < n_rounds; round++) {
            const u32* const round_others =
                shared_others + (all_fit ? round * n_words * OTHERS : 0);
            int total[PLANES + 1][OTHERS];
            #pragma unroll
            for (int i = 0; i <= PLANES; i++)
                #pragma unroll
                for (int j = 0; j < OTHERS; j++) total[i][j] = 0;
            for (int c = 0; c < n_classes; c++) {
                int in_planes[PLANES][OTHERS];
                #pragma unroll
                for (int i = 0; i < PLANES; i++)
                    #pragma unroll
                    for (int j = 0; j < OTHERS; j++) in_planes[i][j] = 0;
                for (int begin = ends[c]; begin < ends[c + 1]; begin += words_at_once) {
                    const int end = min(begin + words_at_once, ends[c + 1]);
                    if (!all_fit) {
                        __syncthreads();
                        for (int k = threadIdx.x; k < (end - begin) * OTHERS; k += blockDim.x) {
                            const i64 level = (i64)round * OTHERS + k % OTHERS;
                            shared_others[k] = others[level * n_words + begin + k / OTHERS];
                        }
                        __syncthreads();
                    }
                    const u32* at = mine + (i64)begin * PLANES * TILE;
                    const u32* other_words = round_others + (all_fit ? begin * OTHERS : 0);
                    #pragma unroll 4
                    for (int word = begin; word < end; word++) {
                        u32 words[PLANES];
                        #pragma unroll
                        for (int i = 0; i < PLANES; i++) words[i] = __ldcs(at + i * TILE);
                        #pragma unroll
                        for (int j = 0; j < OTHERS; j++) {
                            const u32 other = other_words[j];
                            #pragma unroll
                            for (int i = 0; i < PLANES; i++)
                                in_planes[i][j] += __popc(words[i] & other);
                        }
                        at += PLANES * TILE;
                        other_words += OTHERS;
                    }
                }
                #pragma unroll
                for (int j = 0; j < OTHERS; j++) {
                    int remaining = __ldg(other_counts + ((i64)round * OTHERS + j) * n_classes + c);
                    #pragma unroll
                    for (int i = 0; i < PLANES; i++) {
                        remaining -= in_planes[i][j];
                        total[i][j] += in_planes[i][j];
                        if (BY_CLASS) given += look_up[in_planes[i][j]];
                    }
                    total[PLANES][j] += remaining;
                    if (BY_CLASS) given += look_up[remaining];
                }
            }
            #pragma unroll
            for (int i = 0; i <= PLANES; i++)
                #pragma unroll
                for (int j = 0; j < OTHERS; j++) joint += look_up[total[i][j]];
        }
        if (position < m) {
            const i64 f = column ? column[position] : position;
            if (redundancy) redundancy[f] = round_information(joint + added_joint - own[f], bits);
            if (BY_CLASS) conditional[f] = round_information(given - joint + added_given, bits);
        }
    }
}
"""
)
