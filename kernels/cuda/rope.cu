/*
 * rope - rotary positions
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

enum { THREADS = 256 };

/*
 * A thread has W neighbouring pairs of one row, for all of its heads, so that
 * sines and cosines are computed once.  The angle is a double: at 1,000 radians
 * a float has lost three digits.
 */
template <class T, int W>
static __global__ void __launch_bounds__(THREADS)
    rope(T *qkv, int64_t N, int heads, int H_and_K, int half, int64_t period,
         int64_t from, struct rope r, double log2_theta, bool inverse)
{
    begin_kernel();

    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t row = at / (half / W);
    const int i = (int)(at % (half / W)) * W;
    float sine[W], cosine[W];

    if (row >= N)
        return;
#pragma unroll
    for (int k = 0; k < W; k++) {
        const double rate = exp2(-log2_theta * (double)(i + k) / (double)half);
        double s, c;

        sincos((double)(from + row % period) * rope_scaled(&r, i + k, rate), &s,
               &c);
        sine[k] = (float)(r.length * (inverse ? -s : s));
        cosine[k] = (float)(r.length * c);
    }
    qkv += row * heads * 2 * half + i;
    for (int h = 0; h < H_and_K; h++, qkv += 2 * half) {
        float a[W], b[W];

        load(a, qkv);
        load(b, qkv + half);
#pragma unroll
        for (int k = 0; k < W; k++) {
            const float x = a[k] * cosine[k] - b[k] * sine[k];

            b[k] = b[k] * cosine[k] + a[k] * sine[k];
            a[k] = x;
        }
        store(qkv, a);
        store(qkv + half, b);
    }
}

extern "C" void cuda_rope(struct dev *dev, struct tensor *qkv, int H, int K,
                          int64_t T, int64_t from, const struct rope *r,
                          bool inverse)
{
    const int64_t N = tensor_rows(qkv);
    const int half = (int)(tensor_cols(qkv) / (H + 2 * K) / 2);

    WITH_TYPE(E, qkv->type,
              WITH_WIDTH(W, E, half % WIDTH<E> == 0,
                         LAUNCH((rope<E, W>), blocks(N * (half / W), THREADS),
                                THREADS, 0, QUEUE(dev), data_of<E>(qkv), N,
                                H + 2 * K, H + K, half, T, from, *r,
                                log2((double)r->theta), inverse)))
    launched(dev, "rope");
}
