/*
 * embed - rows of the tables by token and position; their gradients
 *
 * The gradient of a table is the sum of the rows of dy that have the same
 * token.  So that the order of the sum depends on the input alone, the rows are
 * first sorted by token, stably; then each block takes TILE of them and adds up
 * its segments, neighbours of one token.  A segment belongs to the tile in
 * which it begins: later tiles write their share of it as partial sums, which a
 * second kernel adds in order.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

enum { THREADS = 128, TILE = 32 };

template <class T, int W>
static __global__ void __launch_bounds__(THREADS)
    embed_fwd(T *y, const int *tokens, const T *wte, const T *wpe, int64_t C,
              int64_t period, int64_t from)
{
    begin_kernel();

    const int64_t row = blockIdx.x;
    const T *te = wte + tokens[row] * C;
    const T *pe = wpe ? wpe + (from + row % period) * C : nullptr;

    for (int64_t c = threadIdx.x * W; c < C; c += THREADS * W) {
        float v[W];

        load(v, te + c);
        if (pe)
            load_more(v, pe + c);
        store(y + row * C + c, v);
    }
}

extern "C" void cuda_embed_fwd(struct dev *dev, struct tensor *y,
                               const struct tensor *tokens,
                               const struct tensor *wte,
                               const struct tensor *wpe, int64_t T,
                               int64_t from)
{
    const int64_t N = tensor_rows(y), C = tensor_cols(y);

    WITH_TYPE(
        E, y->type,
        WITH_WIDTH(W, E, C % WIDTH<E> == 0,
                   LAUNCH((embed_fwd<E, W>), (unsigned)N, THREADS, 0,
                          QUEUE(dev), data_of<E>(y), data_of<const int>(tokens),
                          data_of<const E>(wte), data_of<const E>(wpe), C, T,
                          from)))
    launched(dev, "embed_fwd");
}

/* ---- a radix sort ------------------------------------------------------ */

/*
 * Least significant byte first.  In one pass, each block counts the digits of
 * its tile; one block sums up the counts, by digit and then by tile, which
 * gives offsets; then each block moves its tile.  There a warp has a part of it
 * and moves 32 elements at a time: lanes with the same digit find each other by
 * votes, one for each bit, and are ranked by lane, which keeps the order.
 */
enum {
    SORT_THREADS = 256,
    WARPS = SORT_THREADS / 32,
    PART = 256,               /* elements of a warp */
    SORT_TILE = WARPS * PART, /* and of a block */
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

static __global__ void __launch_bounds__(SORT_THREADS)
    count_digits(unsigned *count, const unsigned *key, int64_t n, int shift)
{
    begin_kernel();

    SHARED(unsigned, mine, DIGITS);
    const int64_t from = (int64_t)blockIdx.x * SORT_TILE;

    for (int d = threadIdx.x; d < DIGITS; d += SORT_THREADS)
        mine[d] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < SORT_TILE; k += SORT_THREADS)
        if (from + k < n)
            atomicAdd(&mine[key[from + k] >> shift & (DIGITS - 1)], 1u);
    __syncthreads();
    for (int d = threadIdx.x; d < DIGITS; d += SORT_THREADS)
        count[(int64_t)d * gridDim.x + blockIdx.x] = mine[d];
}

/* count(n) becomes the sum of the counts before it; one block, a part a
 * thread. */
static __global__ void __launch_bounds__(SORT_THREADS)
    sum_counts(unsigned *count, int64_t n)
{
    begin_kernel();

    SHARED(unsigned, total, SORT_THREADS);
    const int64_t each = (n + SORT_THREADS - 1) / SORT_THREADS;
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
static __global__ void __launch_bounds__(SORT_THREADS)
    move_tile(unsigned *key_to, unsigned *row_to, const unsigned *key,
              const unsigned *row, const unsigned *offset, int64_t n, int shift)
{
    begin_kernel();

    SHARED(unsigned, next, WARPS *DIGITS);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t from = (int64_t)blockIdx.x * SORT_TILE + warp * PART;

    for (int i = threadIdx.x; i < WARPS * DIGITS; i += SORT_THREADS)
        next[i] = 0;
    __syncthreads();
    for (int k = lane; k < PART; k += 32)
        if (from + k < n)
            atomicAdd(
                &next[warp * DIGITS + (key[from + k] >> shift & (DIGITS - 1))],
                1u);
    __syncthreads();
    for (int d = threadIdx.x; d < DIGITS; d += SORT_THREADS) {
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

/* Device memory for a sort: two arrays of keys, two of rows, and the counts. */
static size_t sort_room(int64_t n)
{
    const size_t words = 4 * (size_t)n + (size_t)blocks(n, SORT_TILE) * DIGITS;

    return (words * sizeof(unsigned) + 255) & ~(size_t)255;
}

/* Afterwards, in stream order, (*key)[i] is the i-th of tokens(n), which lie in
 * [0, vocab), in ascending order and (*row)[i] its index; equal tokens keep
 * their order. */
static void sort_tokens(struct dev *dev, void *room, const int *tokens,
                        int64_t n, int64_t vocab, const unsigned **key,
                        const unsigned **row)
{
    const unsigned tiles = blocks(n, SORT_TILE);
    unsigned *to = (unsigned *)room, *count = to + 4 * n;
    const unsigned *from = (const unsigned *)tokens, *from_row = nullptr;

    for (int shift = 0; shift == 0 || (vocab - 1) >> shift; shift += 8) {
        LAUNCH(count_digits, tiles, SORT_THREADS, 0, QUEUE(dev), count, from, n,
               shift);
        LAUNCH(sum_counts, 1, SORT_THREADS, 0, QUEUE(dev), count,
               (int64_t)tiles * DIGITS);
        LAUNCH(move_tile, tiles, SORT_THREADS, 0, QUEUE(dev), to, to + n, from,
               from_row, (const unsigned *)count, n, shift);
        from = to;
        from_row = to + n;
        to = to == (unsigned *)room ? to + 2 * n : (unsigned *)room;
    }
    *key = from;
    *row = from_row;
}

/* ---- backward ---------------------------------------------------------- */

/* dwpe(t) += rows t, t + period, ... of dy; rows from period on get none. */
template <class T, int W>
static __global__ void __launch_bounds__(THREADS)
    position_bwd(float *dwpe, const T *dy, int64_t N, int64_t C, int64_t period,
                 bool overwrite)
{
    begin_kernel();

    const int64_t t = blockIdx.x;

    for (int64_t c = threadIdx.x * W; c < C; c += THREADS * W) {
        float sum[W] = {};

        for (int64_t row = t; t < period && row < N; row += period)
            load_more(sum, dy + row * C + c);
        if (!overwrite)
            load_more(sum, dwpe + t * C + c);
        store(dwpe + t * C + c, sum);
    }
}

/* key(N) are the sorted tokens, row(N) their rows; head(tiles,C) gets a tile's
 * share of a segment that began earlier. */
template <class T, int W>
static __global__ void __launch_bounds__(THREADS)
    segments(float *dwte, float *head, const unsigned *key, const unsigned *row,
             const T *dy, int64_t N, int64_t C)
{
    begin_kernel();

    const int64_t from = (int64_t)blockIdx.x * TILE;
    const int64_t to = from + TILE < N ? from + TILE : N;

    for (int64_t c = threadIdx.x * W; c < C; c += THREADS * W) {
        float sum[W] = {};
        bool ours = from == 0 || key[from - 1] != key[from];

        for (int64_t i = from; i < to; i++) {
            load_more(sum, dy + row[i] * C + c);
            if (i + 1 < to && key[i + 1] == key[i])
                continue;
            if (ours) {
                load_more(sum, dwte + key[i] * C + c);
                store(dwte + key[i] * C + c, sum);
            } else {
                store(head + blockIdx.x * C + c, sum);
            }
#pragma unroll
            for (int k = 0; k < W; k++)
                sum[k] = 0.0f;
            ours = true;
        }
    }
}

/* Add the shares of later tiles to the last segment of this tile, if it begins
 * here. */
static __global__ void __launch_bounds__(THREADS)
    join_segments(float *dwte, const float *head, const unsigned *key,
                  int64_t N, int64_t C)
{
    begin_kernel();

    const int64_t from = (int64_t)blockIdx.x * TILE, next = from + TILE;
    unsigned token;

    if (next >= N)
        return;
    token = key[next];
    if (key[next - 1] != token ||
        (key[from] == token && from > 0 && key[from - 1] == token))
        return; /* it ends here, or began earlier */
    for (int64_t c = threadIdx.x; c < C; c += THREADS) {
        float sum = dwte[token * C + c];

        for (int64_t i = next; i < N && key[i] == token; i += TILE)
            sum += head[i / TILE * C + c];
        dwte[token * C + c] = sum;
    }
}

static void token_bwd(struct dev *dev, struct tensor *dwte,
                      const struct tensor *tokens, const struct tensor *dy)
{
    const int64_t N = tensor_rows(dy), C = tensor_cols(dy);
    const unsigned tiles = blocks(N, TILE);
    const size_t sort_size = sort_room(N);
    char *room = (char *)cuda_scratch(
        dev, sort_size + (size_t)(tiles * C) * sizeof(float), "embed_bwd");
    float *head = (float *)(room + sort_size);
    const unsigned *key, *row;

    if (!room)
        return;
    if (dwte->overwrite)
        dev->type->zero(dev, dwte->data, tensor_bytes(dwte));
    sort_tokens(dev, room, data_of<const int>(tokens), N, dwte->dim[0], &key,
                &row);
    WITH_TYPE(E, dy->type,
              WITH_WIDTH(W, E, C % WIDTH<E> == 0,
                         LAUNCH((segments<E, W>), tiles, THREADS, 0, QUEUE(dev),
                                data_of<float>(dwte), head, key, row,
                                data_of<const E>(dy), N, C)))
    LAUNCH(join_segments, tiles, THREADS, 0, QUEUE(dev), data_of<float>(dwte),
           (const float *)head, key, N, C);
}

extern "C" void cuda_embed_bwd(struct dev *dev, struct tensor *dwte,
                               struct tensor *dwpe, const struct tensor *tokens,
                               const struct tensor *dy, int64_t T)
{
    const int64_t N = tensor_rows(dy), C = tensor_cols(dy);

    if (dwte)
        token_bwd(dev, dwte, tokens, dy);
    if (dwpe)
        WITH_TYPE(
            E, dy->type,
            WITH_WIDTH(W, E, C % WIDTH<E> == 0,
                       LAUNCH((position_bwd<E, W>), (unsigned)tensor_rows(dwpe),
                              THREADS, 0, QUEUE(dev), data_of<float>(dwpe),
                              data_of<const E>(dy), N, C, T, dwpe->overwrite)))
    launched(dev, "embed_bwd");
}
