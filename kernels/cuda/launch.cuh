#pragma once

/*
 * launch - what every .cu file includes first
 *
 * With nvcc, this is the CUDA runtime and the instructions of ptx.cuh; with
 * another compiler, the emulator (emu.cuh), with the same names.  Kernels are
 * launched with LAUNCH and declare shared memory with SHARED and
 * DYNAMIC_SHARED, so that both compile from one source:
 *
 *      LAUNCH(add<T>, blocks(n, 256), 256, 0, QUEUE(dev), y, a, b, n);
 *      launched(dev, "add_fwd");
 *
 * In a queue that overlaps, the blocks of a kernel may start while the kernel
 * before it ends ("programmatic dependent launch"), so the first statement of
 * every kernel is begin_kernel(), which waits until that kernel has ended and
 * its writes can be read.  That one has waited for the one before it, and so
 * on: a kernel that did not wait would let those after it start too early.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <type_traits>

#include "kernels/cuda/cuda.h"

#ifdef __CUDACC__
#include "kernels/cuda/ptx.cuh"
#define LAUNCH_NOW(kernel, grid, block, shared, queue, ...)                    \
    launch_kernel(grid, block, (size_t)(shared), queue, kernel, __VA_ARGS__)
#define DYNAMIC_SHARED(type, name)                                             \
    extern __shared__ __align__(128) unsigned char dynamic_shared[];           \
    type *name = (type *)dynamic_shared
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#else
#include "emu/emu.cuh"
#endif

/* Arguments that are macros are expanded first.  A grid of no blocks is not
 * launched: CUDA rejects it. */
#define LAUNCH(...) LAUNCH_BLOCKS(__VA_ARGS__)
#define LAUNCH_BLOCKS(kernel, grid, ...)                                       \
    do {                                                                       \
        if (has_blocks(grid))                                                  \
            LAUNCH_NOW(kernel, grid, __VA_ARGS__);                             \
    } while (0)

#define QUEUE(dev)  (cuda_of(dev)->now)
#define STREAM(dev) ((cudaStream_t)QUEUE(dev)->stream)

#ifdef __CUDACC__
/* kernel<<<grid, block, shared, stream>>>(args...) */
template <class... P, class... A>
static inline void launch_kernel(dim3 grid, dim3 block, size_t shared,
                                 const struct cuda_queue *queue,
                                 void (*kernel)(P...), A... args)
{
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t how = {};

    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = grid;
    how.blockDim = block;
    how.dynamicSmemBytes = shared;
    how.stream = (cudaStream_t)queue->stream;
    how.attrs = &overlap;
    how.numAttrs = queue->overlaps;
    cudaLaunchKernelEx(&how, kernel, (P)args...);
}
#endif

/* Record the first launch that failed; dev_sync() will report it.  An error
 * while a kernel runs is found here only if the device is careful and waits,
 * which it cannot while work is recorded. */
static inline void launched(struct dev *dev, const char *op)
{
    cudaError_t code = cudaGetLastError();

    if (code == cudaSuccess && cuda_of(dev)->careful &&
        !cuda_of(dev)->recording)
        code = cudaStreamSynchronize(STREAM(dev));
    if (code != cudaSuccess)
        cuda_failed(dev, op, cudaGetErrorString(code));
}

/* Record the failure of a call of the runtime. */
static inline void must(struct dev *dev, const char *op, cudaError_t code)
{
    if (code == cudaSuccess)
        return;
    cudaGetLastError();
    cuda_failed(dev, op, cudaGetErrorString(code));
}

/* The number of blocks for n elements, `per` in each. */
static inline unsigned blocks(int64_t n, int64_t per)
{
    return (unsigned)((n + per - 1) / per);
}

static inline bool has_blocks(dim3 grid)
{
    return grid.x && grid.y && grid.z;
}

/* blocks(), but at most on_each for each multiprocessor. */
static inline unsigned blocks_up_to(const struct dev *dev, int64_t n,
                                    int64_t per, int on_each)
{
    const int64_t most = (int64_t)cuda_of(dev)->sms * on_each;
    const int64_t want = (n + per - 1) / per;

    return (unsigned)(want < most ? want : most);
}

/* Allow a kernel more shared memory than the default of 48 KiB; the arrays that
 * it declares, a few KiB at most, are part of them. */
#define OPT_IN(dev, kernel, bytes)                                             \
    do {                                                                       \
        if ((bytes) > 40 << 10)                                                \
            cudaFuncSetAttribute(kernel,                                       \
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,  \
                                 (int)(bytes));                                \
    } while (0)

/* Do something with W the width of an access: 16 bytes if all accesses are
 * aligned to that (good), else one element. */
#define WITH_WIDTH(W, T, good, ...)                                            \
    if (good) {                                                                \
        constexpr int W = WIDTH<T>;                                            \
        __VA_ARGS__;                                                           \
    } else {                                                                   \
        constexpr int W = 1;                                                   \
        __VA_ARGS__;                                                           \
    }

/* Do something with B a constant that is equal to a condition. */
#define WITH_BOOL(B, condition, ...)                                           \
    if (condition) {                                                           \
        constexpr bool B = true;                                               \
        __VA_ARGS__;                                                           \
    } else {                                                                   \
        constexpr bool B = false;                                              \
        __VA_ARGS__;                                                           \
    }

/* Do something with T the C type of a floating element type. */
#define WITH_TYPE(T, dtype, ...)                                               \
    switch (dtype) {                                                           \
    case DT_F32: {                                                             \
        using T = float;                                                       \
        __VA_ARGS__;                                                           \
        break;                                                                 \
    }                                                                          \
    case DT_BF16: {                                                            \
        using T = bf16;                                                        \
        __VA_ARGS__;                                                           \
        break;                                                                 \
    }                                                                          \
    case DT_F16: {                                                             \
        using T = f16;                                                         \
        __VA_ARGS__;                                                           \
        break;                                                                 \
    }                                                                          \
    default:                                                                   \
        assert(!"a floating type");                                            \
    }

/* How many elements make 16 bytes. */
template <class T> constexpr int WIDTH = 16 / (int)sizeof(T);

/* The data of an optional tensor. */
template <class T> static inline T *data_of(const struct tensor *t)
{
    return t ? (T *)t->data : nullptr;
}

/* ---- 16 bytes at a time ------------------------------------------------ */

/* W elements as floats, in accesses of 16 bytes, or of 8 if W is smaller; p is
 * aligned to that. */
template <int W, class T>
static __device__ __forceinline__ void load(float (&x)[W], const T *p)
{
    constexpr int BYTES = (int)sizeof(T) * W;

    if constexpr (BYTES % 8 == 0) {
        using word = std::conditional_t<BYTES % 16 == 0, uint4, uint2>;
        constexpr int N = BYTES / (int)sizeof(word);
        T v[W];

#pragma unroll
        for (int k = 0; k < N; k++) {
            const word raw = *aligned<const word>(p + k * (W / N));

            memcpy((void *)(v + k * (W / N)), &raw, sizeof raw);
        }
#pragma unroll
        for (int k = 0; k < W; k++)
            x[k] = to_float(v[k]);
    } else {
#pragma unroll
        for (int k = 0; k < W; k++)
            x[k] = to_float(p[k]);
    }
}

/* x += W elements, loaded as above. */
template <int W, class T>
static __device__ __forceinline__ void load_more(float (&x)[W], const T *p)
{
    float more[W];

    load(more, p);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] += more[k];
}

/* Round, two numbers with one instruction where there is one. */
template <int W, class T>
static __device__ __forceinline__ void round_all(T (&v)[W], const float (&x)[W])
{
    if constexpr (sizeof(T) == 2 && W % 2 == 0) {
#pragma unroll
        for (int k = 0; k < W; k += 2) {
            const uint32_t two = pair<T>(x[k], x[k + 1]);

            memcpy((void *)(v + k), &two, sizeof two);
        }
    } else {
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] = from_float<T>(x[k]);
    }
}

template <int W, class T>
static __device__ __forceinline__ void store(T *p, const float (&x)[W])
{
    constexpr int BYTES = (int)sizeof(T) * W;

    if constexpr (BYTES % 8 == 0) {
        using word = std::conditional_t<BYTES % 16 == 0, uint4, uint2>;
        constexpr int N = BYTES / (int)sizeof(word);
        T v[W];

        round_all(v, x);
#pragma unroll
        for (int k = 0; k < N; k++) {
            word raw;

            memcpy(&raw, (const void *)(v + k * (W / N)), sizeof raw);
            *aligned<word>(p + k * (W / N)) = raw;
        }
    } else {
#pragma unroll
        for (int k = 0; k < W; k++)
            p[k] = from_float<T>(x[k]);
    }
}
