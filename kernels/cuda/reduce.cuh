#pragma once

#include "kernels/cuda/launch.cuh"

/*
 * reduce - sums and maxima over a warp and over a block
 *
 * Every thread of the warp or block calls, and every thread gets the result.
 * The order of the additions depends on the block's size alone.
 */
template <class T> static __device__ __forceinline__ T warp_sum(T v)
{
#pragma unroll
    for (int by = 16; by; by >>= 1)
        v += __shfl_xor_sync(~0u, v, by);
    return v;
}

static __device__ __forceinline__ float warp_max(float v)
{
#pragma unroll
    for (int by = 16; by; by >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, by));
    return v;
}

/* THREADS is the block's size, a multiple of 32. */
template <int THREADS, class T>
static __device__ __forceinline__ T block_sum(T v)
{
    SHARED(T, part, THREADS / 32);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    v = warp_sum(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    v = warp_sum(lane < THREADS / 32 ? part[lane] : (T)0);
    __syncthreads(); /* part may be written again */
    return v;
}

template <int THREADS>
static __device__ __forceinline__ float block_max(float v)
{
    SHARED(float, part, THREADS / 32);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    v = warp_max(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    v = warp_max(lane < THREADS / 32 ? part[lane] : -INFINITY);
    __syncthreads();
    return v;
}

/* Two sums for the barriers of one. */
template <int THREADS>
static __device__ __forceinline__ void block_sums(float *a, float *b)
{
    SHARED(float, part, 2 * (THREADS / 32));
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    *a = warp_sum(*a);
    *b = warp_sum(*b);
    if (lane == 0) {
        part[2 * warp] = *a;
        part[2 * warp + 1] = *b;
    }
    __syncthreads();
    *a = warp_sum(lane < THREADS / 32 ? part[2 * lane] : 0.0f);
    *b = warp_sum(lane < THREADS / 32 ? part[2 * lane + 1] : 0.0f);
    __syncthreads();
}

/*
 * Column sums, for gradients of weights that all rows share.  A kernel writes
 * one row of partial sums for each block, part(R,C); this adds them up in
 * order, and adds to out(C) or sets it.  Deterministic, without atomics.
 */
void column_sum(struct dev *dev, float *out, const float *part, int64_t R,
                int64_t C, bool overwrite);

/* column_sum() of part(R,2C) for two gradients of C, either optional. */
void column_sum_two(struct dev *dev, struct tensor *a, struct tensor *b,
                    const float *part, int64_t R, int64_t C);

/* db += column sums of dy, or set if `overwrite`.  Uses the scratch. */
void bias_sum(struct dev *dev, struct tensor *db, const struct tensor *dy);

/* The sum of squares as sumsq_fn says; chunk has room for one F64 a chunk. */
void sum_squares(struct dev *dev, double *out, double *chunk,
                 const struct tensor *g, bool overwrite);
