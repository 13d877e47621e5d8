#pragma once

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/fp8.h"

/*
 * fp8 - matrices rounded to 8 bits on the device, for gemm()
 *
 *      struct fp8_matrix q[2];
 *      const struct fp8_source from[] = { { x, DT_E4M3, FP8_ROWS },
 *                                         { w, DT_E4M3, FP8_ROWS } };
 *
 *      if (fp8_round_all(dev, q, from, 2, "linear_fwd"))
 *          fp8_operands(&product, &q[0], false, &q[1], false);
 *
 * cuBLASLt multiplies fp8 only if both operands lie along the sum, so a matrix
 * that is summed over its rows needs a transposed copy; one kernel writes both.
 * The lines of a copy are padded with zeros to a multiple of 16 bytes, which
 * the library requires.
 */
enum { FP8_ROWS = 1, FP8_TURNED = 2 };

/* A number of 8 bits. */
template <int MANTISSA> struct fp8 {
    uint8_t code;
};

template <int MANTISSA>
static __device__ __forceinline__ float to_float(fp8<MANTISSA> x)
{
    return float_from_fp8(x.code, MANTISSA);
}

/* Do something with A and B the C types of the operands of gemm(). */
#define WITH_OPERANDS(A, B, dtype, ...)                                        \
    if (dtype == DT_E4M3) {                                                    \
        using A = fp8<E4M3_MANTISSA>;                                          \
        using B = fp8<E4M3_MANTISSA>;                                          \
        __VA_ARGS__;                                                           \
    } else if (dtype == DT_E5M2) {                                             \
        using A = fp8<E5M2_MANTISSA>;                                          \
        using B = fp8<E4M3_MANTISSA>;                                          \
        __VA_ARGS__;                                                           \
    } else {                                                                   \
        WITH_TYPE(A, dtype, using B = A; __VA_ARGS__)                          \
    }

struct fp8_matrix {
    enum dtype type;
    int64_t cols;
    uint8_t *q, *turned; /* q(rows,ld), turned(cols,turned_ld), or null */
    int64_t ld, turned_ld;
    float *scale; /* of all */
    float *most;  /* the largest magnitude in each block's part */
};

static inline int64_t fp8_pad(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Place the copies of a matrix that are wanted at offset `at` of base, which
 * may be null: returns where they end. */
size_t fp8_lay_out(struct fp8_matrix *q, char *base, size_t at, enum dtype type,
                   int64_t rows, int64_t cols, int want);

/* Round `rows` rows of BF16, ld apart.  bound: what no element exceeds, which
 * then decides the scale; 0: the largest element, if rows are adjacent. */
void fp8_fill(struct dev *dev, const struct fp8_matrix *q, const void *x,
              int64_t rows, int64_t ld, float bound);

/* A tensor to be rounded, and the copies that are wanted of it; 0: none. */
struct fp8_source {
    const struct tensor *x;
    enum dtype type;
    int want;
};

/* Round n tensors in scratch memory, which the operation may not use for
 * anything else; false marks the device as failed. */
bool fp8_round_all(struct dev *dev, struct fp8_matrix *q,
                   const struct fp8_source *from, int n, const char *op);

/* Multiply these instead of the operands that a product has. */
void fp8_operands(struct gemm *p, const struct fp8_matrix *a, bool a_turned,
                  const struct fp8_matrix *b, bool b_turned);
