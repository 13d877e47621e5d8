/*
 * attention_decode - the cache of keys and values, and attention of one new
 * position to it
 */
#include "config.h"
#include "kernels/cuda/reduce.cuh"

enum { THREADS = 128, WARPS = THREADS / 32, MOST = 8 };

/*
 * A block has one head of one sequence.  Its warps share the positions, each
 * with a maximum, a sum and a weighted value of its own, which are joined at
 * the end.  The new key and value are taken from qkv; the block of the first
 * head of a group also writes them to the cache.
 */
template <class E>
static __global__ void __launch_bounds__(THREADS)
    decode(E *y, E *keys, E *values, const E *qkv, int64_t place, int64_t n,
           int64_t T, int H, int K, int D, float scale, int64_t window)
{
    begin_kernel();

    SHARED(float, part, WARPS *(32 * MOST + 2));
    const int h = (int)blockIdx.x, group = h * K / H;
    const int64_t b = blockIdx.y;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const E *row = qkv + b * (H + 2 * K) * D;
    const E *new_k = row + (H + group) * D, *new_v = new_k + (int64_t)K * D;
    const int64_t first = (b * T * K + group) * D, step = (int64_t)K * D;
    float q[MOST], out[MOST] = {}, most = -INFINITY, sum = 0;
    float *mine = part + warp * (32 * MOST + 2);

#pragma unroll
    for (int j = 0; j < MOST; j++)
        q[j] = lane + 32 * j < D ? to_float(row[h * D + lane + 32 * j]) * scale
                                 : 0.0f;
    for (int64_t t = warp; t < n; t += WARPS) {
        const E *k = t == place ? new_k : keys + first + t * step;
        const E *v = t == place ? new_v : values + first + t * step;
        float s = 0, high, shrink, p;

        if (window && (place - t + T) % T >= window)
            continue;

#pragma unroll
        for (int j = 0; j < MOST; j++)
            if (lane + 32 * j < D)
                s += q[j] * to_float(k[lane + 32 * j]);
        s = warp_sum(s);
        high = fmaxf(most, s);
        shrink = expf(most - high);
        p = expf(s - high);
        most = high;
        sum = sum * shrink + p;
#pragma unroll
        for (int j = 0; j < MOST; j++)
            if (lane + 32 * j < D)
                out[j] = out[j] * shrink + p * to_float(v[lane + 32 * j]);
    }
    if (h == 0 || (h - 1) * K / H != group) {
        for (int d = threadIdx.x; d < D; d += THREADS) {
            keys[first + place * step + d] = new_k[d];
            values[first + place * step + d] = new_v[d];
        }
    }
#pragma unroll
    for (int j = 0; j < MOST; j++)
        mine[lane + 32 * j] = out[j];
    if (lane == 0) {
        mine[32 * MOST] = most;
        mine[32 * MOST + 1] = sum;
    }
    __syncthreads();
    for (int d = threadIdx.x; d < D; d += THREADS) {
        float high = -INFINITY, all = 0, x = 0;

        for (int w = 0; w < WARPS; w++)
            high = fmaxf(high, part[w * (32 * MOST + 2) + 32 * MOST]);
        for (int w = 0; w < WARPS; w++) {
            const float *p = part + w * (32 * MOST + 2);
            const float weight =
                p[32 * MOST + 1] > 0.0f ? expf(p[32 * MOST] - high) : 0.0f;

            all += weight * p[32 * MOST + 1];
            x += weight * p[d];
        }
        y[(b * H + h) * D + d] = from_float<E>(x / all);
    }
}

extern "C" void cuda_attn_decode(struct dev *dev, struct tensor *y,
                                 struct tensor *keys, struct tensor *values,
                                 const struct tensor *qkv, int64_t at,
                                 const struct attn *a)
{
    const int64_t B = tensor_rows(y);

    assert(a->D <= 32 * MOST);
    if (B == 0)
        return;
    WITH_TYPE(E, y->type,
              LAUNCH(decode<E>, dim3((unsigned)a->H, (unsigned)B), THREADS, 0,
                     QUEUE(dev), data_of<E>(y), data_of<E>(keys),
                     data_of<E>(values), data_of<const E>(qkv), at % a->T,
                     at < a->T ? at + 1 : a->T, a->T, a->H, a->K, a->D,
                     a->scale, a->window))
    launched(dev, "attn_decode");
}

/* A block has one row of qkv: queries, C keys, C values. */
template <class E>
static __global__ void __launch_bounds__(THREADS)
    store(E *keys, E *values, const E *qkv, int64_t T, int64_t room,
          int queries, int C)
{
    begin_kernel();

    const int64_t n = blockIdx.x, to = (n / T * room + n % T) * C;
    const E *from = qkv + n * (queries + 2 * C) + queries;

    for (int c = threadIdx.x; c < C; c += THREADS) {
        keys[to + c] = from[c];
        values[to + c] = from[C + c];
    }
}

extern "C" void cuda_attn_store(struct dev *dev, struct tensor *keys,
                                struct tensor *values, const struct tensor *qkv,
                                const struct attn *a)
{
    const int64_t N = tensor_rows(qkv);

    WITH_TYPE(E, qkv->type,
              LAUNCH(store<E>, (unsigned)N, THREADS, 0, QUEUE(dev),
                     data_of<E>(keys), data_of<E>(values),
                     data_of<const E>(qkv), a->T, keys->dim[1], a->H * a->D,
                     a->K * a->D))
    launched(dev, "attn_store");
}
