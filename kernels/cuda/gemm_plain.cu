/*
 * gemm_plain - products of matrices by a plain kernel
 *
 * It is for machines without cuBLASLt, and for products that it cannot compute.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/gemm_cublaslt.cuh"

enum { SIDE = 64, DEPTH = 16, THREADS = 256 };

/* A block computes a SIDE x SIDE tile, a thread 4 x 4 of it. */
template <class A, class B, class D>
static __global__ void __launch_bounds__(THREADS)
    gemm_plain(D *d, const D *c, const D *bias, const A *a, const B *b,
               int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
               int64_t ldd, bool ta, bool tb, float alpha, float beta,
               const float *scale_a, const float *scale_b)
{
    begin_kernel();

    SHARED(float, as, DEPTH *SIDE);
    SHARED(float, bs, DEPTH *SIDE);
    const int64_t row0 = (int64_t)blockIdx.x * SIDE;
    const int64_t col0 = (int64_t)blockIdx.y * SIDE;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};

    if (scale_a)
        alpha *= *scale_a * *scale_b;
    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * SIDE; i += THREADS) {
            /* neighbours read neighbours, transposed or not */
            const int ak = ta ? i / SIDE : i % DEPTH;
            const int ar = ta ? i % SIDE : i / DEPTH;
            const int bk = tb ? i % DEPTH : i / SIDE;
            const int bc = tb ? i / DEPTH : i % SIDE;
            const int64_t r = row0 + ar, s = col0 + bc;

            as[ak * SIDE + ar] =
                r < m && k0 + ak < k
                    ? to_float(a[ta ? (k0 + ak) * lda + r : r * lda + k0 + ak])
                    : 0.0f;
            bs[bk * SIDE + bc] =
                s < n && k0 + bk < k
                    ? to_float(b[tb ? s * ldb + k0 + bk : (k0 + bk) * ldb + s])
                    : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEPTH; l++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] +=
                        as[l * SIDE + ty + 16 * i] * bs[l * SIDE + tx + 16 * j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int64_t r = row0 + ty + 16 * i, s = col0 + tx + 16 * j;

            if (r < m && s < n)
                d[r * ldd + s] = from_float<D>(
                    alpha * sum[i][j] + (bias ? to_float(bias[s]) : 0.0f) +
                    (beta != 0.0f ? beta * to_float(c[r * ldd + s]) : 0.0f));
        }
    }
}

template <class A, class B, class D>
static void launch_plain(struct dev *dev, const struct gemm *q)
{
    const dim3 grid(blocks(q->m, SIDE), blocks(q->n, SIDE));
    const void *bias = q->epilogue == GEMM_BIAS ? q->bias : nullptr;

    LAUNCH((gemm_plain<A, B, D>), grid, THREADS, 0, QUEUE(dev), (D *)q->d,
           (const D *)(q->c ? q->c : q->d), (const D *)bias, (const A *)q->a,
           (const B *)q->b, q->m, q->n, q->k, q->lda, q->ldb, q->ldd, q->ta,
           q->tb, q->alpha, q->beta, q->scale_a, q->scale_b);
}

/* A bias of the columns is added before the one rounding. */
void gemm_multiply_plain(struct dev *dev, const struct gemm *q)
{
    WITH_OPERANDS(A, B, q->type,
                  WITH_TYPE(D, q->out, launch_plain<A, B, D>(dev, q)))
}
