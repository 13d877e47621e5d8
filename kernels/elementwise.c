/*
 * elementwise - one element at a time: sums, scaling, conversion, dropout
 */
#include "config.h"
#include "common/rng.h"
#include "kernels/half.h"
#include "kernels/ref.h"

void ref_add_fwd(struct dev *dev, struct tensor *y, const struct tensor *a,
                 const struct tensor *b)
{
    (void)dev;
    assert(tensor_count(y) == tensor_count(a));
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_set(y, i, ref_get(a, i) + ref_get(b, i));
}

void ref_accum(struct dev *dev, struct tensor *y, const struct tensor *x)
{
    (void)dev;
    assert(tensor_count(y) == tensor_count(x));
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_add(y, i, ref_get(x, i));
}

void ref_cast_random(struct dev *dev, struct tensor *y, const struct tensor *x,
                     uint64_t seed, uint64_t stream, uint64_t first)
{
    const float *from = x->data;
    uint16_t *to = y->data;

    (void)dev;
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

void ref_dropout(struct dev *dev, struct tensor *y, const struct tensor *x,
                 const struct dropout *d)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_add(y, i, apply_dropout(d, i, ref_get(x, i)));
}
