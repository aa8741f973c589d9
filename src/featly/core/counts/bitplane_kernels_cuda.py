"""CUDA kernels of bit-planes.

Planes lie in tiles of 128 columns: ``planes[tile][word][plane][column % 128]``, words of 32 rows. A
tile is contiguous, so a warp reads 128 bytes at a time and all of a block's memory is near.

Defines: ``PLANES``, the planes of a column; ``OTHERS``, the planes of the other column that are
counted at a time; ``BY_CLASS``, whether counts are wanted by class; ``SHARED_TABLE``, whether the
table of k log2 k fits into shared memory.
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
// Planes of a row-major table of bytes, four neighbouring columns a thread. `rows` tells which row
// each bit stands for, -1 for none. Words are shared out over blockIdx.y.
//
// Eight rows of four columns are the bits of one word, column by column in its bytes; the bytes of
// four such words are turned into a word of 32 rows for each column.
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
            const int4* const eight = (const int4*)(rows + 32 * word + 8 * quarter);
            const int4 p = __ldg(eight), q = __ldg(eight + 1);
            const int these[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
            u32 read[8];
            #pragma unroll
            for (int k = 0; k < 8; k++)
                read[k] = __ldcs((const u32*)(values + max(these[k], 0) * stride + column));
            #pragma unroll
            for (int k = 0; k < 8; k++) {
                const u32 there = these[k] < 0 ? 0u : 0x80808080u;
                const u32 four = read[k];
                #pragma unroll
                for (int i = 0; i < PLANES; i++) {
                    // the highest bit of every byte that is the one wanted
                    const u32 other = four ^ wanted[i];
                    const u32 same = ~(((other & 0x7f7f7f7fu) + 0x7f7f7f7fu) | other) & there;
                    bits[i][quarter] |= same >> (7 - k);
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < PLANES; i++) {
            const u32 a = bits[i][0], b = bits[i][1], c = bits[i][2], d = bits[i][3];
            const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
            const u32 AB = __byte_perm(a, b, 0x7362), CD = __byte_perm(c, d, 0x7362);
            uint4 turned;
            turned.x = __byte_perm(ab, cd, 0x5410);
            turned.y = __byte_perm(ab, cd, 0x7632);
            turned.z = __byte_perm(AB, CD, 0x5410);
            turned.w = __byte_perm(AB, CD, 0x7632);
            *(uint4*)(to + (word * PLANES + i) * TILE) = turned;
        }
    }
}

// The same of some columns (`columns` may be null: all), a column a thread.
extern "C" __global__ void pack_one(
    const u8* values, i64 stride, i64 m, i64 flip, const int* low, const int* columns,
    const int* rows, i64 n_words, u32* planes)
{
    const i64 place = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (place >= m) return;
    const i64 column = columns ? columns[place] : place;
    const int least = low[column];
    u32* to = planes + (place / TILE) * n_words * PLANES * TILE + place % TILE;
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

// The same of a feature-major table: a warp asks all its lanes whether their row is at a level. A
// block takes a tile of columns and WORDS words, which it turns in shared memory.
#define WORDS 8
extern "C" __global__ void pack_columns(
    const u8* values, i64 stride, i64 m, i64 flip, const int* low, const int* columns,
    const int* rows, i64 n_words, u32* planes)
{
    __shared__ u32 turned[WORDS * PLANES * TILE];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
    const i64 tile = blockIdx.x, first = blockIdx.y * (i64)WORDS;
    const int n_here = (int)min((i64)WORDS, n_words - first);
    for (int k = warp; k < TILE; k += n_warps) {
        const i64 place = tile * TILE + k;
        const i64 column = place >= m ? 0 : columns ? columns[place] : place;
        const int least = low[column];
        const u8* at = values + column * stride;
        for (int word = 0; word < n_here; word++) {
            const int row = __ldg(rows + 32 * (first + word) + lane);
            const int level = row < 0 ? -1 : (at[row] ^ (int)flip) - least;
            #pragma unroll
            for (int i = 0; i < PLANES; i++) {
                const u32 bits = __ballot_sync(0xffffffffu, level == i);
                if (lane == 0) turned[(word * PLANES + i) * TILE + k] = bits;
            }
        }
    }
    __syncthreads();
    u32* to = planes + (tile * n_words + first) * PLANES * TILE;
    for (int k = threadIdx.x; k < n_here * PLANES * TILE; k += blockDim.x) to[k] = turned[k];
}
"""
)

PLANES = (
    _TYPES
    + r"""
// How many rows of each class are at each level of every column:
// counts[(level * n_classes + class) * width + place], of the tiles from `tile` on.
extern "C" __global__ void margins(
    const u32* planes, i64 tile, i64 n_words, const int* ends, i64 n_classes, const int* sizes,
    i64 width, int* counts)
{
    const i64 place = blockIdx.x * (i64)TILE + threadIdx.x;
    const u32* mine = planes + (tile + blockIdx.x) * n_words * PLANES * TILE + threadIdx.x;
    for (i64 c = 0; c < n_classes; c++) {
        int found[PLANES];
        #pragma unroll
        for (int i = 0; i < PLANES; i++) found[i] = 0;
        #pragma unroll 4
        for (int word = ends[c]; word < ends[c + 1]; word++) {
            #pragma unroll
            for (int i = 0; i < PLANES; i++)
                found[i] += __popc(__ldcs(mine + ((i64)word * PLANES + i) * TILE));
        }
        int rest = sizes[c];
        #pragma unroll
        for (int i = 0; i < PLANES; i++) {
            rest -= found[i];
            counts[(i * n_classes + c) * width + place] = found[i];
        }
        counts[(PLANES * n_classes + c) * width + place] = rest;
    }
}

__device__ i64 settle(i64 value, i64 bits)
{
    const i64 found = (value + ((1LL << bits) >> 1)) >> bits;
    return found > NOISE ? found : 0;
}

// What every column has in common with the other one: see BitPlanes.information. The planes of the
// other column, one for each of its levels, are others[level][word]; other_counts[level][class].
// Behind the last level there are OTHERS levels without a row. Two tiles a block.
extern "C" __global__ void __launch_bounds__(2 * TILE) count(
    const u32* planes, i64 n_tiles, i64 m, i64 n_words, const int* ends, i64 n_classes,
    const u32* others, i64 n_others, const int* other_counts, const i64* table, i64 n_table,
    const int* column, const i64* own, const i64* added, i64 bits, i64 room,
    i64* redundancy, i64* conditional)
{
    extern __shared__ i64 memory[];
#if SHARED_TABLE
    for (int k = threadIdx.x; k < n_table; k += blockDim.x) memory[k] = table[k];
    const i64* const look_up = memory;
    u32* const near = (u32*)(memory + n_table);
#else
    const i64* const look_up = table;
    u32* const near = (u32*)memory;
#endif
    const int n_rounds = (int)((n_others + OTHERS - 1) / OTHERS);
    // where there is room, the other column stays in shared memory: near[round][word][OTHERS]
    const bool all = n_rounds * n_words * OTHERS <= room;
    const int stretch = all ? (int)n_words : (int)(room / OTHERS);
    if (all) {
        for (i64 k = threadIdx.x; k < n_rounds * n_words * OTHERS; k += blockDim.x) {
            const i64 level = k / (n_words * OTHERS) * OTHERS + k % OTHERS;
            near[k] = others[level * n_words + k / OTHERS % n_words];
        }
    }
    __syncthreads();
    const i64 more = added[0], more_given = added[1];
    for (i64 pair = blockIdx.x; 2 * pair < n_tiles; pair += gridDim.x) {
        i64 tile = 2 * pair + threadIdx.x / TILE;
        const i64 place = tile * TILE + threadIdx.x % TILE;
        if (tile >= n_tiles) tile = n_tiles - 1;  // all threads must come to the barriers
        const u32* const mine = planes + tile * n_words * PLANES * TILE + threadIdx.x % TILE;
        i64 joint = 0, given = 0;
        for (int round = 0; round < n_rounds; round++) {
            const u32* const held = near + (all ? round * n_words * OTHERS : 0);
            int total[PLANES + 1][OTHERS];
            #pragma unroll
            for (int i = 0; i <= PLANES; i++)
                #pragma unroll
                for (int j = 0; j < OTHERS; j++) total[i][j] = 0;
            for (int c = 0; c < n_classes; c++) {
                int found[PLANES][OTHERS];
                #pragma unroll
                for (int i = 0; i < PLANES; i++)
                    #pragma unroll
                    for (int j = 0; j < OTHERS; j++) found[i][j] = 0;
                for (int begin = ends[c]; begin < ends[c + 1]; begin += stretch) {
                    const int end = min(begin + stretch, ends[c + 1]);
                    if (!all) {
                        __syncthreads();
                        for (int k = threadIdx.x; k < (end - begin) * OTHERS; k += blockDim.x) {
                            const i64 level = (i64)round * OTHERS + k % OTHERS;
                            near[k] = others[level * n_words + begin + k / OTHERS];
                        }
                        __syncthreads();
                    }
                    const u32* at = mine + (i64)begin * PLANES * TILE;
                    const u32* beside = held + (all ? begin * OTHERS : 0);
                    #pragma unroll 4
                    for (int word = begin; word < end; word++) {
                        u32 here[PLANES];
                        #pragma unroll
                        for (int i = 0; i < PLANES; i++) here[i] = __ldcs(at + i * TILE);
                        #pragma unroll
                        for (int j = 0; j < OTHERS; j++) {
                            const u32 other = beside[j];
                            #pragma unroll
                            for (int i = 0; i < PLANES; i++)
                                found[i][j] += __popc(here[i] & other);
                        }
                        at += PLANES * TILE;
                        beside += OTHERS;
                    }
                }
                #pragma unroll
                for (int j = 0; j < OTHERS; j++) {
                    int rest = __ldg(other_counts + ((i64)round * OTHERS + j) * n_classes + c);
                    #pragma unroll
                    for (int i = 0; i < PLANES; i++) {
                        rest -= found[i][j];
                        total[i][j] += found[i][j];
                        if (BY_CLASS) given += look_up[found[i][j]];
                    }
                    total[PLANES][j] += rest;
                    if (BY_CLASS) given += look_up[rest];
                }
            }
            #pragma unroll
            for (int i = 0; i <= PLANES; i++)
                #pragma unroll
                for (int j = 0; j < OTHERS; j++) joint += look_up[total[i][j]];
        }
        if (place < m) {
            const i64 f = column ? column[place] : place;
            if (redundancy) redundancy[f] = settle(joint + more - own[f], bits);
            if (BY_CLASS) conditional[f] = settle(given - joint + more_given, bits);
        }
    }
}
"""
)
