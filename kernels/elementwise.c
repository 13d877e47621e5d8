/*
 * elementwise - one element at a time: sums, scaling, conversion, dropout
 */
#include "config.h"

#include <math.h>

#include "common/rng.h"
#include "kernels/half.h"
#include "kernels/ref.h"

void ref_add_fwd(struct dev *dev UNUSED, struct tensor *y,
                 const struct tensor *a, const struct tensor *b)
{
    assert(tensor_count(y) == tensor_count(a));
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_set(y, i, ref_get(a, i) + ref_get(b, i));
}

void ref_accum(struct dev *dev UNUSED, struct tensor *y, const struct tensor *x)
{
    assert(tensor_count(y) == tensor_count(x));
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_add(y, i, ref_get(x, i));
}

void ref_cast_random(struct dev *dev UNUSED, struct tensor *y,
                     const struct tensor *x, uint64_t seed, uint64_t stream,
                     uint64_t first)
{
    const float *from = x->data;
    uint16_t *to = y->data;

    assert(x->type == DT_F32 && y->type == DT_BF16);
    for (int64_t i = 0; i < tensor_count(y); i++)
        to[i] = bf16_from_float_random(
            from[i], rng_word(seed, stream, first + (uint64_t)i));
}

static double apply_dropout(const struct dropout *d, int64_t i, double x)
{
    if (rng_uniform(d->seed, d->stream, d->first + (uint64_t)i) < d->p)
        return 0.0;
    return x / (1.0 - (double)d->p);
}

void ref_dropout(struct dev *dev UNUSED, struct tensor *y,
                 const struct tensor *x, const struct dropout *d)
{
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_add(y, i, apply_dropout(d, i, ref_get(x, i)));
}

void ref_normal(struct dev *dev UNUSED, struct tensor *y, uint64_t seed,
                uint64_t stream, int64_t first, float std)
{
    const int64_t n = tensor_count(y);

    for (int64_t i = 0; i < n; i += 2) {
        uint32_t w[4];
        double radius, angle;

        rng_bits(seed, stream, (uint64_t)(first + i) / 2, w);
        radius = sqrt(-2.0 * log(((double)w[0] + 0.5) * 0x1p-32));
        angle = 2.0 * M_PI * ((double)w[1] + 0.5) * 0x1p-32;
        ref_set(y, i, (double)std * radius * cos(angle));
        if (i + 1 < n)
            ref_set(y, i + 1, (double)std * radius * sin(angle));
    }
}
