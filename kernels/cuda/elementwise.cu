/*
 * elementwise - one element at a time: sums, scaling, conversion, dropout
 *
 * A thread has W elements, one access; if the count is not a multiple of that,
 * W is 1.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

#include "common/rng.h"
#include "kernels/half.h"

enum { THREADS = 256 };

template <int W> static __device__ __forceinline__ int64_t first_of_thread()
{
    return ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
}

/* y = x, or x + more, which may be y. */
template <class Y, class X, int W>
static __global__ void add_elements(Y *y, const X *x, const Y *more, int64_t n)
{
    begin_kernel();

    const int64_t i = first_of_thread<W>();
    float p[W];

    if (i >= n)
        return;
    load(p, x + i);
    if (more)
        load_more(p, more + i);
    store(y + i, p);
}

/* u = rng_uniform() of W numbers from i on; a Philox block has four. */
template <int W>
static __device__ __forceinline__ void uniforms(float (&u)[W], uint64_t seed,
                                                uint64_t stream, uint64_t i)
{
    uint32_t w[4];

    rng_bits(seed, stream, i >> 2, w);
#pragma unroll
    for (int k = 0; k < W; k++) {
        const uint32_t j = (uint32_t)(i + (uint64_t)k) & 3;

        if (k && j == 0)
            rng_bits(seed, stream, (i + (uint64_t)k) >> 2, w);
        u[k] = (float)((j == 0   ? w[0]
                        : j == 1 ? w[1]
                        : j == 2 ? w[2]
                                 : w[3]) >>
                       8) *
               0x1p-24f;
    }
}

/* y (+)= x / (1 - p) where the element is kept */
template <class T, int W>
static __global__ void drop_elements(T *y, const T *x, struct dropout d,
                                     bool into, int64_t n)
{
    begin_kernel();

    const int64_t i = first_of_thread<W>();
    const float keep = 1.0f / (1.0f - d.p);
    float p[W], u[W], was[W];

    if (i >= n)
        return;
    load(p, x + i);
    uniforms(u, d.seed, d.stream, d.first + (uint64_t)i);
    if (into)
        load(was, y + i);
#pragma unroll
    for (int k = 0; k < W; k++)
        p[k] = (u[k] >= d.p ? p[k] * keep : 0.0f) + (into ? was[k] : 0.0f);
    store(y + i, p);
}

/* The grid for n elements, W to a thread. */
#define GRID(n, W) blocks(n, (int64_t)THREADS *(W)), THREADS, 0, QUEUE(dev)

extern "C" void cuda_add_fwd(struct dev *dev, struct tensor *y,
                             const struct tensor *a, const struct tensor *b)
{
    const int64_t n = tensor_count(y);

    WITH_TYPE(
        T, y->type,
        WITH_WIDTH(W, T, n % WIDTH<T> == 0,
                   LAUNCH((add_elements<T, T, W>), GRID(n, W), data_of<T>(y),
                          data_of<const T>(a), data_of<const T>(b), n)))
    launched(dev, "add_fwd");
}

/* Four at a time: 16 bytes of the wider type, 8 of the narrower. */
extern "C" void cuda_accum(struct dev *dev, struct tensor *y,
                           const struct tensor *x)
{
    const struct tensor *more = y->overwrite ? nullptr : y;
    const int64_t n = tensor_count(y);

    WITH_TYPE(Y, y->type,
              WITH_TYPE(X, x->type,
                        WITH_WIDTH(W, float, n % 4 == 0,
                                   LAUNCH((add_elements<Y, X, W>), GRID(n, W),
                                          data_of<Y>(y), data_of<const X>(x),
                                          data_of<const Y>(more), n))))
    launched(dev, "accum");
}

extern "C" void cuda_dropout(struct dev *dev, struct tensor *y,
                             const struct tensor *x, const struct dropout *d)
{
    const int64_t n = tensor_count(y);

    WITH_TYPE(
        T, y->type,
        WITH_WIDTH(W, T, n % WIDTH<T> == 0,
                   LAUNCH((drop_elements<T, W>), GRID(n, W), data_of<T>(y),
                          data_of<const T>(x), *d, !y->overwrite, n)))
    launched(dev, "dropout");
}

/* Four elements, the words of one block, to a thread; `first` is a multiple of
 * four where W is 4. */
template <int W>
static __global__ void cast_elements_random(uint16_t *y, const float *x,
                                            uint64_t seed, uint64_t stream,
                                            uint64_t first, int64_t n)
{
    begin_kernel();

    const int64_t i = first_of_thread<W>();
    float p[W];

    if (i >= n)
        return;
    load(p, x + i);
    if constexpr (W == 4) {
        uint32_t w[4];
        uint2 both;

        rng_bits(seed, stream, (first + (uint64_t)i) / 4, w);
        both.x = (uint32_t)bf16_from_float_random(p[0], w[0]) |
                 (uint32_t)bf16_from_float_random(p[1], w[1]) << 16;
        both.y = (uint32_t)bf16_from_float_random(p[2], w[2]) |
                 (uint32_t)bf16_from_float_random(p[3], w[3]) << 16;
        *aligned<uint2>(y + i) = both;
    } else {
        y[i] = bf16_from_float_random(
            p[0], rng_word(seed, stream, first + (uint64_t)i));
    }
}

extern "C" void cuda_cast_random(struct dev *dev, struct tensor *y,
                                 const struct tensor *x, uint64_t seed,
                                 uint64_t stream, uint64_t first)
{
    const int64_t n = tensor_count(y);

    WITH_WIDTH(W, float, n % 4 == 0 && first % 4 == 0,
               LAUNCH(cast_elements_random<W>, GRID(n, W), data_of<uint16_t>(y),
                      data_of<const float>(x), seed, stream, first, n))
    launched(dev, "cast_random");
}
