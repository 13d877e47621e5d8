#pragma once

#include <stdint.h>
#include <string.h>

/*
 * half - 16-bit floating point to 32 and back, by integers
 *
 *      bf16    1 sign, 8 exponent, 7 mantissa: the upper half of a float
 *      f16     1 sign, 5 exponent, 10 mantissa: IEEE 754 binary16
 *
 * Conversion to 16 bits rounds to nearest, ties to even, subnormals included;
 * a number that is too large becomes infinity.  A NaN stays one, with its sign,
 * and becomes quiet in 16 bits.
 * The vector instructions agree with these bit for bit (t/unit/half.c).
 */
#if defined(__CUDACC__)
#define HALF_FN static __host__ __device__ inline
#else
#define HALF_FN static inline
#endif

HALF_FN uint32_t float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

HALF_FN float float_from_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

HALF_FN float float_from_bf16(uint16_t h)
{
    return float_from_bits((uint32_t)h << 16);
}

HALF_FN uint16_t bf16_from_float(float f)
{
    const uint32_t u = float_bits(f);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Round to one of the two neighbours: away from zero with a probability equal
 * to the distance from the smaller one, if noise is uniform. */
HALF_FN uint16_t bf16_from_float_random(float f, uint32_t noise)
{
    const uint32_t u = float_bits(f);

    if ((u & 0x7f800000u) == 0x7f800000u)
        return bf16_from_float(f);
    return (uint16_t)((u + (noise & 0xffffu)) >> 16);
}

HALF_FN float float_from_f16(uint16_t h)
{
    const uint32_t sign = (h & 0x8000u) << 16, a = h & 0x7fffu;

    if (a > 0x7c00u)
        return float_from_bits(sign | 0x7fc00000u | (a & 0x3ffu) << 13);
    if (a == 0x7c00u)
        return float_from_bits(sign | 0x7f800000u);
    if (a < 0x400u) /* a multiple of the smallest, 2^-24 */
        return float_from_bits(sign | float_bits((float)a * 0x1p-24f));
    return float_from_bits(sign | ((a << 13) + (112u << 23)));
}

HALF_FN uint16_t f16_from_float(float f)
{
    const uint32_t u = float_bits(f);
    const uint32_t sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;

    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (a >> 13 & 0x1ffu));
    if (a >= 0x47800000u) /* 65536 and up */
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) {
        /* Below 2^-14: the last bit of 0.5 + a stands for 2^-24, so the
         * addition itself rounds to the step of the subnormals. */
        const float sum = float_from_bits(a) + 0.5f;

        return (uint16_t)(sign | (float_bits(sum) - 0x3f000000u));
    }
    /* The exponent's bias falls from 127 to 15; a carry may reach infinity. */
    return (uint16_t)(sign |
                      (a - (112u << 23) + 0xfffu + (a >> 13 & 1u)) >> 13);
}
