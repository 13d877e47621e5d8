#pragma once

/*
 * ptx - half precision, and instructions that CUDA C has no function for
 *
 * emu_warp.cuh has the same functions for the emulator.  No other file of
 * kernels/cuda has assembly.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/fp8.h"

typedef __nv_bfloat16 bf16;
typedef __half f16;

static __device__ __forceinline__ float to_float(bf16 x)
{
    return __bfloat162float(x);
}

static __device__ __forceinline__ float to_float(f16 x)
{
    return __half2float(x);
}

static __device__ __forceinline__ float to_float(float x)
{
    return x;
}

template <class T> static __device__ __forceinline__ T from_float(float x);

template <> __device__ __forceinline__ float from_float<float>(float x)
{
    return x;
}

template <> __device__ __forceinline__ bf16 from_float<bf16>(float x)
{
    return __float2bfloat16_rn(x);
}

template <> __device__ __forceinline__ f16 from_float<f16>(float x)
{
    return __float2half_rn(x);
}

/* An address for a wider access, for which it must be aligned. */
template <class W, class T> static __device__ __forceinline__ W *aligned(T *p)
{
    return (W *)p;
}

/* Two numbers side by side, the first in the lower half. */
template <class T>
static __device__ __forceinline__ uint32_t pair(float lower, float upper);

template <>
__device__ __forceinline__ uint32_t pair<bf16>(float lower, float upper)
{
    const __nv_bfloat162 v = __floats2bfloat162_rn(lower, upper);
    uint32_t u;

    memcpy(&u, &v, sizeof u);
    return u;
}

template <>
__device__ __forceinline__ uint32_t pair<f16>(float lower, float upper)
{
    const __half2 v = __floats2half2_rn(lower, upper);
    uint32_t u;

    memcpy(&u, &v, sizeof u);
    return u;
}

/* Two numbers of 8 bits, rounded as fp8.h says, the first in the lower half. */
template <int MANTISSA>
static __device__ __forceinline__ uint16_t fp8_pair(float lower, float upper)
{
#if __CUDA_ARCH__ >= 890
    uint16_t u;

    if constexpr (MANTISSA == E4M3_MANTISSA)
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
            : "=h"(u)
            : "f"(upper), "f"(lower));
    else
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
            : "=h"(u)
            : "f"(upper), "f"(lower));
    return u;
#else
    return (uint16_t)(fp8_from_float(lower, MANTISSA) |
                      fp8_from_float(upper, MANTISSA) << 8);
#endif
}

/* exp() by ex2.approx: two units in the last place near 0 */
static __device__ __forceinline__ float fast_exp(float x)
{
    return __expf(x);
}

static __device__ __forceinline__ float fast_exp2(float x)
{
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* d(16,8) += a(16,16) b(16,8): a row-major, b column-major, sums in F32 */
template <class T>
static __device__ __forceinline__ void mma_16816(float d[4],
                                                 const uint32_t a[4],
                                                 const uint32_t b[2]);

#define MMA(T, name)                                                           \
    template <>                                                                \
    __device__ __forceinline__ void mma_16816<T>(                              \
        float d[4], const uint32_t a[4], const uint32_t b[2])                  \
    {                                                                          \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name    \
                     ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "            \
                     "{%0,%1,%2,%3};"                                          \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])          \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),  \
                       "r"(b[1]));                                             \
    }
MMA(bf16, "bf16")
MMA(f16, "f16")
#undef MMA

/* The first statement of a kernel: wait until the kernel before it in the queue
 * has ended, and let the one after it start; see launch.cuh. */
static __device__ __forceinline__ void begin_kernel()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\t"
                 "griddepcontrol.launch_dependents;" ::
                     : "memory");
#endif
}

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* four 8x8 matrices; lane 8i + r names row r of matrix i */
static __device__ __forceinline__ void ldmatrix4(uint32_t out[4],
                                                 const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, "
                 "[%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

static __device__ __forceinline__ void ldmatrix4_trans(uint32_t out[4],
                                                       const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Copy 16 bytes to shared memory, n of them read and the rest 0.  The thread
 * has to wait for them, and others need a barrier after that. */
static __device__ __forceinline__ void copy_async(void *dst, const void *src,
                                                  unsigned n = 16)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(dst)), "l"(src), "r"(n)
                 : "memory");
}

static __device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
