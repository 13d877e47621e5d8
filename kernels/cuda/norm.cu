/*
 * norm - LayerNorm and RMSNorm, alone and after a sum; RMSNorm of heads
 *
 * In the forward pass, a warp has a row and keeps it in registers; rows that
 * are too long for that, or have an odd length, are for norm_fwd_any.  In the
 * backward pass, a warp, or a block if rows are long, has one row after
 * another, so that it can keep its share of dw and db in registers; a block
 * writes them as one row of partial sums, those of dw and then those of db, for
 * column_sum_two().  Rows that are too long or odd for that are read twice, by
 * rows for dx and by columns for dw and db.
 */
#include "config.h"
#include "kernels/cuda/reduce.cuh"

enum { THREADS = 128, WARPS = THREADS / 32 };

/* y = norm(a + b), a + b into sum; or norm(a), where b is null. */
template <class T> struct norm_args {
    T *sum, *y;
    float *stat;
    const T *a, *b, *w, *bias;
    int64_t N, C;
    float eps;
    bool rms;
};

/* E elements of the row in each lane, W at a time, 32 W apart. */
template <class T, int W, int E>
static __global__ void __launch_bounds__(THREADS) norm_fwd(norm_args<T> g)
{
    begin_kernel();

    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    float x[E / W][W], b[E / W][W], mean = 0, var = 0, rstd;

    if (row >= g.N)
        return;
#pragma unroll
    for (int j = 0; j < E / W; j++) { /* all loads first */
        const int64_t c = (j * 32 + lane) * W, at = row * g.C + c;

        if (c >= g.C)
            continue;
        load(x[j], g.a + at);
        if (g.b)
            load(b[j], g.b + at);
    }
#pragma unroll
    for (int j = 0; j < E / W; j++) {
        const int64_t c = (j * 32 + lane) * W;

        if (c >= g.C)
            continue;
        if (g.b) {
            T stored[W];

#pragma unroll
            for (int k = 0; k < W; k++)
                x[j][k] += b[j][k];
            round_all(stored, x[j]);
#pragma unroll
            for (int k = 0; k < W; k++)
                x[j][k] = to_float(stored[k]);
            store(g.sum + row * g.C + c, x[j]);
        }
#pragma unroll
        for (int k = 0; k < W; k++)
            mean += x[j][k];
    }
    mean = g.rms ? 0.0f : warp_sum(mean) / (float)g.C;
#pragma unroll
    for (int j = 0; j < E / W; j++) {
        if ((j * 32 + lane) * W >= g.C)
            continue;
#pragma unroll
        for (int k = 0; k < W; k++)
            var += (x[j][k] - mean) * (x[j][k] - mean);
    }
    rstd = rsqrtf(warp_sum(var) / (float)g.C + g.eps);
#pragma unroll
    for (int j = 0; j < E / W; j++) {
        const int64_t c = (j * 32 + lane) * W;
        float w[W], bias[W];

        if (c >= g.C)
            continue;
#pragma unroll
        for (int k = 0; k < W; k++)
            w[k] = 1.0f, bias[k] = 0.0f;
        if (g.w)
            load(w, g.w + c);
        if (g.bias)
            load(bias, g.bias + c);
#pragma unroll
        for (int k = 0; k < W; k++)
            x[j][k] = (x[j][k] - mean) * rstd * w[k] + bias[k];
        store(g.y + row * g.C + c, x[j]);
    }
    if (lane == 0) {
        g.stat[2 * row] = mean;
        g.stat[2 * row + 1] = rstd;
    }
}

template <class T>
static __global__ void __launch_bounds__(THREADS) norm_fwd_any(norm_args<T> g)
{
    begin_kernel();

    const int64_t at = (int64_t)blockIdx.x * g.C;
    const T *x = g.b ? g.sum + at : g.a + at;
    float mean = 0, var = 0, rstd;

    for (int64_t c = threadIdx.x; c < g.C; c += THREADS) {
        if (g.b)
            g.sum[at + c] =
                from_float<T>(to_float(g.a[at + c]) + to_float(g.b[at + c]));
        mean += to_float(x[c]);
    }
    mean = g.rms ? 0.0f : block_sum<THREADS>(mean) / (float)g.C;
    for (int64_t c = threadIdx.x; c < g.C; c += THREADS) {
        const float d = to_float(x[c]) - mean;

        var += d * d;
    }
    rstd = rsqrtf(block_sum<THREADS>(var) / (float)g.C + g.eps);
    for (int64_t c = threadIdx.x; c < g.C; c += THREADS)
        g.y[at + c] = from_float<T>((to_float(x[c]) - mean) * rstd *
                                        (g.w ? to_float(g.w[c]) : 1.0f) +
                                    (g.bias ? to_float(g.bias[c]) : 0.0f));
    if (threadIdx.x == 0) {
        g.stat[2 * blockIdx.x] = mean;
        g.stat[2 * blockIdx.x + 1] = rstd;
    }
}

template <class T>
static void launch_forward(struct dev *dev, const norm_args<T> &g)
{
    constexpr int W = WIDTH<T>;
    const unsigned grid = blocks(g.N, WARPS);

    if (g.C % W || g.C > 32 * 64)
        LAUNCH(norm_fwd_any<T>, (unsigned)g.N, THREADS, 0, QUEUE(dev), g);
    else if (g.C <= 32 * 8)
        LAUNCH((norm_fwd<T, W, 8>), grid, THREADS, 0, QUEUE(dev), g);
    else if (g.C <= 32 * 24)
        LAUNCH((norm_fwd<T, W, 24>), grid, THREADS, 0, QUEUE(dev), g);
    else if (g.C <= 32 * 32)
        LAUNCH((norm_fwd<T, W, 32>), grid, THREADS, 0, QUEUE(dev), g);
    else
        LAUNCH((norm_fwd<T, W, 64>), grid, THREADS, 0, QUEUE(dev), g);
}

extern "C" void cuda_norm_fwd(struct dev *dev, struct tensor *sum,
                              struct tensor *y, struct tensor *stat,
                              const struct tensor *a, const struct tensor *b,
                              const struct tensor *w, const struct tensor *bias,
                              enum norm kind, float eps)
{
    WITH_TYPE(
        T, a->type,
        launch_forward<T>(dev, { data_of<T>(sum), data_of<T>(y),
                                 data_of<float>(stat), data_of<const T>(a),
                                 data_of<const T>(b), data_of<const T>(w),
                                 data_of<const T>(bias), tensor_rows(a),
                                 tensor_cols(a), eps, kind == NORM_RMS }))
    launched(dev, "norm_fwd");
}

/* ---- backward ---------------------------------------------------------- */

/* With xhat = (x - mean) rstd and g = dy w:
 * dx = rstd (g - mean(g) - xhat mean(g xhat)), mean(g) for LayerNorm alone. */
template <class T> struct norm_bwd_args {
    T *dx;
    float *part; /* (blocks,2C), or null */
    const T *x, *w, *dy;
    const float *stat;
    int64_t N, C;
    bool rms, overwrite;
};

/* The blocks for which a multiprocessor has registers if a thread has E
 * elements of dy, x, dx and of the sums for dw and db. */
static constexpr int resident_blocks(int E)
{
    return E <= 8 ? 6 : E <= 16 ? 4 : E <= 24 ? 3 : 2;
}

/* Sums over the threads that share a row: a warp, or the block. */
template <int LANES>
static __device__ __forceinline__ void row_sums(float *a, float *b)
{
    if constexpr (LANES == 32) {
        *a = warp_sum(*a);
        *b = warp_sum(*b);
    } else {
        block_sums<LANES>(a, b);
    }
}

/* LANES threads to a row, E elements in each, W at a time, LANES W apart. */
template <class T, int W, int E, int LANES>
static __global__ void __launch_bounds__(THREADS, resident_blocks(E))
    norm_bwd(norm_bwd_args<T> a)
{
    begin_kernel();

    constexpr int ROWS = THREADS / LANES;
    SHARED(float, share, THREADS *E); /* dw of each row; then db */
    const int lane = threadIdx.x % LANES, mine = threadIdx.x / LANES;
    float dw[E / W][W] = {}, db[E / W][W] = {};

    for (int64_t row = (int64_t)blockIdx.x * ROWS + mine; row < a.N;
         row += (int64_t)gridDim.x * ROWS) {
        const float mean = a.stat[2 * row], rstd = a.stat[2 * row + 1];
        float xhat[E / W][W], g[E / W][W], was[E / W][W];
        float sum_g = 0, sum_gx = 0;

#pragma unroll
        for (int j = 0; j < E / W; j++) { /* all loads first */
            const int64_t c = (j * LANES + lane) * W, at = row * a.C + c;

            if (c >= a.C)
                continue;
            load(xhat[j], a.x + at);
            load(g[j], a.dy + at);
            if (a.dx && !a.overwrite)
                load(was[j], a.dx + at);
        }
#pragma unroll
        for (int j = 0; j < E / W; j++) {
            const int64_t c = (j * LANES + lane) * W;
            float w[W];

            if (c >= a.C)
                continue;
            if (a.w)
                load(w, a.w + c);
#pragma unroll
            for (int k = 0; k < W; k++) {
                xhat[j][k] = (xhat[j][k] - mean) * rstd;
                dw[j][k] += g[j][k] * xhat[j][k];
                db[j][k] += g[j][k];
                if (a.w)
                    g[j][k] *= w[k];
                sum_g += g[j][k];
                sum_gx += g[j][k] * xhat[j][k];
            }
        }
        if (!a.dx)
            continue;
        row_sums<LANES>(&sum_g, &sum_gx);
        sum_g = a.rms ? 0.0f : sum_g / (float)a.C;
        sum_gx /= (float)a.C;
#pragma unroll
        for (int j = 0; j < E / W; j++) {
            const int64_t c = (j * LANES + lane) * W;

            if (c >= a.C)
                continue;
#pragma unroll
            for (int k = 0; k < W; k++)
                g[j][k] = (g[j][k] - sum_g - xhat[j][k] * sum_gx) * rstd +
                          (a.overwrite ? 0.0f : was[j][k]);
            store(a.dx + row * a.C + c, g[j]);
        }
    }
    if (!a.part)
        return;
    for (int which = 0; which < 2; which++) {
#pragma unroll
        for (int j = 0; j < E / W; j++)
#pragma unroll
            for (int k = 0; k < W; k++)
                share[mine * LANES * E + (j * LANES + lane) * W + k] =
                    which == 0 ? dw[j][k] : db[j][k];
        __syncthreads();
        for (int64_t c = threadIdx.x; c < a.C; c += THREADS) {
            float sum = share[c];

            for (int i = 1; i < ROWS; i++)
                sum += share[i * LANES * E + c];
            a.part[(2 * (int64_t)blockIdx.x + which) * a.C + c] = sum;
        }
        __syncthreads();
    }
}

/* Rows of any length: dx here, dw and db by columns below. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    norm_bwd_any(norm_bwd_args<T> a)
{
    begin_kernel();

    const int64_t row = blockIdx.x, at = row * a.C;
    const float mean = a.stat[2 * row], rstd = a.stat[2 * row + 1];
    float sum_g = 0, sum_gx = 0;

    for (int64_t c = threadIdx.x; c < a.C; c += THREADS) {
        const float g =
            to_float(a.dy[at + c]) * (a.w ? to_float(a.w[c]) : 1.0f);

        sum_g += g;
        sum_gx += g * (to_float(a.x[at + c]) - mean) * rstd;
    }
    sum_g = a.rms ? 0.0f : block_sum<THREADS>(sum_g) / (float)a.C;
    sum_gx = block_sum<THREADS>(sum_gx) / (float)a.C;
    for (int64_t c = threadIdx.x; c < a.C; c += THREADS) {
        const float xhat = (to_float(a.x[at + c]) - mean) * rstd;
        const float g =
            to_float(a.dy[at + c]) * (a.w ? to_float(a.w[c]) : 1.0f);

        a.dx[at + c] =
            from_float<T>((g - sum_g - xhat * sum_gx) * rstd +
                          (a.overwrite ? 0.0f : to_float(a.dx[at + c])));
    }
}

template <class T>
static __global__ void __launch_bounds__(THREADS)
    norm_bwd_columns(norm_bwd_args<T> a)
{
    begin_kernel();

    const int64_t c = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float dw = 0, db = 0;

    if (c >= a.C)
        return;
    for (int64_t row = blockIdx.y; row < a.N; row += gridDim.y) {
        const float g = to_float(a.dy[row * a.C + c]);

        db += g;
        dw += g * (to_float(a.x[row * a.C + c]) - a.stat[2 * row]) *
              a.stat[2 * row + 1];
    }
    a.part[2 * blockIdx.y * a.C + c] = dw;
    a.part[(2 * blockIdx.y + 1) * a.C + c] = db;
}

/* Allocate the partial sums of `grid` blocks if a gradient of w or b is
 * wanted; false if there is no memory. */
template <class T>
static bool allocate_sums(struct dev *dev, norm_bwd_args<T> *a, unsigned grid,
                          const struct tensor *dw, const struct tensor *db)
{
    if (!dw && !db)
        return true;
    a->part = (float *)cuda_scratch(
        dev, 2 * (size_t)grid * (size_t)a->C * sizeof(float), "norm_bwd");
    return a->part != nullptr;
}

template <class T, int E, int LANES>
static void by_rows(struct dev *dev, norm_bwd_args<T> a, struct tensor *dw,
                    struct tensor *db)
{
    const unsigned grid =
        blocks_up_to(dev, a.N, THREADS / LANES, resident_blocks(E));

    if (!allocate_sums(dev, &a, grid, dw, db))
        return;
    LAUNCH((norm_bwd<T, WIDTH<T>, E, LANES>), grid, THREADS, 0, QUEUE(dev), a);
    column_sum_two(dev, dw, db, a.part, grid, a.C);
}

template <class T>
static void by_columns(struct dev *dev, norm_bwd_args<T> a, struct tensor *dw,
                       struct tensor *db)
{
    const unsigned grid = blocks_up_to(dev, a.N, 1, 1);

    if (!allocate_sums(dev, &a, grid, dw, db))
        return;
    if (a.dx)
        LAUNCH(norm_bwd_any<T>, (unsigned)a.N, THREADS, 0, QUEUE(dev), a);
    if (a.part)
        LAUNCH(norm_bwd_columns<T>, dim3(blocks(a.C, THREADS), grid), THREADS,
               0, QUEUE(dev), a);
    column_sum_two(dev, dw, db, a.part, grid, a.C);
}

template <class T>
static void launch_backward(struct dev *dev, const norm_bwd_args<T> &a,
                            struct tensor *dw, struct tensor *db)
{
    if (a.C % WIDTH<T> || a.C > THREADS * 32)
        by_columns<T>(dev, a, dw, db);
    else if (a.C <= 32 * 8)
        by_rows<T, 8, 32>(dev, a, dw, db);
    else if (a.C <= 32 * 24)
        by_rows<T, 24, 32>(dev, a, dw, db);
    else if (a.C <= 32 * 32)
        by_rows<T, 32, 32>(dev, a, dw, db);
    else if (a.C <= THREADS * 16)
        by_rows<T, 16, THREADS>(dev, a, dw, db);
    else
        by_rows<T, 32, THREADS>(dev, a, dw, db);
}

extern "C" void cuda_norm_bwd(struct dev *dev, struct tensor *dx,
                              struct tensor *dw, struct tensor *db,
                              const struct tensor *x, const struct tensor *w,
                              const struct tensor *stat,
                              const struct tensor *dy, enum norm kind)
{
    WITH_TYPE(T, x->type,
              launch_backward<T>(dev,
                                 { data_of<T>(dx), nullptr, data_of<const T>(x),
                                   data_of<const T>(w), data_of<const T>(dy),
                                   data_of<const float>(stat), tensor_rows(x),
                                   tensor_cols(x), kind == NORM_RMS,
                                   dx && dx->overwrite },
                                 dw, db))
    launched(dev, "norm_bwd");
}

/* ---- queries and keys -------------------------------------------------- */

/* A warp has one head, of at most 256 elements, 32 apart in each lane. */
enum { HEAD_THREADS = 256, HEAD_WARPS = HEAD_THREADS / 32, MOST = 8 };

/* The weight of a head: wq, wk, or null for values. */
template <class T>
static __device__ __forceinline__ const T *weight_of(const T *wq, const T *wk,
                                                     int head, int H, int K)
{
    return head < H ? wq : head < H + K ? wk : nullptr;
}

template <class T>
static __global__ void __launch_bounds__(HEAD_THREADS)
    qknorm_fwd(T *y, float *stat, const T *x, const T *wq, const T *wk,
               int64_t N, int H, int K, int D, float eps)
{
    begin_kernel();

    const int heads = H + 2 * K, lane = threadIdx.x % 32;
    const int64_t i = (int64_t)blockIdx.x * HEAD_WARPS + threadIdx.x / 32;
    const int head = (int)(i % heads);
    const T *w = weight_of(wq, wk, head, H, K);
    float v[MOST], sum = 0, rstd;

    if (i >= N * heads)
        return;
#pragma unroll
    for (int j = 0; j < MOST; j++) {
        v[j] = lane + 32 * j < D ? to_float(x[i * D + lane + 32 * j]) : 0.0f;
        sum += v[j] * v[j];
    }
    rstd = rsqrtf(warp_sum(sum) / (float)D + eps);
#pragma unroll
    for (int j = 0; j < MOST; j++) {
        const int d = lane + 32 * j;

        if (d < D)
            y[i * D + d] =
                from_float<T>(w ? v[j] * rstd * to_float(w[d]) : v[j]);
    }
    if (lane == 0 && w)
        stat[i / heads * (H + K) + head] = rstd;
}

/* xhat = x rstd, g = dy w:  dx = rstd (g - xhat mean(g xhat)) */
template <class T>
static __global__ void __launch_bounds__(HEAD_THREADS)
    qknorm_bwd(T *dx, float *part, const T *x, const T *wq, const T *wk,
               const float *stat, const T *dy, int64_t N, int H, int K, int D,
               bool overwrite)
{
    begin_kernel();

    SHARED(float, share, HEAD_WARPS * 2 * 32 * MOST);
    const int heads = H + 2 * K, lane = threadIdx.x % 32;
    const int64_t warp = (int64_t)blockIdx.x * HEAD_WARPS + threadIdx.x / 32;
    const int64_t warps = (int64_t)gridDim.x * HEAD_WARPS;
    float sum_q[MOST] = {}, sum_k[MOST] = {};

    for (int64_t i = warp; i < N * heads; i += warps) {
        const int head = (int)(i % heads);
        const T *w = weight_of(wq, wk, head, H, K);
        const float rstd = w ? stat[i / heads * (H + K) + head] : 1.0f;
        float xhat[MOST], g[MOST], mean = 0;

#pragma unroll
        for (int j = 0; j < MOST; j++) {
            const int d = lane + 32 * j;

            xhat[j] = g[j] = 0.0f;
            if (d >= D)
                continue;
            g[j] = to_float(dy[i * D + d]);
            if (!w)
                continue;
            xhat[j] = to_float(x[i * D + d]) * rstd;
            if (head < H)
                sum_q[j] += g[j] * xhat[j];
            else
                sum_k[j] += g[j] * xhat[j];
            g[j] *= to_float(w[d]);
            mean += g[j] * xhat[j];
        }
        mean = warp_sum(mean) / (float)D;
        if (!dx)
            continue;
#pragma unroll
        for (int j = 0; j < MOST; j++) {
            const int64_t at = i * D + lane + 32 * j;
            float v;

            if (lane + 32 * j >= D)
                continue;
            v = w ? rstd * (g[j] - xhat[j] * mean) : g[j];
            dx[at] = from_float<T>(overwrite ? v : to_float(dx[at]) + v);
        }
    }
#pragma unroll
    for (int j = 0; j < MOST; j++) {
        const int d = lane + 32 * j;

        if (d < D) {
            share[(threadIdx.x / 32 * 2) * D + d] = sum_q[j];
            share[(threadIdx.x / 32 * 2 + 1) * D + d] = sum_k[j];
        }
    }
    __syncthreads();
    for (int d = threadIdx.x; d < 2 * D; d += HEAD_THREADS) {
        float sum = share[d];

        for (int i = 1; i < HEAD_WARPS; i++)
            sum += share[i * 2 * D + d];
        part[(int64_t)blockIdx.x * 2 * D + d] = sum;
    }
}

extern "C" void cuda_qknorm_fwd(struct dev *dev, struct tensor *y,
                                struct tensor *stat, const struct tensor *x,
                                const struct tensor *wq,
                                const struct tensor *wk, int H, int K,
                                float eps)
{
    const int64_t N = tensor_rows(x), n = N * (H + 2 * K);
    const int D = (int)tensor_cols(wq);

    assert(D <= 32 * MOST);
    WITH_TYPE(T, x->type,
              LAUNCH(qknorm_fwd<T>, blocks(n, HEAD_WARPS), HEAD_THREADS, 0,
                     QUEUE(dev), data_of<T>(y), data_of<float>(stat),
                     data_of<const T>(x), data_of<const T>(wq),
                     data_of<const T>(wk), N, H, K, D, eps))
    launched(dev, "qknorm_fwd");
}

extern "C" void cuda_qknorm_bwd(struct dev *dev, struct tensor *dx,
                                struct tensor *dwq, struct tensor *dwk,
                                const struct tensor *x, const struct tensor *wq,
                                const struct tensor *wk,
                                const struct tensor *stat,
                                const struct tensor *dy, int H, int K)
{
    const int64_t N = tensor_rows(x), n = N * (H + 2 * K);
    const int D = (int)tensor_cols(wq);
    const unsigned grid = blocks_up_to(dev, n, HEAD_WARPS, 8);
    float *part = (float *)cuda_scratch(
        dev, 2 * (size_t)grid * (size_t)D * sizeof(float), "qknorm_bwd");

    if (!part)
        return;
    WITH_TYPE(T, x->type,
              LAUNCH(qknorm_bwd<T>, grid, HEAD_THREADS, 0, QUEUE(dev),
                     data_of<T>(dx), part, data_of<const T>(x),
                     data_of<const T>(wq), data_of<const T>(wk),
                     data_of<const float>(stat), data_of<const T>(dy), N, H, K,
                     D, dx && dx->overwrite))
    column_sum_two(dev, dwq, dwk, part, grid, D);
    launched(dev, "qknorm_bwd");
}
