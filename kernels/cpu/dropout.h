#pragma once

#include "kernels/cpu/random.h"
#include "kernels/ops.h"

/*
 * dropout - dropout's mask
 */

/* out(n) = 0 where element first + i of the mask drops, else 1 / (1 - p). */
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
