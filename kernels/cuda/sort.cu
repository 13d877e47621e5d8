/*
 * sort - a radix sort, least significant byte first
 *
 * In one pass, each block counts the digits of its tile; one block sums up the
 * counts, by digit and then by tile, which gives offsets; then each block moves
 * its tile.  There a warp has a part of it and moves 32 elements at a time:
 * lanes with the same digit find each other by votes, one for each bit, and are
 * ranked by lane, which keeps the order.
 */
#include "config.h"
#include "kernels/cuda/sort.cuh"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    PART = 256,          /* elements of a warp */
    TILE = WARPS * PART, /* and of a block */
    DIGITS = 256,
};

/* The lanes whose digit is the same. */
static __device__ __forceinline__ unsigned same_digit(unsigned digit)
{
    unsigned same = ~0u;

#pragma unroll
    for (int bit = 0; bit < 9; bit++) {
        const unsigned vote = __ballot_sync(~0u, digit >> bit & 1);

        same &= digit >> bit & 1 ? vote : ~vote;
    }
    return same;
}

static __global__ void __launch_bounds__(THREADS)
    count_digits(unsigned *count, const unsigned *key, int64_t n, int shift)
{
    begin_kernel();

    SHARED(unsigned, mine, DIGITS);
    const int64_t from = (int64_t)blockIdx.x * TILE;

    for (int d = threadIdx.x; d < DIGITS; d += THREADS)
        mine[d] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < TILE; k += THREADS)
        if (from + k < n)
            atomicAdd(&mine[key[from + k] >> shift & (DIGITS - 1)], 1u);
    __syncthreads();
    for (int d = threadIdx.x; d < DIGITS; d += THREADS)
        count[(int64_t)d * gridDim.x + blockIdx.x] = mine[d];
}

/* count(n) becomes the sum of the counts before it; one block, a part a
 * thread. */
static __global__ void __launch_bounds__(THREADS)
    sum_counts(unsigned *count, int64_t n)
{
    begin_kernel();

    SHARED(unsigned, total, THREADS);
    const int64_t each = (n + THREADS - 1) / THREADS;
    const int64_t from = threadIdx.x * each;
    unsigned sum = 0;

    for (int64_t i = from; i < from + each && i < n; i++)
        sum += count[i];
    total[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned t = 0; t < threadIdx.x; t++)
        sum += total[t];
    for (int64_t i = from; i < from + each && i < n; i++) {
        const unsigned here = count[i];

        count[i] = sum;
        sum += here;
    }
}

/* row is null in the first pass: then an element's row is its index. */
static __global__ void __launch_bounds__(THREADS)
    move_tile(unsigned *key_to, unsigned *row_to, const unsigned *key,
              const unsigned *row, const unsigned *offset, int64_t n, int shift)
{
    begin_kernel();

    SHARED(unsigned, next, WARPS *DIGITS);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t from = (int64_t)blockIdx.x * TILE + warp * PART;

    for (int i = threadIdx.x; i < WARPS * DIGITS; i += THREADS)
        next[i] = 0;
    __syncthreads();
    for (int k = lane; k < PART; k += 32)
        if (from + k < n)
            atomicAdd(
                &next[warp * DIGITS + (key[from + k] >> shift & (DIGITS - 1))],
                1u);
    __syncthreads();
    for (int d = threadIdx.x; d < DIGITS; d += THREADS) {
        unsigned at = offset[(int64_t)d * gridDim.x + blockIdx.x];

        for (int w = 0; w < WARPS; w++) {
            const unsigned here = next[w * DIGITS + d];

            next[w * DIGITS + d] = at;
            at += here;
        }
    }
    __syncthreads();
    for (int k = lane; k < PART; k += 32) {
        const bool there = from + k < n;
        const unsigned word = there ? key[from + k] : 0;
        const unsigned digit = word >> shift & (DIGITS - 1);
        const unsigned same = same_digit(there ? digit : (unsigned)DIGITS);
        const int rank = (int)__popc(same & ((1u << lane) - 1));
        unsigned *const at = &next[warp * DIGITS + digit];
        const unsigned base = there ? *at : 0;

        __syncwarp(); /* all have read it */
        if (there) {
            key_to[base + rank] = word;
            row_to[base + rank] = row ? row[from + k] : (unsigned)(from + k);
            if (rank == 0)
                *at = base + __popc(same);
        }
        __syncwarp();
    }
}

/* Two arrays of keys, two of rows, and the counts. */
size_t sort_room(int64_t n)
{
    const size_t words = 4 * (size_t)n + (size_t)blocks(n, TILE) * DIGITS;

    return (words * sizeof(unsigned) + 255) & ~(size_t)255;
}

void sort_tokens(struct dev *dev, void *room, const int *tokens, int64_t n,
                 int64_t vocab, const unsigned **key, const unsigned **row)
{
    const unsigned tiles = blocks(n, TILE);
    unsigned *to = (unsigned *)room, *count = to + 4 * n;
    const unsigned *from = (const unsigned *)tokens, *from_row = nullptr;

    for (int shift = 0; shift == 0 || (vocab - 1) >> shift; shift += 8) {
        LAUNCH(count_digits, tiles, THREADS, 0, QUEUE(dev), count, from, n,
               shift);
        LAUNCH(sum_counts, 1, THREADS, 0, QUEUE(dev), count,
               (int64_t)tiles * DIGITS);
        LAUNCH(move_tile, tiles, THREADS, 0, QUEUE(dev), to, to + n, from,
               from_row, (const unsigned *)count, n, shift);
        from = to;
        from_row = to + n;
        to = to == (unsigned *)room ? to + 2 * n : (unsigned *)room;
    }
    *key = from;
    *row = from_row;
}
