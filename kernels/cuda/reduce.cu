/*
 * reduce - column sums, the sum of squares, and a bias's gradient
 */
#include "config.h"
#include "kernels/cuda/reduce.cuh"

enum { COLUMNS = 32, LINES = 32 }; /* of a block of column_sums */

/* The outputs of sums: columns from `first` on are b, the others a. */
struct sums {
    float *a, *b;
    int64_t first;
    bool overwrite_a, overwrite_b;
};

/* Each thread adds every LINES-th row of its column; then one adds
 * the lines. */
static __global__ void __launch_bounds__(COLUMNS *LINES)
    column_sums(sums to, const float *part, int64_t R, int64_t C)
{
    begin_kernel();

    SHARED(float, line, COLUMNS *LINES);
    const int64_t c = (int64_t)blockIdx.x * COLUMNS + threadIdx.x;
    float *out = c < to.first ? to.a : to.b;
    const bool overwrite = c < to.first ? to.overwrite_a : to.overwrite_b;
    float sum = 0;

    if (c < C && out)
#pragma unroll 4
        for (int64_t r = threadIdx.y; r < R; r += LINES)
            sum += part[r * C + c];
    line[threadIdx.y * COLUMNS + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || c >= C || !out)
        return;
    for (int y = 1; y < LINES; y++)
        sum += line[y * COLUMNS + threadIdx.x];
    out += c < to.first ? c : c - to.first;
    *out = overwrite ? sum : *out + sum;
}

static void sum_columns(struct dev *dev, const sums &to, const float *part,
                        int64_t R, int64_t C)
{
    LAUNCH(column_sums, blocks(C, COLUMNS), dim3(COLUMNS, LINES), 0, QUEUE(dev),
           to, part, R, C);
}

void column_sum(struct dev *dev, float *out, const float *part, int64_t R,
                int64_t C, bool overwrite)
{
    sum_columns(dev, { out, nullptr, C, overwrite, false }, part, R, C);
}

void column_sum_two(struct dev *dev, struct tensor *a, struct tensor *b,
                    const float *part, int64_t R, int64_t C)
{
    if (a || b)
        sum_columns(dev,
                    { data_of<float>(a), data_of<float>(b), C,
                      a && a->overwrite, b && b->overwrite },
                    part, R, 2 * C);
}

/* ---- column sums of an activation -------------------------------------- */

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    ROWS = 8,    /* of a warp, at least */
    ON_EACH = 8, /* blocks on a multiprocessor: 32 KiB in flight
                                   with a row a warp, as its bandwidth needs */
};

/* A lane adds up W columns, a warp every gridDim.y * WARPS-th row of them; then
 * the block adds up its warps. */
template <class T, int W>
static __global__ void __launch_bounds__(THREADS)
    bias_parts(float *part, const T *dy, int64_t N, int64_t M)
{
    begin_kernel();

    SHARED(float, share, THREADS *W);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t first = (int64_t)blockIdx.x * 32 * W, c = first + lane * W;
    float sum[W] = {};

    if (c < M)
#pragma unroll 4
        for (int64_t r = (int64_t)blockIdx.y * WARPS + warp; r < N;
             r += gridDim.y * WARPS)
            load_more(sum, dy + r * M + c);
#pragma unroll
    for (int k = 0; k < W; k++)
        share[threadIdx.x * W + k] = sum[k];
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * W && first + i < M; i += THREADS) {
        float all = share[i];

        for (int w = 1; w < WARPS; w++)
            all += share[w * 32 * W + i];
        part[blockIdx.y * M + first + i] = all;
    }
}

void bias_sum(struct dev *dev, struct tensor *db, const struct tensor *dy)
{
    const int64_t N = tensor_rows(dy), M = tensor_cols(dy);
    const int64_t wide = 16 / (int64_t)dtype_size(dy->type);
    const unsigned across = blocks(M, M % wide ? 32 : 32 * wide);
    const unsigned most = (unsigned)cuda_of(dev)->sms * ON_EACH / across + 1;
    const unsigned want = blocks(N, WARPS * ROWS);
    const unsigned R = want < most ? want : most;
    float *part =
        (float *)cuda_scratch(dev, (size_t)R * (size_t)M * 4, "linear_bwd");

    if (!part)
        return;
    WITH_TYPE(T, dy->type,
              WITH_WIDTH(W, T, M % WIDTH<T> == 0,
                         LAUNCH((bias_parts<T, W>), dim3(across, R), THREADS, 0,
                                QUEUE(dev), part, data_of<const T>(dy), N, M)))
    column_sum(dev, (float *)db->data, part, R, M, db->overwrite);
}

/* ---- sum of squares ---------------------------------------------------- */

enum { SQUARES = 512 };

template <class T, int W>
static __global__ void __launch_bounds__(SQUARES)
    chunk_squares(double *chunk, const T *g, int64_t n)
{
    begin_kernel();

    const int64_t from = (int64_t)blockIdx.x * SUMSQ_CHUNK;
    const int64_t to = from + SUMSQ_CHUNK < n ? from + SUMSQ_CHUNK : n;
    double sum = 0;

    for (int64_t i = from + threadIdx.x * W; i < to; i += SQUARES * W) {
        float x[W] = {};

        if (i + W <= to)
            load(x, g + i);
        else
            for (int k = 0; i + k < to; k++)
                x[k] = to_float(g[i + k]);
#pragma unroll
        for (int k = 0; k < W; k++)
            sum += (double)x[k] * (double)x[k];
    }
    sum = block_sum<SQUARES>(sum);
    if (threadIdx.x == 0)
        chunk[blockIdx.x] = sum;
}

/* One thread adds, in order; the others load. */
static __global__ void __launch_bounds__(SQUARES)
    add_chunks(double *out, const double *chunk, int64_t n, bool overwrite)
{
    begin_kernel();

    SHARED(double, part, SQUARES);
    double sum = overwrite ? 0.0 : *out;

    for (int64_t from = 0; from < n; from += SQUARES) {
        const int64_t i = from + threadIdx.x;
        const int64_t m = n - from < SQUARES ? n - from : (int64_t)SQUARES;

        part[threadIdx.x] = i < n ? chunk[i] : 0.0;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int64_t k = 0; k < m; k++)
                sum += part[k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = sum;
}

void sum_squares(struct dev *dev, double *out, double *chunk,
                 const struct tensor *g, bool overwrite)
{
    const int64_t n = tensor_count(g), chunks = blocks(n, SUMSQ_CHUNK);

    WITH_TYPE(
        T, g->type,
        WITH_WIDTH(W, T, (uintptr_t)g->data % 16 == 0,
                   LAUNCH((chunk_squares<T, W>), (unsigned)chunks, SQUARES, 0,
                          QUEUE(dev), chunk, data_of<const T>(g), n)))
    LAUNCH(add_chunks, 1, SQUARES, 0, QUEUE(dev), out, chunk, chunks,
           overwrite);
}

extern "C" void cuda_sumsq(struct dev *dev, struct tensor *out,
                           const struct tensor *g)
{
    const size_t chunks = blocks(tensor_count(g), SUMSQ_CHUNK);
    double *chunk =
        (double *)cuda_scratch(dev, (chunks + 1) * sizeof(double), "sumsq");

    if (chunk)
        sum_squares(dev, (double *)out->data, chunk, g, out->overwrite);
    launched(dev, "sumsq");
}

/* One block adds: the losses of a micro-batch are few. */
static __global__ void __launch_bounds__(SQUARES)
    add_losses(double *out, const float *x, int64_t n, bool overwrite)
{
    begin_kernel();

    double sum = 0;

    for (int64_t i = threadIdx.x; i < n; i += SQUARES)
        sum += (double)x[i];
    sum = block_sum<SQUARES>(sum);
    if (threadIdx.x == 0)
        *out = overwrite ? sum : *out + sum;
}

extern "C" void cuda_sum(struct dev *dev, struct tensor *out,
                         const struct tensor *x)
{
    LAUNCH(add_losses, 1, SQUARES, 0, QUEUE(dev), (double *)out->data,
           (const float *)x->data, tensor_count(x), out->overwrite);
    launched(dev, "sum");
}
