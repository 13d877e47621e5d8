#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(CPU_SVE)
#include <arm_sve.h>
#elif defined(CPU_NEON)
#include <arm_neon.h>
#endif

#include "kernels/half.h"
#include "kernels/tensor.h"

/*
 * vec - vectors as wide as the instruction set being compiled for
 *
 * The compiler's own vector types carry the arithmetic, so one source serves
 * AVX-512, AVX2, SVE, NEON and plain C for anything else; the last two have 4
 * floats.  Only what those types cannot express, or the compiler does badly, is
 * written for each set, and all of it is here.  NEON adds in the order of plain
 * C.  SVE is compiled for vectors of CPU_SVE bits, and runs with no others.
 */
#if defined(__AVX512F__)
enum { VW = 16 }; /* floats in a vector */
#elif defined(__AVX2__)
enum { VW = 8 };
#elif defined(CPU_SVE)
enum { VW = CPU_SVE / 32 };
#else
enum { VW = 4 };
#endif

typedef float vf __attribute__((vector_size(4 * VW)));
typedef int32_t vi __attribute__((vector_size(4 * VW)));
typedef uint32_t vu __attribute__((vector_size(4 * VW)));

#define VEC_FN static inline __attribute__((always_inline, unused))

#if defined(CPU_SVE)
/* The same vectors, as the types that the functions of SVE take. */
typedef svfloat32_t sf __attribute__((arm_sve_vector_bits(CPU_SVE)));
typedef svint32_t si __attribute__((arm_sve_vector_bits(CPU_SVE)));
typedef svuint32_t su __attribute__((arm_sve_vector_bits(CPU_SVE)));
#define SVE_ALL      svptrue_b32()
#define SVE_FIRST(n) svwhilelt_b32_s64(0, n)
#endif

VEC_FN vf vf_load(const float *p)
{
    vf v;

    memcpy(&v, p, sizeof v);
    return v;
}

VEC_FN void vf_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

VEC_FN vf vf_set(float x)
{
    return x - (vf){ 0 };
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* All ones in the first n < VW, else zeros. */
VEC_FN vi vi_first(int64_t n)
{
    return (vi){ 0, 1, 2, 3, 4, 5, 6, 7 } < (int32_t)n;
}
#endif

/* The first n < VW of a vector; the others are 0. */
VEC_FN vf vf_load_n(const float *p, int64_t n)
{
#if defined(__AVX512F__)
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
#elif defined(__AVX2__)
    return (vf)_mm256_maskload_ps(p, (__m256i)vi_first(n));
#elif defined(CPU_SVE)
    return (vf)(sf)svld1_f32(SVE_FIRST(n), p);
#elif defined(CPU_NEON)
    const vf none = { 0 };

    if (n == 0)
        return none;
    if (n == 1)
        return (vf)vld1q_lane_f32(p, (float32x4_t)none, 0);
    return (vf)vcombine_f32(vld1_f32(p),
                            n == 3 ? vld1_lane_f32(p + 2, vdup_n_f32(0.0f), 0)
                                   : vdup_n_f32(0.0f));
#else
    float room[VW] = { 0 };

    memcpy(room, p, (size_t)n * sizeof *p);
    return vf_load(room);
#endif
}

VEC_FN void vf_store_n(float *p, vf v, int64_t n)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), (__m512)v);
#elif defined(__AVX2__)
    /* In parts: a masked store is slow on some processors. */
    __m128 part = _mm256_castps256_ps128((__m256)v);

    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps((__m256)v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, part);
#elif defined(CPU_SVE)
    svst1_f32(SVE_FIRST(n), p, (sf)v);
#elif defined(CPU_NEON)
    if (n & 2)
        vst1_f32(p, vget_low_f32((float32x4_t)v));
    if (n == 1)
        vst1q_lane_f32(p, (float32x4_t)v, 0);
    else if (n == 3)
        vst1q_lane_f32(p + 2, (float32x4_t)v, 2);
#else
    memcpy(p, &v, (size_t)n * sizeof *p);
#endif
}

/* where mask (all ones or zeros) is set a, else b */
VEC_FN vf vf_select(vi mask, vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)mask),
                                    (__m512)b, (__m512)a);
#elif defined(__AVX2__)
    return (vf)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#elif defined(CPU_SVE)
    return (vf)(sf)svsel_f32(svcmpne_n_s32(SVE_ALL, (si)mask, 0), (sf)a, (sf)b);
#elif defined(CPU_NEON)
    return (vf)vbslq_f32((uint32x4_t)mask, (float32x4_t)a, (float32x4_t)b);
#else
    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
#endif
}

/* A NaN in a is returned. */
VEC_FN vf vf_max(vf a, vf b)
{
    return vf_select((vi)(a < b), b, a);
}

VEC_FN vf vf_sqrt(vf a)
{
#if defined(__AVX512F__)
    return (vf)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX2__)
    return (vf)_mm256_sqrt_ps((__m256)a);
#elif defined(CPU_SVE)
    return (vf)(sf)svsqrt_f32_x(SVE_ALL, (sf)a);
#elif defined(CPU_NEON)
    return (vf)vsqrtq_f32((float32x4_t)a);
#else
    float x[VW];

    vf_store(x, a);
    for (int i = 0; i < VW; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return vf_load(x);
#endif
}

/*
 * Over the elements: the upper half is added to the lower one until one number
 * is left, so the order is fixed; with SVE, neighbours are added.  gcc 12
 * compiles the plain loop to stores and loads, which cost as much as many
 * products.
 */
VEC_FN float vf_sum(vf a)
{
#if defined(__AVX2__)
#if defined(__AVX512F__)
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)a),
                                      _mm512_extractf32x8_ps((__m512)a, 1));
#else
    const __m256 half = (__m256)a;
#endif
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(half),
                          _mm256_extractf128_ps(half, 1));

    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
#elif defined(CPU_SVE)
    return svaddv_f32(SVE_ALL, (sf)a);
#elif defined(CPU_NEON)
    return vaddv_f32(
        vadd_f32(vget_low_f32((float32x4_t)a), vget_high_f32((float32x4_t)a)));
#else
    float x[VW];

    vf_store(x, a);
    for (int half = VW / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            x[i] += x[i + half];
    }
    return x[0];
#endif
}

VEC_FN float vf_largest(vf a)
{
    float x[VW], max;

    vf_store(x, a);
    max = x[0];
    for (int i = 1; i < VW; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/*
 * Two vectors interleaved: low is a[0] b[0] a[1] b[1] .., of their lower
 * halves; high, of their upper halves.
 */
VEC_FN vf vf_zip_low(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_permutex2var_ps((__m512)a,
                                      _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3,
                                                        19, 4, 20, 5, 21, 6, 22,
                                                        7, 23),
                                      (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_permute2f128_ps(_mm256_unpacklo_ps((__m256)a, (__m256)b),
                                      _mm256_unpackhi_ps((__m256)a, (__m256)b),
                                      0x20);
#elif defined(CPU_SVE)
    return (vf)(sf)svzip1_f32((sf)a, (sf)b);
#else
    return (vf){ a[0], b[0], a[1], b[1] };
#endif
}

VEC_FN vf vf_zip_high(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_permutex2var_ps((__m512)a,
                                      _mm512_setr_epi32(8, 24, 9, 25, 10, 26,
                                                        11, 27, 12, 28, 13, 29,
                                                        14, 30, 15, 31),
                                      (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_permute2f128_ps(_mm256_unpacklo_ps((__m256)a, (__m256)b),
                                      _mm256_unpackhi_ps((__m256)a, (__m256)b),
                                      0x31);
#elif defined(CPU_SVE)
    return (vf)(sf)svzip2_f32((sf)a, (sf)b);
#else
    return (vf){ a[2], b[2], a[3], b[3] };
#endif
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Zip rows i and i + 2 of each four, in each half of the vectors alone. */
VEC_FN void vf_zip_fours(vf to[VW], const vf v[VW])
{
#pragma GCC unroll 8
    for (int i = 0; i < VW / 2; i++) {
        const int a = i / 2 * 4 + i % 2;

        to[2 * i] = (vf)_mm256_unpacklo_ps((__m256)v[a], (__m256)v[a + 2]);
        to[2 * i + 1] = (vf)_mm256_unpackhi_ps((__m256)v[a], (__m256)v[a + 2]);
    }
}
#endif

/*
 * Transpose a square of VW vectors.  Zipping row i with row i + VW / 2 moves
 * the first bit of a number's row to the end of its column, and the first of
 * its column to the end of its row; done for each bit, that is the transpose.
 * With AVX2, only the exchange of halves crosses the halves of a vector.
 */
VEC_FN void vf_transpose(vf v[VW])
{
    vf w[VW];

#if defined(__AVX2__) && !defined(__AVX512F__)
    vf_zip_fours(w, v);
    vf_zip_fours(v, w);
#pragma GCC unroll 4
    for (int i = 0; i < VW / 2; i++) {
        const __m256 a = (__m256)v[i], b = (__m256)v[i + VW / 2];

        v[i] = (vf)_mm256_permute2f128_ps(a, b, 0x20);
        v[i + VW / 2] = (vf)_mm256_permute2f128_ps(a, b, 0x31);
    }
#else
#pragma GCC unroll 4
    for (int n = 1; n < VW; n *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < VW / 2; i++) {
            w[2 * i] = vf_zip_low(v[i], v[i + VW / 2]);
            w[2 * i + 1] = vf_zip_high(v[i], v[i + VW / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < VW; i++)
            v[i] = w[i];
    }
#endif
}

/* ---- 16-bit numbers ---------------------------------------------------- */

typedef uint16_t vh __attribute__((vector_size(2 * VW)));

VEC_FN vf vf_from_half(vh h, enum dtype type)
{
#if defined(__AVX512F__)
    if (type == DT_F16)
        return (vf)_mm512_cvtph_ps((__m256i)h);
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)h), 16);
#elif defined(__AVX2__)
    if (type == DT_F16)
        return (vf)_mm256_cvtph_ps((__m128i)h);
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)h), 16);
#elif defined(CPU_SVE)
    const vu wide = __builtin_convertvector(h, vu);

    if (type == DT_F16)
        return (vf)(sf)svcvt_f32_f16_x(SVE_ALL,
                                       svreinterpret_f16_u32((su)wide));
    return (vf)(wide << 16);
#elif defined(CPU_NEON)
    if (type == DT_F16)
        return (vf)vcvt_f32_f16((float16x4_t)h);
    return (vf)vshll_n_u16((uint16x4_t)h, 16);
#else
    vf v = { 0 };

    for (int i = 0; i < VW; i++)
        v[i] = type == DT_F16 ? float_from_f16(h[i]) : float_from_bf16(h[i]);
    return v;
#endif
}

VEC_FN vh vf_to_half(vf v, enum dtype type)
{
#if defined(__AVX2__) || defined(CPU_SVE) || defined(CPU_NEON)
    const vu nan = (vu)(v != v);
    vu u = (vu)v, bf = u >> 16;

    if (type == DT_F16) {
#if defined(__AVX512F__)
        return (vh)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT |
                                                  _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
        return (vh)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT |
                                                  _MM_FROUND_NO_EXC);
#elif defined(CPU_SVE)
        u = (vu)(su)svreinterpret_u32_f16(svcvt_f16_f32_x(SVE_ALL, (sf)v));
        return __builtin_convertvector(u, vh);
#else
        return (vh)vcvt_f16_f32((float32x4_t)v);
#endif
    }
    u += 0x7fffu + (bf & 1u);
    u = (u >> 16 & ~nan) | ((bf | 0x40u) & nan);
#if defined(__AVX512F__)
    return (vh)_mm512_cvtepi32_epi16((__m512i)u);
#elif defined(__AVX2__)
    return (vh)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)u),
                                _mm256_extracti128_si256((__m256i)u, 1));
#else
    return __builtin_convertvector(u, vh);
#endif
#else
    vh h = { 0 };

    for (int i = 0; i < VW; i++)
        h[i] = type == DT_F16 ? f16_from_float(v[i]) : bf16_from_float(v[i]);
    return h;
#endif
}

/* ---- 64-bit products --------------------------------------------------- */

typedef uint64_t vl __attribute__((vector_size(4 * VW))); /* VW / 2 of them */

/* Products of the lower halves of a and b. */
VEC_FN vl vl_multiply(vl a, vl b)
{
#if defined(__AVX512F__)
    return (vl)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vl)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(CPU_NEON)
    return (vl)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/* ---- 8-bit numbers ------------------------------------------------------ */

VEC_FN vi vi_set(int32_t n)
{
    return n - (vi){ 0 };
}

VEC_FN vf vf_from_ints(vi n)
{
    return __builtin_convertvector(n, vf);
}

VEC_FN vu vu_load(const void *p)
{
    vu v;

    memcpy(&v, p, sizeof v);
    return v;
}

/*
 * To each element add the product of its four bytes in w, which have no sign,
 * and the four numbers x.  An assembler that knows vdpbf16ps knows vpdpbusd,
 * too.  A CPU with AVX-512 but without this instruction takes AVX2's products
 * (cpu.c).
 */
VEC_FN vi vi_add_dots(vi sum, vu w, const int8_t *x)
{
#if defined(__AVX512F__) && defined(HAVE_AVX512BF16)
    typedef struct {
        int8_t at[4];
    } four;

    __asm__("vpdpbusd %2%{1to16%}, %1, %0"
            : "+v"(sum)
            : "v"(w), "m"(*(const four *)(const void *)x));
    return sum;
#elif defined(__AVX2__) && !defined(__AVX512F__)
    int32_t four;
    __m256i even, odd, all;

    memcpy(&four, x, sizeof four);
    all = _mm256_set1_epi32(four);
    even = _mm256_srai_epi16(_mm256_slli_epi16(all, 8), 8);
    odd = _mm256_srai_epi16(all, 8);
    even = _mm256_madd_epi16((__m256i)(w & 0x00ff00ff), even);
    odd = _mm256_madd_epi16((__m256i)(w >> 8 & 0x00ff00ff), odd);
    return sum + (vi)even + (vi)odd;
#elif defined(CPU_NEON)
    /* A product of 8 bits without and 8 with a sign fits into 16 with one. */
    const uint8x16_t all = (uint8x16_t)w;
    int32_t four;
    int16x8_t by, low, high;

    memcpy(&four, x, sizeof four);
    by = vmovl_s8((int8x8_t)vdup_n_s32(four));
    low = vmulq_s16((int16x8_t)vmovl_u8(vget_low_u8(all)), by);
    high = vmulq_s16((int16x8_t)vmovl_high_u8(all), by);
    return sum + (vi)vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
#else
    for (int i = 0; i < 4; i++)
        sum += (vi)(w >> 8 * i & 255) * x[i];
    return sum;
#endif
}

/* ---- elements of a tensor of any type ------------------------------------ */

VEC_FN vf vf_get(const void *p, enum dtype type, int64_t i)
{
    vh h;

    if (type == DT_F32)
        return vf_load((const float *)p + i);
    memcpy(&h, (const uint16_t *)p + i, sizeof h);
    return vf_from_half(h, type);
}

VEC_FN vf vf_get_n(const void *p, enum dtype type, int64_t i, int64_t n)
{
    vh h = { 0 };

    if (type == DT_F32)
        return vf_load_n((const float *)p + i, n);
    memcpy(&h, (const uint16_t *)p + i, (size_t)n * 2);
    return vf_from_half(h, type);
}

VEC_FN void vf_put(void *p, enum dtype type, int64_t i, vf v)
{
    vh h;

    if (type == DT_F32) {
        vf_store((float *)p + i, v);
        return;
    }
    h = vf_to_half(v, type);
    memcpy((uint16_t *)p + i, &h, sizeof h);
}

VEC_FN void vf_put_n(void *p, enum dtype type, int64_t i, vf v, int64_t n)
{
    vh h;

    if (type == DT_F32) {
        vf_store_n((float *)p + i, v, n);
        return;
    }
    h = vf_to_half(v, type);
    memcpy((uint16_t *)p + i, &h, (size_t)n * 2);
}

/* Up to a vector: n numbers are left, perhaps fewer than VW. */
VEC_FN vf vf_take(const void *p, enum dtype type, int64_t i, int64_t n)
{
    return n >= VW ? vf_get(p, type, i) : vf_get_n(p, type, i, n);
}

VEC_FN void vf_give(void *p, enum dtype type, int64_t i, vf v, int64_t n)
{
    if (n >= VW)
        vf_put(p, type, i, v);
    else
        vf_put_n(p, type, i, v, n);
}

/* Set, or add to, up to a vector. */
VEC_FN void vf_give_or_add(void *p, enum dtype type, int64_t i, vf v, int64_t n,
                           bool add)
{
    if (add)
        v += vf_take(p, type, i, n);
    vf_give(p, type, i, v, n);
}

/* One number as a float. */
VEC_FN float num_get(const void *p, enum dtype type, int64_t i)
{
    if (type == DT_F32)
        return ((const float *)p)[i];
    return type == DT_F16 ? float_from_f16(((const uint16_t *)p)[i])
                          : float_from_bf16(((const uint16_t *)p)[i]);
}

VEC_FN void num_put(void *p, enum dtype type, int64_t i, float v)
{
    if (type == DT_F32)
        ((float *)p)[i] = v;
    else if (type == DT_F16)
        ((uint16_t *)p)[i] = f16_from_float(v);
    else
        ((uint16_t *)p)[i] = bf16_from_float(v);
}

/*
 * Call fn(TYPE, ...) with the type as a constant, so that an inlined fn is
 * compiled once for each type.
 */
#define VEC_BY_TYPE(type, fn, ...)                                             \
    do {                                                                       \
        if ((type) == DT_F32)                                                  \
            fn(DT_F32, __VA_ARGS__);                                           \
        else if ((type) == DT_BF16)                                            \
            fn(DT_BF16, __VA_ARGS__);                                          \
        else                                                                   \
            fn(DT_F16, __VA_ARGS__);                                           \
    } while (0)

/* ---- pairs of bf16 ------------------------------------------------------- */

/*
 * Two numbers of bf16 in place of a float, the first in its lower half.
 * A vector of pairs times another, added up in floats, takes one instruction
 * where there is AVX512_BF16: twice the numbers of a fused multiply-add.
 */
#if defined(__AVX512F__) && defined(HAVE_AVX512BF16)
enum { VEC_HAS_PAIRS = 1 };

/* The instruction by name: the compiler must not use others of that set. */
VEC_FN vf vf_add_pairs(vf sum, vf a, vf b)
{
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}
#else
enum { VEC_HAS_PAIRS = 0 };

VEC_FN vf vf_add_pairs(vf sum, vf a, vf b)
{
    (void)a;
    (void)b;
    return sum;
}
#endif

/* Up to VW numbers as bf16, rounded if they are of another type; n are left. */
VEC_FN vh vh_take(const void *p, enum dtype type, int64_t i, int64_t n)
{
    vh h = { 0 };

    if (n <= 0)
        return h;
    if (type != DT_BF16)
        return vf_to_half(vf_take(p, type, i, n), DT_BF16);
    memcpy(&h, (const uint16_t *)p + i, n < VW ? (size_t)n * 2 : sizeof h);
    return h;
}

/* Pairs of neighbours in a row. */
VEC_FN vf vf_pairs_along(const void *p, enum dtype type, int64_t i, int64_t n)
{
    const vh h[2] = { vh_take(p, type, i, n),
                      vh_take(p, type, i + VW, n - VW) };
    vf v;

    memcpy(&v, h, sizeof v);
    return v;
}

/* Pairs of each number and the one below it, if there is one. */
VEC_FN vf vf_pairs_down(const void *p, enum dtype type, int64_t i, int64_t down,
                        int64_t n, bool below)
{
    const vh a = vh_take(p, type, i, n);
    const vh b = vh_take(p, type, i + down, below ? n : 0);

    return (vf)(__builtin_convertvector(a, vu) | __builtin_convertvector(b, vu)
                                                     << 16);
}

/* ---- functions ---------------------------------------------------------- */

/*
 * e^x, relative error below 1.5e-7 (t/unit/vec.c).  Below -87.33,
 * where a float would be subnormal, it is 0; above 88.72 infinity.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a
 * minimax polynomial of degree 6; 2^n by adding to the exponent.
 */
VEC_FN vf vf_exp(vf x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: rounds */
    const vf big = x * 1.44269504088896341f + magic;
    const vf n = big - magic;
    vf r = x - n * 0.693145751953125f, p;
    vu bits;

    r = r - n * 1.428606765330187e-06f;
    p = r * 1.38145985e-3f + 8.368717e-3f;
    p = p * r + 4.16683881e-2f;
    p = p * r + 1.66665206e-1f;
    p = p * r + 4.99999934e-1f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    bits = (vu)big - 0x4b400000u;
    p = (vf)((vu)p + (bits << 23));
    p = vf_select((vi)(x < -87.336544f), vf_set(0.0f), p);
    p = vf_select((vi)(x > 88.722839f), vf_set(__builtin_inff()), p);
    return vf_select((vi)(x != x), x, p);
}
