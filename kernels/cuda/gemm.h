#ifndef KERNELS_CUDA_GEMM_H
#define KERNELS_CUDA_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/tensor.h"

/* gemm - matrix products on a CUDA device, for the other kernels */
#ifdef __cplusplus
extern "C" {
#endif

struct dev;

/*
 * matmul - products of matrices on the CUDA device
 *
 *      d(m,n) = alpha op(a) op(b) + beta c(m,n)        row-major
 *
 * op(a) is m by k, op(b) k by n; ta says that a is stored k by m, tb that b is
 * stored n by k.  c may be d, and is where it is NULL.  a and b are of `type`,
 * c and d of `out`; sums are F32.  A product may end in more:
 *
 *      MATMUL_BIAS       d + bias(n), of type out
 *      MATMUL_GELU       aux = d + bias(n), d = gelu_tanh(aux); aux optional
 *      MATMUL_GELU_GRAD  d * gelu_tanh'(aux)
 *      MATMUL_BIAS_GRAD  bias(m) = sums of the rows of op(a), of type out
 *
 * By cuBLASLt, with a plan for each kind of product: made when it is first
 * met, by timing what the library offers, and kept in a file for the next
 * time.  The device's deterministic switch takes the library's first offer
 * instead.  Where the library cannot end a product as asked, or is faster
 * without, the product is made with its bias at most; what else it should end
 * in is left to the caller, which matmul() says by returning false; what there
 * is then of MATMUL_GELU lies in aux, if that is given, not in d.  Without the
 * library, or where it offers nothing at all, a kernel of our own does the
 * same.
 */
enum matmul_end {
    MATMUL_PLAIN,
    MATMUL_BIAS,
    MATMUL_GELU,
    MATMUL_GELU_GRAD,
    MATMUL_BIAS_GRAD,
};

struct matmul {
    enum dtype type, out;
    bool ta, tb;
    int64_t m, n, k;
    const void *a, *b, *c;
    void *d;
    int64_t lda, ldb, ldd;      /* of c as well */
    float alpha, beta;
    enum matmul_end end;
    void *bias, *aux;
};

/* False: done, but for what end asks. */
bool matmul(struct dev *dev, const struct matmul *p, const char *op);

void matmul_close(struct dev *dev);

/* "cuBLASLt 130100", or why it is not there; returns out. */
char *matmul_describe(struct dev *dev, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
