/*
 * mix - sums with trained weights
 *
 * The gradient of a weight is a sum over all threads: each block writes its
 * part, and column_sum_two() adds them up.  Of value embeddings, a warp has one
 * head of a row.
 */
#include "config.h"
#include "kernels/cuda/reduce.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };

/* ---- two streams ------------------------------------------------------- */

template <class T, int W>
static __global__ void mix_fwd(T *y, const T *a, const T *b, const T *wa,
                               const T *wb, int64_t n)
{
    begin_kernel();

    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    const float p = to_float(*wa), q = to_float(*wb);
    float x[W], z[W];

    if (i >= n)
        return;
    load(x, a + i);
    load(z, b + i);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = p * x[k] + q * z[k];
    store(y + i, x);
}

extern "C" void cuda_mix_fwd(struct dev *dev, struct tensor *y,
                             const struct tensor *a, const struct tensor *b,
                             const struct tensor *wa, const struct tensor *wb)
{
    const int64_t n = tensor_count(y);

    WITH_TYPE(T, y->type,
              WITH_WIDTH(W, T, n % WIDTH<T> == 0,
                         LAUNCH((mix_fwd<T, W>), blocks(n, THREADS * W),
                                THREADS, 0, QUEUE(dev), data_of<T>(y),
                                data_of<const T>(a), data_of<const T>(b),
                                data_of<const T>(wa), data_of<const T>(wb), n)))
    launched(dev, "mix_fwd");
}

/* d (+)= w g */
template <int W, class T>
static __device__ __forceinline__ void add_product(T *d, float w,
                                                   const float (&g)[W],
                                                   bool overwrite)
{
    float v[W] = {};

    if (!overwrite)
        load(v, d);
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] += w * g[k];
    store(d, v);
}

template <class T, int W>
static __global__ void __launch_bounds__(THREADS)
    mix_bwd(T *da, T *db, float *part, const T *a, const T *b, const T *wa,
            const T *wb, const T *dy, int64_t n, bool set_a, bool set_b)
{
    begin_kernel();

    const float p = to_float(*wa), q = to_float(*wb);
    float a_sum = 0, b_sum = 0;

    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W; i < n;
         i += (int64_t)gridDim.x * THREADS * W) {
        float g[W], x[W], z[W];

        load(g, dy + i);
        load(x, a + i);
        load(z, b + i);
#pragma unroll
        for (int k = 0; k < W; k++) {
            a_sum += g[k] * x[k];
            b_sum += g[k] * z[k];
        }
        if (da)
            add_product(da + i, p, g, set_a);
        if (db)
            add_product(db + i, q, g, set_b);
    }
    block_sums<THREADS>(&a_sum, &b_sum);
    if (threadIdx.x == 0) {
        part[2 * blockIdx.x] = a_sum;
        part[2 * blockIdx.x + 1] = b_sum;
    }
}

extern "C" void cuda_mix_bwd(struct dev *dev, struct tensor *da,
                             struct tensor *db, struct tensor *dwa,
                             struct tensor *dwb, const struct tensor *a,
                             const struct tensor *b, const struct tensor *wa,
                             const struct tensor *wb, const struct tensor *dy)
{
    const int64_t n = tensor_count(dy);
    const unsigned grid = blocks_up_to(dev, n, THREADS * 4, 8);
    float *part =
        (float *)cuda_scratch(dev, 2 * grid * sizeof(float), "mix_bwd");

    if (!part)
        return;
    WITH_TYPE(T, dy->type,
              WITH_WIDTH(W, T, n % WIDTH<T> == 0,
                         LAUNCH((mix_bwd<T, W>), grid, THREADS, 0, QUEUE(dev),
                                data_of<T>(da), data_of<T>(db), part,
                                data_of<const T>(a), data_of<const T>(b),
                                data_of<const T>(wa), data_of<const T>(wb),
                                data_of<const T>(dy), n, da && da->overwrite,
                                db && db->overwrite)))
    column_sum_two(dev, dwa, dwb, part, grid, 1);
    launched(dev, "mix_bwd");
}

/* ---- value embeddings -------------------------------------------------- */

struct value_size {
    int64_t N, C, width;
    int G, K, D;
};

static value_size size_of(const struct tensor *x, const struct tensor *w,
                          const struct tensor *e, const struct tensor *qkv)
{
    const int K = (int)tensor_rows(w);

    return { tensor_rows(x),
             tensor_cols(x),
             tensor_cols(qkv),
             (int)tensor_cols(w),
             K,
             (int)(tensor_cols(e) / K) };
}

template <class T>
static __global__ void __launch_bounds__(THREADS)
    value_fwd(T *qkv, float *gate, const T *x, const T *w, const T *e,
              value_size s)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int64_t n = i / s.K, k = i % s.K;
    const int lane = threadIdx.x % 32;
    float sum = 0;

    if (n >= s.N)
        return;
    for (int c = lane; c < s.G; c += 32)
        sum += to_float(x[n * s.C + c]) * to_float(w[k * s.G + c]);
    sum = 2.0f / (1.0f + fast_exp(-warp_sum(sum)));
    qkv += (n + 1) * s.width - (s.K - k) * s.D;
    for (int d = lane; d < s.D; d += 32)
        qkv[d] =
            from_float<T>(to_float(qkv[d]) + sum * to_float(e[i * s.D + d]));
    if (lane == 0)
        gate[i] = sum;
}

extern "C" void cuda_value_fwd(struct dev *dev, struct tensor *qkv,
                               struct tensor *gate, const struct tensor *x,
                               const struct tensor *w, const struct tensor *e)
{
    const value_size s = size_of(x, w, e, qkv);

    WITH_TYPE(T, x->type,
              LAUNCH(value_fwd<T>, blocks(s.N * s.K, WARPS), THREADS, 0,
                     QUEUE(dev), data_of<T>(qkv), data_of<float>(gate),
                     data_of<const T>(x), data_of<const T>(w),
                     data_of<const T>(e), s))
    launched(dev, "value_fwd");
}

/* de, and the gradient of what the sigmoid is computed from: slope(N,K). */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    value_bwd(T *de, float *slope, const T *e, const float *gate, const T *dqkv,
              value_size s, bool overwrite)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int64_t n = i / s.K, k = i % s.K;
    const int lane = threadIdx.x % 32;
    float sum = 0, g;

    if (n >= s.N)
        return;
    g = gate[i];
    dqkv += (n + 1) * s.width - (s.K - k) * s.D;
    for (int d = lane; d < s.D; d += 32) {
        const int64_t at = i * s.D + d;
        const float dy = to_float(dqkv[d]);

        sum += dy * to_float(e[at]);
        if (de)
            de[at] =
                from_float<T>(g * dy + (overwrite ? 0.0f : to_float(de[at])));
    }
    sum = warp_sum(sum);
    if (lane == 0)
        slope[i] = sum * g * (1.0f - 0.5f * g);
}

/* dx(N,C), of which only the first G columns are not 0. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    gate_input(T *dx, const float *slope, const T *w, value_size s, int cols,
               bool overwrite)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t n = i / cols;
    const int c = (int)(i % cols);
    float sum = 0;

    if (n >= s.N)
        return;
    for (int k = 0; k < s.K && c < s.G; k++)
        sum += slope[n * s.K + k] * to_float(w[k * s.G + c]);
    dx += n * s.C + c;
    *dx = from_float<T>(sum + (overwrite ? 0.0f : to_float(*dx)));
}

/* part(gridDim.y,K,G) of dw, each of every gridDim.y-th row. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    gate_weights(float *part, const float *slope, const T *x, value_size s)
{
    begin_kernel();

    const int i = blockIdx.x * THREADS + threadIdx.x, k = i / s.G;
    float sum = 0;

    if (k >= s.K)
        return;
    for (int64_t n = blockIdx.y; n < s.N; n += gridDim.y)
        sum += slope[n * s.K + k] * to_float(x[n * s.C + i % s.G]);
    part[(int64_t)blockIdx.y * s.K * s.G + i] = sum;
}

template <class T>
static void launch_value_bwd(struct dev *dev, struct tensor *dx,
                             struct tensor *dw, struct tensor *de,
                             const struct tensor *x, const struct tensor *w,
                             const struct tensor *e, const float *gate,
                             const struct tensor *dqkv)
{
    const value_size s = size_of(x, w, e, dqkv);
    const int64_t count = (int64_t)s.K * s.G;
    const unsigned R = blocks_up_to(dev, s.N, 32, 4);
    const int cols = dx && dx->overwrite ? (int)s.C : s.G;
    float *slope = (float *)cuda_scratch(
        dev, (size_t)(s.N * s.K + R * count) * sizeof(float), "value_bwd");

    if (!slope)
        return;
    LAUNCH(value_bwd<T>, blocks(s.N * s.K, WARPS), THREADS, 0, QUEUE(dev),
           data_of<T>(de), slope, data_of<const T>(e), gate,
           data_of<const T>(dqkv), s, de && de->overwrite);
    if (dx)
        LAUNCH(gate_input<T>, blocks(s.N * cols, THREADS), THREADS, 0,
               QUEUE(dev), data_of<T>(dx), slope, data_of<const T>(w), s, cols,
               dx->overwrite);
    if (!dw)
        return;
    LAUNCH(gate_weights<T>, dim3(blocks(count, THREADS), R), THREADS, 0,
           QUEUE(dev), slope + s.N * s.K, slope, data_of<const T>(x), s);
    column_sum(dev, data_of<float>(dw), slope + s.N * s.K, R, count,
               dw->overwrite);
}

extern "C" void cuda_value_bwd(struct dev *dev, struct tensor *dx,
                               struct tensor *dw, struct tensor *de,
                               const struct tensor *x, const struct tensor *w,
                               const struct tensor *e,
                               const struct tensor *gate,
                               const struct tensor *dqkv)
{
    WITH_TYPE(T, x->type,
              launch_value_bwd<T>(dev, dx, dw, de, x, w, e,
                                  data_of<const float>(gate), dqkv))
    launched(dev, "value_bwd");
}
