#ifndef KERNELS_CUDA_GEMM_CUBLASLT_CUH
#define KERNELS_CUDA_GEMM_CUBLASLT_CUH

#include "kernels/cuda/gemm.h"

/*
 * gemm_cublaslt - the part of gemm() that cuBLASLt does
 *
 * GEMM_DONE: the whole product, with its epilogue.  GEMM_SEPARATE: nothing is
 * done, because product and epilogue by themselves are faster, or because the
 * library has no such epilogue.  GEMM_NOT_DONE: there is no library, or it
 * cannot compute this.
 */
enum gemm_outcome { GEMM_DONE, GEMM_SEPARATE, GEMM_NOT_DONE };

enum gemm_outcome gemm_by_cublaslt(struct dev *dev, const struct gemm *q,
                                   const char *op);

/* The same product with no epilogue but a bias. */
static inline struct gemm gemm_without_epilogue(const struct gemm *q)
{
    struct gemm p = *q;

    p.epilogue = q->epilogue == GEMM_GELU && q->bias ? GEMM_BIAS : GEMM_PLAIN;
    if (p.epilogue == GEMM_PLAIN)
        p.bias = nullptr;
    if (q->epilogue == GEMM_GELU && q->aux)
        p.d = q->aux;
    p.aux = nullptr;
    return p;
}

/* Whether the epilogue is one that can follow in a kernel of its own. */
static inline bool gemm_can_separate(const struct gemm *q)
{
    return q->epilogue != GEMM_PLAIN && q->epilogue != GEMM_BIAS;
}

/* Bytes that the epilogue reads and writes there. */
static inline double gemm_epilogue_bytes(const struct gemm *q)
{
    const double d = (double)q->m * (double)q->n * (double)dtype_size(q->out);

    if (q->epilogue == GEMM_BIAS_GRAD)
        return (double)q->m * (double)q->k * (double)dtype_size(q->type);
    return q->epilogue == GEMM_GELU        ? 2.0 * d
           : q->epilogue == GEMM_GELU_GRAD ? 3.0 * d
                                           : 0.0;
}

#endif
