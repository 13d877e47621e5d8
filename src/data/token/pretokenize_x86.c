/*
 * pretokenize_x86 - the masks of 64 bytes with AVX2 and AVX-512
 *
 * A range takes one comparison: after its beginning is subtracted, everything
 * below it has wrapped around to the top.  AVX2 compares only signed
 * numbers, so there the beginning is moved to -128.
 */
#include "config.h"
#include "data/token/pretokenize_impl.h"

#include <immintrin.h>

enum {
    SIGNED_LETTERS = -128 + 26,
    SIGNED_DIGITS = -128 + 10,
    SIGNED_SPACES = -128 + 5,
};

#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

AVX2 static uint32_t below32(__m256i v, char from, char bound)
{
    const __m256i moved =
        _mm256_add_epi8(v, _mm256_set1_epi8((char)(-128 - from)));

    return (uint32_t)_mm256_movemask_epi8(
        _mm256_cmpgt_epi8(_mm256_set1_epi8(bound), moved));
}

AVX2 static uint32_t equal32(__m256i v, char c)
{
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c)));
}

AVX2 static void masks_avx2(const uint8_t *p, struct pretokenize_masks *m)
{
    *m = (struct pretokenize_masks){ 0 };
    for (int i = 0; i < 64; i += 32) {
        const __m256i v = _mm256_loadu_si256((const void *)(p + i));
        const __m256i lower = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
        const uint64_t blank = equal32(v, ' ');

        m->letter |= (uint64_t)below32(lower, 'a', SIGNED_LETTERS) << i;
        m->number |= (uint64_t)below32(v, '0', SIGNED_DIGITS) << i;
        m->space |= (blank | below32(v, '\t', SIGNED_SPACES)) << i;
        m->blank |= blank << i;
        m->apostrophe |= (uint64_t)equal32(v, '\'') << i;
        m->high |= (uint64_t)(uint32_t)_mm256_movemask_epi8(v) << i;
    }
}

/* Store eight offsets at a time, so that the number of turns is easily
 * predicted.  Those after the last bit have no meaning. */
AVX2 static void store_avx2(uint32_t *stop, uint64_t bits, uint32_t base)
{
    const int n = __builtin_popcountll(bits);

    for (int i = 0; i < n; i += 8) {
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) {
            stop[i + k] = base + (uint32_t)_tzcnt_u64(bits);
            bits = _blsr_u64(bits);
        }
    }
}

AVX2 size_t pretokenize_gpt2_avx2(const uint8_t *text, const uint8_t *end,
                                  uint32_t *stop, size_t max)
{
    return pretokenize_loop(text, end, stop, max, masks_avx2, store_avx2);
}

#define AVX512 __attribute__((target("avx512bw,bmi,bmi2,lzcnt,popcnt")))

AVX512 static uint64_t below64(__m512i v, char from, char count)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(from)),
                                  _mm512_set1_epi8(count));
}

AVX512 static void masks_avx512(const uint8_t *p, struct pretokenize_masks *m)
{
    const __m512i v = _mm512_loadu_si512(p);
    const __m512i lower = _mm512_or_si512(v, _mm512_set1_epi8(0x20));

    m->letter = below64(lower, 'a', 26);
    m->number = below64(v, '0', 10);
    m->blank = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(' '));
    m->space = m->blank | below64(v, '\t', 5);
    m->apostrophe = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\''));
    m->high = _mm512_movepi8_mask(v);
}

AVX512 static void store_avx512(uint32_t *stop, uint64_t bits, uint32_t base)
{
    __m512i at = _mm512_add_epi32(
        _mm512_set1_epi32((int)base),
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));

    for (; bits; bits >>= 16) {
        _mm512_storeu_si512(stop,
                            _mm512_maskz_compress_epi32((__mmask16)bits, at));
        stop += __builtin_popcount((uint16_t)bits);
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
    }
}

AVX512 size_t pretokenize_gpt2_avx512(const uint8_t *text, const uint8_t *end,
                                      uint32_t *stop, size_t max)
{
    return pretokenize_loop(text, end, stop, max, masks_avx512, store_avx512);
}
