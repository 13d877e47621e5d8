#pragma once

#include "common/rng.h"
#include "kernels/cpu/vec.h"
#include "kernels/ops.h"

/*
 * random - the words of rng.h, a vector of Philox blocks at a time
 */
enum { RANDOM_WORDS = 4 * VW };

/* High and low words of x * m, m a constant. */
VEC_FN vu random_multiply(vu x, uint32_t m, vu *low)
{
    const vl by = (vl){ 0 } + m;
    const vl p = vl_multiply((vl)x, by), q = vl_multiply((vl)x >> 32, by);

    *low = (vu)((p & 0xffffffffu) | (q << 32));
    return (vu)((p >> 32) | (q & 0xffffffff00000000u));
}

/* Blocks i .. i + VW - 1 of a stream: word j of block i + k is out[j][k]. */
VEC_FN void random_blocks(uint64_t seed, uint64_t stream, uint64_t i, vu out[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    vu c0, c1, c2, c3;

    for (int k = 0; k < VW; k++) {
        c0[k] = (uint32_t)(i + (uint64_t)k);
        c1[k] = (uint32_t)((i + (uint64_t)k) >> 32);
    }
    c2 = (vu){ 0 } + (uint32_t)stream;
    c3 = (vu){ 0 } + (uint32_t)(stream >> 32);
    for (int round = 0; round < 10; round++) {
        vu p_low, q_low;
        const vu p = random_multiply(c0, 0xd2511f53u, &p_low);
        const vu q = random_multiply(c2, 0xcd9e8d57u, &q_low);

        c0 = q ^ c1 ^ k0;
        c1 = q_low;
        c2 = p ^ c3 ^ k1;
        c3 = p_low;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The words of these blocks in the order of the stream. */
VEC_FN void random_words(uint64_t seed, uint64_t stream, uint64_t i,
                         float out[RANDOM_WORDS])
{
    vu block[4];
    vf low[2], high[2];

    random_blocks(seed, stream, i, block);
    for (int j = 0; j < 2; j++) {
        low[j] = vf_zip_low((vf)block[j], (vf)block[j + 2]);
        high[j] = vf_zip_high((vf)block[j], (vf)block[j + 2]);
    }
    vf_store(out, vf_zip_low(low[0], low[1]));
    vf_store(out + VW, vf_zip_high(low[0], low[1]));
    vf_store(out + 2 * VW, vf_zip_low(high[0], high[1]));
    vf_store(out + 3 * VW, vf_zip_high(high[0], high[1]));
}

/* The mask of dropout: out(n) = 0 where element first + i drops, else
 * 1 / (1 - p). */
static inline void dropout_mask(float *out, const struct dropout *d,
                                uint64_t first, int64_t n)
{
    const float keep = 1.0f / (1.0f - d->p);
    uint64_t at = d->first + first;
    int64_t i = 0;

    while (i < n) {
        float words[RANDOM_WORDS];
        const int64_t skip = (int64_t)(at & 3);
        const int64_t count =
            n - i < RANDOM_WORDS - skip ? n - i : RANDOM_WORDS - skip;

        random_words(d->seed, d->stream, at >> 2, words);
        for (int64_t j = 0; j < count; j += VW) {
            const vu w = (vu)vf_take(words + skip, DT_F32, j, count - j);
            const vf u = __builtin_convertvector((vi)(w >> 8), vf) * 0x1p-24f;

            vf_give(out, DT_F32, i + j,
                    vf_select((vi)(u >= d->p), vf_set(keep), vf_set(0.0f)),
                    count - j);
        }
        i += count;
        at += (uint64_t)count;
    }
}
