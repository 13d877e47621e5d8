#pragma once

#include "kernels/cuda/attention_flash.cuh"
#include "kernels/cuda/reduce.cuh"

/*
 * attention_plain - attention without tensor cores, for F32 and odd widths
 *
 * It walks over tiles as attention_flash.cuh does, with everything in shared
 * memory as floats and sums in F32: R queries and R keys at a time, rows D + 1
 * apart. R is 32, or 16 where a GPU has too little shared memory for that.
 */
enum { PLAIN_THREADS = 128, PLAIN_WARPS = PLAIN_THREADS / 32 };

/* Rows of a head into a tile; zero from T on. */
template <int R, class E>
static __device__ __forceinline__ void plain_fetch(float *tile, const E *head,
                                                   int64_t stride, int64_t from,
                                                   int64_t T, int D)
{
    for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
        const int r = i / D, d = i % D;

        tile[r * (D + 1) + d] =
            from + r < T ? to_float(head[(from + r) * stride + d]) : 0.0f;
    }
}

static __device__ __forceinline__ float plain_dot(const float *x,
                                                  const float *y, int D)
{
    float sum = 0;

    for (int d = 0; d < D; d++)
        sum += x[d] * y[d];
    return sum;
}

/* Bytes of shared memory for a number of tiles and squares. */
static inline size_t plain_shared(int R, int tiles, int squares, int D)
{
    return (size_t)(tiles * R * (D + 1) + squares * R * (R + 1) + 3 * R) *
           sizeof(float);
}

template <class E, int R>
static __global__ void __launch_bounds__(PLAIN_THREADS)
    plain_fwd(const __grid_constant__ flash<E> f)
{
    begin_kernel();

    const int D = f.D, LD = D + 1, LS = R + 1;
    DYNAMIC_SHARED(float, q);
    float *k = q + R * LD, *v = k + R * LD, *o = v + R * LD;
    float *s = o + R * LD, *most = s + R * LS, *sum = most + R;
    float *shrink = sum + R;
    const int tile = gridDim.x - 1 - blockIdx.x, from = tile * R;
    const int64_t n = blockIdx.z, nh = n * f.H + blockIdx.y;
    const flash_head<E> head = head_of(f, n, (int)blockIdx.y);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    plain_fetch<R>(q, head.q, head.stride, from, f.T, D);
    for (int i = threadIdx.x; i < R * LD; i += PLAIN_THREADS)
        o[i] = 0.0f;
    if (threadIdx.x < R) {
        most[threadIdx.x] = -INFINITY;
        sum[threadIdx.x] = 0.0f;
    }
    for (int t = first_tile(f, n, from, R); t <= tile; t++) {
        plain_fetch<R>(k, head.k, head.stride, t * R, f.T, D);
        plain_fetch<R>(v, head.v, head.stride, t * R, f.T, D);
        __syncthreads();
        for (int r = warp; r < R; r += PLAIN_WARPS) {
            const int at = from + r, u = t * R + lane;
            const float was = most[r];
            const float x =
                lane < R && u <= at && at - u < reach_at<true>(f, n, at)
                    ? f.scale * plain_dot(q + r * LD, k + lane * LD, D)
                    : -INFINITY;
            const float high = fmaxf(was, warp_max(x));
            const float p = expf(x - finite(high)), all = warp_sum(p);
            const float keep =
                f.drop.p > 0.0f ? dropout_factor(f.drop, nh, f.T, at, u) : 1.0f;

            if (lane < R)
                s[r * LS + lane] = p * keep;
            __syncwarp(); /* all lanes have read most[r] */
            if (lane == 0) {
                shrink[r] = expf(was - finite(high));
                sum[r] = sum[r] * shrink[r] + all;
                most[r] = high;
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
            const int r = i / D, d = i % D;
            float x = o[r * LD + d] * shrink[r];

            for (int c = 0; c < R; c++)
                x += s[r * LS + c] * v[c * LD + d];
            o[r * LD + d] = x;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
        const int r = i / D, d = i % D;

        if (from + r < f.T)
            f.y[((n * f.T + from + r) * f.H + blockIdx.y) * D + d] =
                from_float<E>(o[r * LD + d] / sum[r]);
    }
    if (threadIdx.x < R && from + threadIdx.x < f.T)
        f.lse[nh * f.T + from + threadIdx.x] =
            most[threadIdx.x] + logf(sum[threadIdx.x]);
}

/* ds and, unless it is null, p, for the R queries from `from` on and the R keys
 * from `key` on, of head nh counted over sequences. */
template <int R, class E>
static __device__ __forceinline__ void plain_squares(
    float *p, float *ds, const flash<E> &f, int64_t n, int64_t nh, int64_t from,
    int64_t key, const float *q, const float *k, const float *v,
    const float *dy)
{
    const int D = f.D, LD = D + 1;

    for (int i = threadIdx.x; i < R * R; i += PLAIN_THREADS) {
        const int r = i / R, c = i % R;
        const int64_t t = from + r, u = key + c, at = nh * f.T + t;
        float prob = 0.0f, slope = 0.0f, keep = 1.0f;

        if (u <= t && t - u < reach_at<true>(f, n, (int)t) && t < f.T) {
            if (f.drop.p > 0.0f)
                keep = dropout_factor(f.drop, nh, f.T, t, u);
            prob = expf(f.scale * plain_dot(q + r * LD, k + c * LD, D) -
                        f.lse[at]);
            slope =
                f.scale * prob *
                (keep * plain_dot(dy + r * LD, v + c * LD, D) - f.delta[at]);
        }
        ds[r * (R + 1) + c] = slope;
        if (p)
            p[r * (R + 1) + c] = prob * keep;
    }
}

template <class E>
static __device__ __forceinline__ void add_to(E *to, float x, bool overwrite)
{
    *to = from_float<E>(overwrite ? x : to_float(*to) + x);
}

template <class E, int R>
static __global__ void __launch_bounds__(PLAIN_THREADS)
    plain_bwd_keys(const __grid_constant__ flash<E> f)
{
    begin_kernel();

    const int D = f.D, LD = D + 1, LS = R + 1;
    DYNAMIC_SHARED(float, k);
    float *v = k + R * LD, *q = v + R * LD, *dy = q + R * LD;
    float *dk = dy + R * LD, *dv = dk + R * LD;
    float *p = dv + R * LD, *ds = p + R * LS;
    const int64_t from = (int64_t)blockIdx.x * R, n = blockIdx.z;
    const int64_t end = last_query(f, n, (int)from, R);
    const int heads = f.H / f.K, first = (int)blockIdx.y * heads;
    const int64_t y_stride = (int64_t)f.H * D;
    const flash_head<E> mine = head_of(f, n, first);
    E *to = f.dqkv + (n * f.T + from) * mine.stride +
            (int64_t)(f.H + blockIdx.y) * D;

    plain_fetch<R>(k, mine.k, mine.stride, from, f.T, D);
    plain_fetch<R>(v, mine.v, mine.stride, from, f.T, D);
    for (int i = threadIdx.x; i < 2 * R * LD; i += PLAIN_THREADS)
        dk[i] = 0.0f;
    for (int h = first; h < first + heads; h++) {
        for (int64_t t0 = from; t0 < end; t0 += R) {
            plain_fetch<R>(q, head_of(f, n, h).q, mine.stride, t0, f.T, D);
            plain_fetch<R>(dy, f.dy + n * f.T * y_stride + (int64_t)h * D,
                           y_stride, t0, f.T, D);
            __syncthreads();
            plain_squares<R>(p, ds, f, n, n * f.H + h, t0, from, q, k, v, dy);
            __syncthreads();
            for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
                const int c = i / D, d = i % D;

                for (int r = 0; r < R; r++) {
                    dk[c * LD + d] += ds[r * LS + c] * q[r * LD + d];
                    dv[c * LD + d] += p[r * LS + c] * dy[r * LD + d];
                }
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
        const int c = i / D, d = i % D;

        if (from + c >= f.T)
            continue;
        add_to(to + c * mine.stride + d, dk[c * LD + d], f.overwrite);
        add_to(to + c * mine.stride + (int64_t)f.K * D + d, dv[c * LD + d],
               f.overwrite);
    }
}

template <class E, int R>
static __global__ void __launch_bounds__(PLAIN_THREADS)
    plain_bwd_queries(const __grid_constant__ flash<E> f)
{
    begin_kernel();

    const int D = f.D, LD = D + 1, LS = R + 1;
    DYNAMIC_SHARED(float, k);
    float *v = k + R * LD, *q = v + R * LD, *dy = q + R * LD;
    float *dq = dy + R * LD, *ds = dq + R * LD;
    const int64_t tile = gridDim.x - 1 - blockIdx.x, from = tile * R;
    const int64_t n = blockIdx.z, nh = n * f.H + blockIdx.y;
    const int64_t y_stride = (int64_t)f.H * D;
    const flash_head<E> head = head_of(f, n, (int)blockIdx.y);
    E *to = f.dqkv + (n * f.T + from) * head.stride + (int64_t)blockIdx.y * D;

    plain_fetch<R>(q, head.q, head.stride, from, f.T, D);
    plain_fetch<R>(dy, f.dy + n * f.T * y_stride + (int64_t)blockIdx.y * D,
                   y_stride, from, f.T, D);
    for (int i = threadIdx.x; i < R * LD; i += PLAIN_THREADS)
        dq[i] = 0.0f;
    for (int64_t t = first_tile(f, n, (int)from, R); t <= tile; t++) {
        plain_fetch<R>(k, head.k, head.stride, t * R, f.T, D);
        plain_fetch<R>(v, head.v, head.stride, t * R, f.T, D);
        __syncthreads();
        plain_squares<R>(nullptr, ds, f, n, nh, from, t * R, q, k, v, dy);
        __syncthreads();
        for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
            const int r = i / D, d = i % D;

            for (int c = 0; c < R; c++)
                dq[r * LD + d] += ds[r * LS + c] * k[c * LD + d];
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < R * D; i += PLAIN_THREADS) {
        const int r = i / D, d = i % D;

        if (from + r < f.T)
            add_to(to + r * head.stride + d, dq[r * LD + d], f.overwrite);
    }
}
