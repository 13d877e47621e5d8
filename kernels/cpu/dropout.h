#ifndef KERNELS_CPU_DROPOUT_H
#define KERNELS_CPU_DROPOUT_H

#include "common/rng.h"
#include "kernels/cpu/vec.h"
#include "kernels/ops.h"

/*
 * dropout - dropout's mask, a vector of Philox blocks at a time
 */
typedef uint64_t vl __attribute__((vector_size(4 * VW))); /* VW / 2 of them */

/* High and low words of x * m, m a constant. */
VEC_FN vu dropout_multiply(vu x, uint32_t m, vu *low)
{
    const vl even = (vl)x & 0xffffffffu, odd = (vl)x >> 32;
    const vl p = even * m, q = odd * m;

    *low = (vu)((p & 0xffffffffu) | (q << 32));
    return (vu)((p >> 32) | (q & 0xffffffff00000000u));
}

/* Blocks i .. i + VW - 1 of a stream: word j of block i + k is out[j][k]. */
VEC_FN void dropout_blocks(uint64_t seed, uint64_t stream, uint64_t i,
                           vu out[4])
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
        const vu p = dropout_multiply(c0, 0xd2511f53u, &p_low);
        const vu q = dropout_multiply(c2, 0xcd9e8d57u, &q_low);

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

/* out(n) = 0 where element first + i of the mask drops, else 1 / (1 - p). */
static inline void dropout_mask(float *out, const struct dropout *d,
                                uint64_t first, int64_t n)
{
    const float keep = 1.0f / (1.0f - d->p);
    uint64_t at = d->first + first;
    int64_t i = 0;

    while (i < n) {
        uint32_t words[4][VW];
        vu block[4];
        int64_t j = (int64_t)(at & 3);

        dropout_blocks(d->seed, d->stream, at >> 2, block);
        memcpy(words, block, sizeof words);
        for (; j < 4 * VW && i < n; j++, i++, at++) {
            const float u = (float)(words[j & 3][j >> 2] >> 8) * 0x1p-24f;

            out[i] = u >= d->p ? keep : 0.0f;
        }
    }
}

#endif
