#pragma once

#include <stdint.h>

/*
 * rope - the angles of rotary positions
 *
 * Pair i of a head of width D turns by theta^(-2i/D) at each position, and less
 * in a model whose context was extended:
 *
 *   - llama3 divides the rate of pairs whose wavelength is above `from` by
 *     factor, keeps it below `to`, and interpolates rates between (Llama 3.1);
 *   - yarn keeps the rate of pairs before `from`, divides it after `to`, and
 *     interpolates between (Peng and others, 2023); vectors become longer.
 */
enum rope_kind { ROPE_PLAIN, ROPE_LLAMA3, ROPE_YARN };

struct rope {
    float theta;
    enum rope_kind scaling;
    double factor, from, to;
    double length; /* what is rotated becomes so many times as long */
};

#ifdef __CUDACC__
#define ROPE_FN static __host__ __device__ inline
#else
#define ROPE_FN static inline
#endif

/* The rate of pair i, which is `rate` without scaling. */
ROPE_FN double rope_scaled(const struct rope *r, int64_t i, double rate)
{
    const double wave = 6.283185307179586 / rate;
    double kept;

    if (r->scaling == ROPE_PLAIN)
        return rate;
    if (r->scaling == ROPE_LLAMA3)
        kept = (1 / wave - 1 / r->from) / (1 / r->to - 1 / r->from);
    else
        kept = 1 - ((double)i - r->from) / (r->to - r->from);
    kept = kept < 0 ? 0 : kept > 1 ? 1 : kept;
    return kept * rate + (1 - kept) * rate / r->factor;
}
