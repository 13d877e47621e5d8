#pragma once

#include "kernels/cuda/launch.cuh"

#include "common/rng.h"

#include <limits.h>

/*
 * attention_flash - attention on tensor cores, for 16-bit types
 *
 * After Dao, "FlashAttention-2" (2023): a block has a tile of queries and goes
 * over the tiles of keys before it, with a running maximum and sum for each
 * query, so that no scores are ever stored.  Backward there are two kernels:
 * one has a tile of keys and goes over the queries after it, for dk and dv; one
 * has a tile of queries, for dq.  That computes the scores twice, but needs no
 * atomics, so the gradient is the same each time.
 *
 * A warp has 16 lines of the block's tile.  In the kernel for dk and dv its
 * lines are keys, and the scores are computed transposed, so that the fragments
 * that one product leaves in registers are the left operand of the next one, as
 * they are in the other kernels, where the lines are queries.
 *
 * Heads of D elements, a multiple of 8, lie in tiles DP wide, zero beyond D,
 * with 16 bytes between rows so that ldmatrix has no bank conflicts.  RARE, a
 * template parameter, is for dropout and documents, which take registers.
 */
enum { FLASH_WARPS = 4, FLASH_THREADS = 128, FLASH_ROWS = 64 };

#define LOG2_E 1.4426950408889634f

template <class E> struct flash : attn {
    E *y;
    float *lse;
    const E *qkv;
    const E *dy;        /* backward: */
    const float *delta; /* (B,H,T): sums of y dy */
    E *dqkv;
    bool overwrite;
};

/* The first elements of head h of sequence n and of its keys and values. */
template <class E> struct flash_head {
    const E *q, *k, *v;
    int64_t stride; /* from row to row */
};

template <class E>
static __device__ __forceinline__ flash_head<E> head_of(const flash<E> &f,
                                                        int64_t n, int h)
{
    const int64_t stride = (int64_t)(f.H + 2 * f.K) * f.D;
    const int64_t group = (int64_t)h * f.K / f.H;
    const E *row = f.qkv + n * f.T * stride;

    return { row + h * f.D, row + (f.H + group) * f.D,
             row + (f.H + f.K + group) * f.D, stride };
}

/* How many positions before it a query may see, and the first tile of `rows`
 * keys that a query of the tile that begins at `from` sees. */
static __device__ __forceinline__ int reach_of(const attn &a)
{
    return a.window ? (int)a.window : INT_MAX;
}

static __device__ __forceinline__ int first_tile(const attn &a, int64_t n,
                                                 int from, int rows)
{
    const int begin = a.begins ? a.begins[n * a.T + from] : 0;
    const int first = from >= reach_of(a) ? from - reach_of(a) + 1 : 0;

    return (first > begin ? first : begin) / rows;
}

/* The same for query t of sequence n, whose document bounds it, too. */
template <bool RARE>
static __device__ __forceinline__ int reach_at(const attn &a, int64_t n, int t)
{
    int reach = reach_of(a);

    if (RARE && a.begins && t < a.T)
        reach = min(reach, t - a.begins[n * a.T + t] + 1);
    return reach;
}

/* The end of the queries that see one of `rows` keys from `from` on. */
static __device__ __forceinline__ int64_t last_query(const attn &a, int64_t n,
                                                     int from, int rows)
{
    int64_t end = (int64_t)from + rows - 1 + reach_of(a);

    end = end < a.T ? end : a.T;
    for (int64_t t = (int64_t)from + rows; a.begins && t < end; t += rows)
        if (a.begins[n * a.T + t] >= from + rows)
            end = t;
    return end;
}

/* What to subtract from scores before their exponential; if a query has not
 * seen a key yet, all of them are -INFINITY. */
static __device__ __forceinline__ float finite(float most)
{
    return most == -INFINITY ? 0.0f : most;
}

/* 0 or 1 / (1 - p), for key u at query t of head nh, counted over sequences.
 * It computes rng_uniform(), without indexing an array, which would be in
 * memory. */
static __device__ __forceinline__ float dropout_factor(const struct dropout &d,
                                                       int64_t nh, int64_t T,
                                                       int64_t t, int64_t u)
{
    const uint64_t i = d.first + (uint64_t)((nh * T + t) * T + u);
    uint32_t w[4];

    rng_bits(d.seed, d.stream, i >> 2, w);
    w[0] = i & 2 ? w[2] : w[0];
    w[1] = i & 2 ? w[3] : w[1];
    return (float)((i & 1 ? w[1] : w[0]) >> 8) * 0x1p-24f >= d.p
               ? 1.0f / (1.0f - d.p)
               : 0.0f;
}

/* Begin to copy ROWS rows of a head from row `from` on; from T on
 * they are 0. */
template <int ROWS, int DP, class E>
static __device__ __forceinline__ void fetch(E *tile, const E *head,
                                             int64_t stride, int64_t from,
                                             int64_t T, int D)
{
    for (int i = threadIdx.x; i < ROWS * (DP / 8); i += FLASH_THREADS) {
        const int r = i / (DP / 8), c = i % (DP / 8) * 8;
        const bool there = from + r < T && c < D;

        copy_async(tile + r * (DP + 8) + c,
                   there ? head + (from + r) * stride + c : head,
                   there ? 16 : 0);
    }
}

/* The left operand: 16 rows from `row`, 16 columns from `col`. */
template <int DP, class E>
static __device__ __forceinline__ void left(uint32_t a[4], const E *tile,
                                            int row, int col)
{
    const int i = threadIdx.x % 32 / 8, r = threadIdx.x % 8;

    ldmatrix4(a, tile + (row + i % 2 * 8 + r) * (DP + 8) + col + i / 2 * 8);
}

/* The right operand, twice 8 columns, from a tile that holds it transposed:
 * columns of the operand are rows of the tile. */
template <int DP, class E>
static __device__ __forceinline__ void right_transposed(uint32_t b[4],
                                                        const E *tile, int row,
                                                        int col)
{
    const int i = threadIdx.x % 32 / 8, r = threadIdx.x % 8;

    ldmatrix4(b, tile + (row + i / 2 * 8 + r) * (DP + 8) + col + i % 2 * 8);
}

/* Load the operand from a tile that is not transposed. */
template <int DP, class E>
static __device__ __forceinline__ void right(uint32_t b[4], const E *tile,
                                             int row, int col)
{
    const int i = threadIdx.x % 32 / 8, r = threadIdx.x % 8;

    ldmatrix4_trans(b,
                    tile + (row + i % 2 * 8 + r) * (DP + 8) + col + i / 2 * 8);
}

/* s(16,8 N) = 16 lines of a times 8 N lines of b, transposed, DP deep. */
template <int DP, int N, class E>
static __device__ __forceinline__ void scores(float (&s)[N][4], const E *a_tile,
                                              int a_row, const E *b_tile)
{
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[j][e] = 0.0f;
#pragma unroll
    for (int k = 0; k < DP; k += 16) {
        uint32_t a[4], b[4];

        left<DP>(a, a_tile, a_row, k);
#pragma unroll
        for (int j = 0; j < N; j += 2) {
            right_transposed<DP>(b, b_tile, j * 8, k);
            mma_16816<E>(s[j], a, b);
            mma_16816<E>(s[j + 1], a, b + 2);
        }
    }
}

/* out(16,DP) += p(16,8 N) times the tile(8 N,DP). */
template <int DP, int N, class E>
static __device__ __forceinline__ void gather(float (&out)[DP / 8][4],
                                              const float (&p)[N][4],
                                              const E *tile)
{
#pragma unroll
    for (int k = 0; k < N; k += 2) {
        const uint32_t a[4] = { pair<E>(p[k][0], p[k][1]),
                                pair<E>(p[k][2], p[k][3]),
                                pair<E>(p[k + 1][0], p[k + 1][1]),
                                pair<E>(p[k + 1][2], p[k + 1][3]) };
        uint32_t b[4];

#pragma unroll
        for (int d = 0; d < DP / 8; d += 2) {
            right<DP>(b, tile, k * 8, d * 8);
            mma_16816<E>(out[d], a, b);
            mma_16816<E>(out[d + 1], a, b + 2);
        }
    }
}

/* Store two neighbours of a row, or add them. */
template <class E>
static __device__ __forceinline__ void store_two(E *to, float x, float y,
                                                 bool add)
{
    if (add) {
        x += to_float(to[0]);
        y += to_float(to[1]);
    }
    *aligned<uint32_t>(to) = pair<E>(x, y);
}

/* The maximum and the sum over the four lanes that share a line. */
static __device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

static __device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

/* ---- forward ----------------------------------------------------------- */

template <class E, int DP, bool RARE>
static __global__ void __launch_bounds__(FLASH_THREADS, 1)
    flash_fwd(const __grid_constant__ flash<E> f)
{
    begin_kernel();

    constexpr int R = FLASH_ROWS, SIZE = R * (DP + 8), N = R / 8;
    DYNAMIC_SHARED(E, qs);
    E *ks = qs + SIZE, *vs = ks + 2 * SIZE;      /* two of each */
    const int tile = gridDim.x - 1 - blockIdx.x; /* the longest first */
    const int64_t n = blockIdx.z, nh = n * f.H + blockIdx.y;
    const flash_head<E> head = head_of(f, n, (int)blockIdx.y);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int line = tile * R + warp * 16 + lane / 4;
    const float scale = f.scale * LOG2_E;
    const int first = first_tile(f, n, tile * R, R);
    const int reach[2] = { reach_at<RARE>(f, n, line),
                           reach_at<RARE>(f, n, line + 8) };
    float out[DP / 8][4] = {}, most[2] = { -INFINITY, -INFINITY }, sum[2] = {};

    fetch<R, DP>(qs, head.q, head.stride, tile * R, f.T, f.D);
    fetch<R, DP>(ks, head.k, head.stride, first * R, f.T, f.D);
    fetch<R, DP>(vs, head.v, head.stride, first * R, f.T, f.D);
    copy_commit();
    for (int t = first; t <= tile; t++) {
        const int now = ((t - first) & 1) * SIZE, next = SIZE - now;
        const bool edge = t == tile || f.window || (RARE && f.begins);
        float s[N][4];

        if (t < tile) {
            fetch<R, DP>(ks + next, head.k, head.stride, (t + 1) * R, f.T, f.D);
            fetch<R, DP>(vs + next, head.v, head.stride, (t + 1) * R, f.T, f.D);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        scores<DP>(s, qs, warp * 16, ks + now);
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int u = t * R + j * 8 + lane % 4 * 2 + e % 2;

                const int back = line + e / 2 * 8 - u;

                s[j][e] = edge && (back < 0 || back >= reach[e / 2])
                              ? -INFINITY
                              : s[j][e] * scale;
            }
#pragma unroll
        for (int half = 0; half < 2; half++) { /* lines g and g + 8 */
            float high = most[half], shrink, more = 0, base;

#pragma unroll
            for (int j = 0; j < N; j++)
                high = fmaxf(high, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
            high = quad_max(high);
            base = finite(high);
            shrink = fast_exp2(most[half] - base);
            most[half] = high;
#pragma unroll
            for (int j = 0; j < N; j++)
#pragma unroll
                for (int e = 2 * half; e < 2 * half + 2; e++) {
                    s[j][e] = fast_exp2(s[j][e] - base);
                    more += s[j][e];
                }
            sum[half] = sum[half] * shrink + more;
#pragma unroll
            for (int d = 0; d < DP / 8; d++) {
                out[d][2 * half] *= shrink;
                out[d][2 * half + 1] *= shrink;
            }
        }
        if (RARE && f.drop.p > 0.0f)
#pragma unroll
            for (int j = 0; j < N; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    s[j][e] *=
                        dropout_factor(f.drop, nh, f.T, line + e / 2 * 8,
                                       t * R + j * 8 + lane % 4 * 2 + e % 2);
        gather<DP>(out, s, vs + now);
        __syncthreads(); /* before this tile is overwritten */
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t at = line + half * 8;
        const float all = quad_sum(sum[half]);
        E *y = f.y + ((n * f.T + at) * f.H + blockIdx.y) * f.D;

        if (at >= f.T)
            continue;
#pragma unroll
        for (int d = 0; d < DP / 8; d++)
            if (d * 8 < f.D)
                store_two(y + d * 8 + lane % 4 * 2, out[d][2 * half] / all,
                          out[d][2 * half + 1] / all, false);
        if (lane % 4 == 0)
            f.lse[nh * f.T + at] = most[half] / LOG2_E + logf(all);
    }
}

/* ---- backward ---------------------------------------------------------- */

/* dk and dv of a tile of keys; Q queries at a time, of each head of the group
 * in turn. */
template <class E, int DP, int Q, bool RARE>
static __global__ void __launch_bounds__(FLASH_THREADS, 1)
    flash_bwd_keys(const __grid_constant__ flash<E> f)
{
    begin_kernel();

    constexpr int R = FLASH_ROWS, SIZE = R * (DP + 8), STEP = Q * (DP + 8);
    constexpr int N = Q / 8;
    DYNAMIC_SHARED(E, ks);
    E *vs = ks + SIZE, *qs = vs + SIZE, *ds = qs + 2 * STEP;
    float *lse = (float *)(ds + 2 * STEP), *delta = lse + 2 * Q;
    const int64_t n = blockIdx.z;
    const int from = (int)blockIdx.x * R, T = (int)f.T;
    const int end = (int)last_query(f, n, from, R);
    const int heads = f.H / f.K, first_head = (int)blockIdx.y * heads;
    const int first = from / Q, steps = (end + Q - 1) / Q - first;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int line = from + warp * 16 + lane / 4;
    const flash_head<E> mine = head_of(f, n, first_head);
    const int64_t y_stride = (int64_t)f.H * f.D;
    float dk[DP / 8][4] = {}, dv[DP / 8][4] = {};

    fetch<R, DP>(ks, mine.k, mine.stride, from, f.T, f.D);
    fetch<R, DP>(vs, mine.v, mine.stride, from, f.T, f.D);
    for (int i = -1; i < steps * heads; i++) {
        const int coming = i + 1, now = i & 1, next = 1 - now;
        float p[N][4], g[N][4];

        if (coming < steps * heads) { /* fetch the next, then compute */
            const int h = first_head + coming / steps;
            const int q = (first + coming % steps) * Q;

            fetch<Q, DP>(qs + next * STEP, head_of(f, n, h).q, mine.stride, q,
                         f.T, f.D);
            fetch<Q, DP>(ds + next * STEP, f.dy + n * f.T * y_stride + h * f.D,
                         y_stride, q, f.T, f.D);
            if (threadIdx.x < Q) {
                const int t = q + (int)threadIdx.x;
                const int64_t at = (n * f.H + h) * f.T + t;
                const int to = next * Q + (int)threadIdx.x;

                lse[to] = t < T ? f.lse[at] * LOG2_E : INFINITY;
                delta[to] = t < T ? f.delta[at] : 0.0f;
            }
        }
        copy_commit();
        if (i < 0)
            continue;
        copy_wait<1>();
        __syncthreads();
        const int h = first_head + i / steps;
        const int q = (first + i % steps) * Q;

        scores<DP>(p, ks, warp * 16, qs + now * STEP);
        scores<DP>(g, vs, warp * 16, ds + now * STEP);
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int column = j * 8 + lane % 4 * 2 + e % 2;
                const int t = q + column, u = line + e / 2 * 8;
                const float prob = u > t || t - u >= reach_at<RARE>(f, n, t)
                                       ? 0.0f
                                       : fast_exp2(p[j][e] * f.scale * LOG2_E -
                                                   lse[now * Q + column]);
                float keep = 1.0f;

                if (RARE && f.drop.p > 0.0f)
                    keep = dropout_factor(f.drop, n * f.H + h, f.T, t, u);
                g[j][e] = prob * (keep * g[j][e] - delta[now * Q + column]);
                p[j][e] = prob * keep;
            }
        gather<DP>(dv, p, ds + now * STEP);
        gather<DP>(dk, g, qs + now * STEP);
        __syncthreads();
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t u = line + half * 8;
        E *to = f.dqkv + (n * f.T + u) * mine.stride +
                (int64_t)(f.H + blockIdx.y) * f.D;

        if (u >= f.T)
            continue;
#pragma unroll
        for (int d = 0; d < DP / 8; d++) {
            const int c = d * 8 + lane % 4 * 2;

            if (c >= f.D)
                continue;
            store_two(to + c, dk[d][2 * half] * f.scale,
                      dk[d][2 * half + 1] * f.scale, !f.overwrite);
            store_two(to + (int64_t)f.K * f.D + c, dv[d][2 * half],
                      dv[d][2 * half + 1], !f.overwrite);
        }
    }
}

/* dq of a tile of queries */
template <class E, int DP, bool RARE>
static __global__ void __launch_bounds__(FLASH_THREADS, 1)
    flash_bwd_queries(const __grid_constant__ flash<E> f)
{
    begin_kernel();

    constexpr int R = FLASH_ROWS, SIZE = R * (DP + 8), N = R / 8;
    DYNAMIC_SHARED(E, qs);
    E *ds = qs + SIZE, *ks = ds + SIZE, *vs = ks + SIZE;
    const int tile = gridDim.x - 1 - blockIdx.x;
    const int64_t n = blockIdx.z, nh = n * f.H + blockIdx.y;
    const flash_head<E> head = head_of(f, n, (int)blockIdx.y);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int line = tile * R + warp * 16 + lane / 4;
    const int64_t y_stride = (int64_t)f.H * f.D;
    const int reach[2] = { reach_at<RARE>(f, n, line),
                           reach_at<RARE>(f, n, line + 8) };
    float dq[DP / 8][4] = {}, lse[2], delta[2];

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t t = line + half * 8;
        const int64_t at = nh * f.T + t;

        lse[half] = t < f.T ? f.lse[at] * LOG2_E : INFINITY;
        delta[half] = t < f.T ? f.delta[at] : 0.0f;
    }
    fetch<R, DP>(qs, head.q, head.stride, tile * R, f.T, f.D);
    fetch<R, DP>(ds, f.dy + n * f.T * y_stride + blockIdx.y * f.D, y_stride,
                 tile * R, f.T, f.D);
    for (int t = first_tile(f, n, tile * R, R); t <= tile; t++) {
        float p[N][4], g[N][4];

        fetch<R, DP>(ks, head.k, head.stride, t * R, f.T, f.D);
        fetch<R, DP>(vs, head.v, head.stride, t * R, f.T, f.D);
        copy_commit();
        copy_wait<0>();
        __syncthreads();
        scores<DP>(p, qs, warp * 16, ks);
        scores<DP>(g, ds, warp * 16, vs);
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int u = t * R + j * 8 + lane % 4 * 2 + e % 2;
                const int at = line + e / 2 * 8;
                const float prob =
                    u > at || at - u >= reach[e / 2]
                        ? 0.0f
                        : fast_exp2(p[j][e] * f.scale * LOG2_E - lse[e / 2]);
                float keep = 1.0f;

                if (RARE && f.drop.p > 0.0f)
                    keep = dropout_factor(f.drop, nh, f.T, at, u);
                g[j][e] = prob * (keep * g[j][e] - delta[e / 2]);
            }
        gather<DP>(dq, g, ks);
        __syncthreads();
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t at = line + half * 8;
        E *to = f.dqkv + (n * f.T + at) * head.stride + blockIdx.y * f.D;

        if (at >= f.T)
            continue;
#pragma unroll
        for (int d = 0; d < DP / 8; d++)
            if (d * 8 < f.D)
                store_two(to + d * 8 + lane % 4 * 2, dq[d][2 * half] * f.scale,
                          dq[d][2 * half + 1] * f.scale, !f.overwrite);
    }
}
