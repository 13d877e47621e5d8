#pragma once

#include "kernels/half.h"
#include "kernels/ops.h"

/*
 * fp8 - 8-bit floating point, and products of matrices rounded to it
 *
 *      E4M3    1 sign, 4 exponent, 3 mantissa: up to 448, no infinities
 *      E5M2    1 sign, 5 exponent, 2 mantissa: up to 57344
 *
 * A number is rounded to nearest, ties to even, subnormals included; one that
 * is too large becomes the largest.  A NaN stays one.
 *
 * Each matrix has one scale s, and its elements x are rounded as x / s.  s is
 * the least power of two that makes the largest element fit; it is found anew
 * for each product, so that nothing has to be remembered from step to step.
 * Since it is a power of two, the rounded matrix has exact values in BF16, and
 * a product in fp8 is the product of those: so the references and the CPU
 * compute it.  If an element is not finite, the scale is NaN, and so is every
 * element.
 *
 * The functions that convert take the number of bits of the mantissa, 3 or 2.
 */
enum { E4M3_MANTISSA = 3, E5M2_MANTISSA = 2 };

HALF_FN int fp8_bias(int mantissa)
{
    return mantissa == E4M3_MANTISSA ? 7 : 15;
}

HALF_FN float float_from_fp8(uint8_t code, int mantissa)
{
    const uint32_t sign = (uint32_t)(code & 0x80) << 24, a = code & 0x7fu;
    const uint32_t infinite = mantissa == E4M3_MANTISSA ? 0x7fu : 0x7cu;
    const int bias = fp8_bias(mantissa);

    if (a == 0x7cu && mantissa == E5M2_MANTISSA)
        return float_from_bits(sign | 0x7f800000u);
    if (a >= infinite)
        return float_from_bits(sign | 0x7fc00000u);
    if (a >> mantissa == 0) { /* a multiple of the smallest */
        const float step =
            float_from_bits((uint32_t)(128 - bias - mantissa) << 23);

        return float_from_bits(sign | float_bits((float)a * step));
    }
    return float_from_bits(
        sign | ((a << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23)));
}

HALF_FN uint8_t fp8_from_float(float f, int mantissa)
{
    const int shift = 23 - mantissa, bias = fp8_bias(mantissa);
    const uint8_t largest = mantissa == E4M3_MANTISSA ? 0x7e : 0x7b;
    const uint32_t u = float_bits(f), a = u & 0x7fffffffu;
    const uint8_t sign = (uint8_t)(u >> 24 & 0x80u);
    uint32_t code;

    if (a > 0x7f800000u)
        return sign | 0x7f;
    if (a < (uint32_t)(128 - bias) << 23) {
        /* A subnormal: the last bit of this sum stands for its step, so the
         * addition itself rounds. */
        const uint32_t one = (uint32_t)(151 - bias - mantissa) << 23;

        code = float_bits(float_from_bits(a) + float_from_bits(one)) - one;
    } else {
        code = (a - ((uint32_t)(127 - bias) << 23) + (1u << (shift - 1)) - 1 +
                (a >> shift & 1u)) >>
               shift;
    }
    return (uint8_t)(sign | (code < largest ? code : largest));
}

/* The scale of a matrix whose largest element is `most`.  Both formats end at
 * 1.75 times a power of two. */
HALF_FN float fp8_scale(float most, int mantissa)
{
    const uint32_t a = float_bits(most) & 0x7fffffffu;
    const uint32_t top = mantissa == E4M3_MANTISSA ? 8 : 15;
    const uint32_t exponent = (a + 0x1fffffu) >> 23;

    if (a >= 0x7f800000u)
        return float_from_bits(0x7fc00000u);
    return float_from_bits((exponent > top ? exponent - top : 1) << 23);
}

BEGIN_EXTERN_C

/* Round n numbers with the scale of `most`. */
void fp8_round(float *x, int64_t n, float most, int mantissa);

/* A BF16 matrix rounded to fp8, in memory that the caller frees. */
struct tensor fp8_rounded(const struct tensor *x, int mantissa);

/* An operation on rounded operands, by one that takes them as they are. */
void fp8_linear_fwd(linear_fwd_fn *op, struct dev *, struct tensor *y,
                    const struct tensor *x, const struct tensor *w,
                    const struct tensor *b);
void fp8_linear_bwd(linear_bwd_fn *op, struct dev *, struct tensor *dx,
                    struct tensor *dw, struct tensor *db,
                    const struct tensor *x, const struct tensor *w,
                    const struct tensor *dy);

END_EXTERN_C
