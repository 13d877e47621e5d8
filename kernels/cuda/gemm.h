#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/tensor.h"

BEGIN_EXTERN_C

/*
 * gemm - products of matrices on the CUDA device
 *
 *      d(m,n) = alpha op(a) op(b) + beta c(m,n)        row-major
 *
 * op(a) is m by k, op(b) k by n; ta says that a is stored k by m, tb that b is
 * stored n by k.  c may be d, and NULL stands for d.  a and b are of `type`, c
 * and d of `out`; sums are F32.  Of fp8, b is always E4M3; both have a scale, a
 * number on the device that op(a) op(b) is multiplied by; and ta is false, tb
 * true (fp8.cuh).  A product may have an epilogue:
 *
 *      GEMM_BIAS       d + bias(n), of type out
 *      GEMM_GELU       aux = d + bias(n), d = gelu_tanh(aux); aux optional
 *      GEMM_GELU_GRAD  d * gelu_tanh'(aux)
 *      GEMM_BIAS_GRAD  bias(m) = sums of the rows of op(a), of type out
 *
 * cuBLASLt computes it, by an algorithm that is chosen when a kind of product
 * first occurs: those that the library suggests are compared with sums in
 * double and timed, and the fastest one is kept in a file (algorithms.h).  A
 * deterministic device takes the first suggestion that computes the right
 * numbers.  If the library suggests nothing, the plain kernel computes the
 * product.  Without the library it computes products of F32; those of 16 bits
 * fail, unless GT_CUBLASLT is off.
 *
 * If the library has no such epilogue, or product and epilogue by themselves
 * are faster, only a bias is added; gemm() returns false, and the caller does
 * the rest of the epilogue.  For GEMM_GELU the sums are then in aux, if it is
 * given, else in d.
 */
struct dev;

enum gemm_epilogue {
    GEMM_PLAIN,
    GEMM_BIAS,
    GEMM_GELU,
    GEMM_GELU_GRAD,
    GEMM_BIAS_GRAD,
};

struct gemm {
    enum dtype type, out;
    bool ta, tb;
    int64_t m, n, k;
    const void *a, *b, *c;
    const float *scale_a, *scale_b; /* of fp8 */
    void *d;
    int64_t lda, ldb, ldd; /* of c as well */
    float alpha, beta;
    enum gemm_epilogue epilogue;
    void *bias, *aux;
};

/*
 * gemm_of() describes d = op(a) op(b) of tensors, `turned` of which is stored
 * transposed, with rows that follow one another.
 */
enum gemm_turned { GEMM_NEITHER, GEMM_A, GEMM_B };

static inline struct gemm gemm_of(const struct tensor *d,
                                  const struct tensor *a,
                                  const struct tensor *b,
                                  enum gemm_turned turned)
{
    const bool ta = turned == GEMM_A, tb = turned == GEMM_B;
    struct gemm p = {};

    p.type = a->type;
    p.out = d->type;
    p.ta = ta;
    p.tb = tb;
    p.m = ta ? tensor_cols(a) : tensor_rows(a);
    p.n = tb ? tensor_rows(b) : tensor_cols(b);
    p.k = ta ? tensor_rows(a) : tensor_cols(a);
    p.a = a->data;
    p.b = b->data;
    p.d = d->data;
    p.lda = tensor_cols(a);
    p.ldb = tensor_cols(b);
    p.ldd = tensor_cols(d);
    p.alpha = 1.0f;
    return p;
}

static inline bool gemm_is_fp8(const struct gemm *p)
{
    return p->type == DT_E4M3 || p->type == DT_E5M2;
}

/* False: done but for the epilogue. */
bool gemm(struct dev *dev, const struct gemm *p, const char *op);

void gemm_close(struct dev *dev);

/* "cuBLASLt 130100", or why it is not there; returns out. */
char *gemm_describe(struct dev *dev, char *out, size_t room);

END_EXTERN_C
