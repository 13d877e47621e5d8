/*
 * activation - activation functions, plain and gated
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

enum { THREADS = 256 };

/* sqrt(2 / pi) and the cubic term of GELU's tanh form; 1/sqrt(2 pi) */
#define ROOT_2_PI  0.79788456080286536f
#define CUBIC      0.044715f
#define ROOT_INV_2 0.70710678118654752f
#define PHI_0      0.39894228040143268f

/* Sigmoid and 1 - sigmoid, from one exponential and without cancellation. */
static __device__ __forceinline__ float sigmoid(float x, float *rest)
{
    const float e = expf(-fabsf(x)), large = 1.0f / (1.0f + e);
    const float small = e * large;

    *rest = x > 0.0f ? small : large;
    return x > 0.0f ? large : small;
}

/* The normal distribution, from the tail of x, without cancellation. */
static __device__ __forceinline__ float normal_cdf(float x)
{
    return 0.5f * erfcf(-x * ROOT_INV_2);
}

/* u of GELU's tanh form, x sigmoid(2 u). */
static __device__ __forceinline__ float gelu_tanh_arg(float x)
{
    return ROOT_2_PI * (x + CUBIC * x * x * x);
}

static __device__ __forceinline__ float act_value(float x, enum act kind)
{
    float rest;

    switch (kind) {
    case ACT_GELU:
        return x * normal_cdf(x);
    case ACT_GELU_TANH:
        return x * sigmoid(2.0f * gelu_tanh_arg(x), &rest);
    case ACT_RELU:
        return x > 0.0f ? x : 0.0f;
    case ACT_RELU2:
        return x > 0.0f ? x * x : 0.0f;
    case ACT_SILU:
        return x * sigmoid(x, &rest);
    }
    return 0.0f;
}

static __device__ __forceinline__ float act_slope(float x, enum act kind)
{
    float s, rest;

    switch (kind) {
    case ACT_GELU:
        return normal_cdf(x) + x * PHI_0 * expf(-0.5f * x * x);
    case ACT_GELU_TANH: {
        const float du = 2.0f * ROOT_2_PI * (1.0f + 3.0f * CUBIC * x * x);

        s = sigmoid(2.0f * gelu_tanh_arg(x), &rest);
        return s + x * s * rest * du;
    }
    case ACT_RELU:
        return x > 0.0f ? 1.0f : 0.0f;
    case ACT_RELU2:
        return x > 0.0f ? 2.0f * x : 0.0f;
    case ACT_SILU:
        s = sigmoid(x, &rest);
        return s * (1.0f + x * rest);
    }
    return 0.0f;
}

/* i counts the n elements of y.  With GATED, a row of x is gate(F), then up(F);
 * else x is as y. */
template <class T, int W, bool GATED>
static __global__ void act_fwd(T *y, const T *x, enum act kind, int64_t F,
                               int64_t n)
{
    begin_kernel();

    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    float gate[W], up[W];

    if (i >= n)
        return;
    x += GATED ? i / F * F + i : i;
    load(gate, x);
    if constexpr (GATED)
        load(up, x + F);
#pragma unroll
    for (int k = 0; k < W; k++) {
        gate[k] = act_value(gate[k], kind);
        if constexpr (GATED)
            gate[k] *= up[k];
    }
    store(y + i, gate);
}

template <class T, int W, bool GATED>
static __global__ void act_bwd(T *dx, const T *x, const T *dy, enum act kind,
                               bool overwrite, int64_t F, int64_t n)
{
    begin_kernel();

    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    const int64_t at = GATED ? i / F * F + i : i;
    float gate[W], up[W], d[W], dgate[W] = {}, dup[W] = {};

    if (i >= n)
        return;
    load(gate, x + at);
    load(d, dy + i);
    if constexpr (GATED)
        load(up, x + at + F);
    if (!overwrite) {
        load(dgate, dx + at);
        if constexpr (GATED)
            load(dup, dx + at + F);
    }
#pragma unroll
    for (int k = 0; k < W; k++) {
        if constexpr (GATED) {
            dup[k] += d[k] * act_value(gate[k], kind);
            d[k] *= up[k];
        }
        dgate[k] += d[k] * act_slope(gate[k], kind);
    }
    store(dx + at, dgate);
    if constexpr (GATED)
        store(dx + at + F, dup);
}

#define GRID(n, W) blocks(n, (int64_t)THREADS *(W)), THREADS, 0, QUEUE(dev)

extern "C" void cuda_act_fwd(struct dev *dev, struct tensor *y,
                             const struct tensor *x, enum act kind)
{
    const int64_t n = tensor_count(y), F = tensor_cols(y);

    WITH_TYPE(T, x->type,
              WITH_BOOL(GATED, tensor_cols(x) > F,
                        WITH_WIDTH(W, T, (GATED ? F : n) % WIDTH<T> == 0,
                                   LAUNCH((act_fwd<T, W, GATED>), GRID(n, W),
                                          data_of<T>(y), data_of<const T>(x),
                                          kind, F, n))))
    launched(dev, "act_fwd");
}

extern "C" void cuda_act_bwd(struct dev *dev, struct tensor *dx,
                             const struct tensor *x, const struct tensor *dy,
                             enum act kind)
{
    const int64_t n = tensor_count(dy), F = tensor_cols(dy);

    WITH_TYPE(T, x->type,
              WITH_BOOL(GATED, tensor_cols(x) > F,
                        WITH_WIDTH(W, T, (GATED ? F : n) % WIDTH<T> == 0,
                                   LAUNCH((act_bwd<T, W, GATED>), GRID(n, W),
                                          data_of<T>(dx), data_of<const T>(x),
                                          data_of<const T>(dy), kind,
                                          dx->overwrite, F, n))))
    launched(dev, "act_bwd");
}
