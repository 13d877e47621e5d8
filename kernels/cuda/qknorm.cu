/*
 * qknorm - RMSNorm of each query and key head
 *
 * A warp has one head, of at most 256 elements, 32 apart in each lane.
 */
#include "config.h"
#include "kernels/cuda/reduce.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, MOST = 8 };

/* The weight of a head: wq, wk, or null for values. */
template <class T>
static __device__ __forceinline__ const T *weight_of(const T *wq, const T *wk,
                                                     int head, int H, int K)
{
    return head < H ? wq : head < H + K ? wk : nullptr;
}

template <class T>
static __global__ void __launch_bounds__(THREADS)
    qknorm_fwd(T *y, float *stat, const T *x, const T *wq, const T *wk,
               int64_t N, int H, int K, int D, float eps)
{
    begin_kernel();

    const int heads = H + 2 * K, lane = threadIdx.x % 32;
    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
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
static __global__ void __launch_bounds__(THREADS)
    qknorm_bwd(T *dx, float *part, const T *x, const T *wq, const T *wk,
               const float *stat, const T *dy, int64_t N, int H, int K, int D,
               bool overwrite)
{
    begin_kernel();

    SHARED(float, share, WARPS * 2 * 32 * MOST);
    const int heads = H + 2 * K, lane = threadIdx.x % 32;
    const int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int64_t warps = (int64_t)gridDim.x * WARPS;
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
    for (int d = threadIdx.x; d < 2 * D; d += THREADS) {
        float sum = share[d];

        for (int i = 1; i < WARPS; i++)
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
              LAUNCH(qknorm_fwd<T>, blocks(n, WARPS), THREADS, 0, QUEUE(dev),
                     data_of<T>(y), data_of<float>(stat), data_of<const T>(x),
                     data_of<const T>(wq), data_of<const T>(wk), N, H, K, D,
                     eps))
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
    const unsigned grid = blocks_up_to(dev, n, WARPS, 8);
    float *part = (float *)cuda_scratch(
        dev, 2 * (size_t)grid * (size_t)D * sizeof(float), "qknorm_bwd");

    if (!part)
        return;
    WITH_TYPE(T, x->type,
              LAUNCH(qknorm_bwd<T>, grid, THREADS, 0, QUEUE(dev),
                     data_of<T>(dx), part, data_of<const T>(x),
                     data_of<const T>(wq), data_of<const T>(wk),
                     data_of<const float>(stat), data_of<const T>(dy), N, H, K,
                     D, dx && dx->overwrite))
    column_sum_two(dev, dwq, dwk, part, grid, D);
    launched(dev, "qknorm_bwd");
}
