/*
 * embed - rows of the tables by token and position; their gradients
 *
 * The gradient of a table is the sum of the rows of dy that have the same
 * token.  So that the order of the sum depends on the input alone, the rows are
 * first sorted by token, stably (sort.cu); then each block takes TILE of them
 * and adds up its segments, neighbours of one token.  A segment belongs to the
 * tile in which it begins: later tiles write their share of it as partial sums,
 * which a second kernel adds in order.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sort.cuh"

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
