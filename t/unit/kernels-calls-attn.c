/*
 * kernels-calls-attn - kernels-calls for attention, the head and the optimisers
 */
#include "config.h"
#include "t/unit/kernels.h"

/* clang-format off */

/* ---- attention: B T D H K, dropout in percent ---------------------------- */

static struct attn attn(const int64_t *s)
{
    return (struct attn){
        .H = (int)s[3], .K = (int)s[4], .D = (int)s[2], .T = s[1],
        .scale = 0.2f, .drop = { (float)s[5] * 0.01f, 3, 9, 6 },
    };
}

static int64_t qkv_width(const int64_t *s)
{
    return (s[3] + 2 * s[4]) * s[2];
}

void rope_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "qkv", STATE, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}

void rope_call(const struct ops *ops, struct dev *dev,
               struct tensor **a, const int64_t *s)
{
    ops->rope(dev, a[0], (int)s[3], (int)s[4], s[1], 3, 10000.0f, s[5] != 0);
}

void attn_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[1] = (struct arg){ "lse", OUT, FLOATS, { s[0] * s[3], s[1] } };
    a[2] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}

void attn_fwd_call(const struct ops *ops, struct dev *dev,
                   struct tensor **a, const int64_t *s)
{
    const struct attn at = attn(s);

    ops->attn_fwd(dev, a[0], a[1], a[2], &at);
}

double attn_fwd_flops(const int64_t *s)
{
    return 2.0 * (double)(s[0] * s[1] * s[1] * s[2] * s[3]);
}

void attn_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dqkv", GRAD, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[1] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[2] = (struct arg){ "y", IN, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[3] = (struct arg){ "lse", IN, FLOATS, { s[0] * s[3], s[1] } };
    a[4] = (struct arg){ "dy", IN, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
}

void attn_bwd_prepare(struct tensor **a, const int64_t *s)
{
    const struct attn at = attn(s);

    ref_attn_fwd(NULL, a[2], a[3], a[1], &at);
}

void attn_bwd_call(const struct ops *ops, struct dev *dev,
                   struct tensor **a, const int64_t *s)
{
    const struct attn at = attn(s);

    ops->attn_bwd(dev, a[0], a[1], a[2], a[3], a[4], &at);
}

double attn_bwd_flops(const int64_t *s)
{
    return 2.5 * attn_fwd_flops(s);
}

/* here T is the size of the cache, and s[5] the new position */
void attn_decode_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[3] * s[2] } };
    a[1] = (struct arg){ "keys", STATE, NUMBERS, { s[0], s[1], s[4], s[2] } };
    a[2] = (struct arg){ "values", STATE, NUMBERS, { s[0], s[1], s[4], s[2] } };
    a[3] = (struct arg){ "qkv", IN, NUMBERS, { s[0], qkv_width(s) } };
}

void attn_decode_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    struct attn at = attn(s);

    at.drop.p = 0.0f;
    ops->attn_decode(dev, a[0], a[1], a[2], a[3], s[5], &at);
}

/* here s[5] is the size of the cache */
void attn_store_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "keys", STATE, NUMBERS, { s[0], s[5], s[4], s[2] } };
    a[1] = (struct arg){ "values", STATE, NUMBERS, { s[0], s[5], s[4], s[2] } };
    a[2] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}

void attn_store_call(const struct ops *ops, struct dev *dev,
                     struct tensor **a, const int64_t *s)
{
    const struct attn at = attn(s);

    ops->attn_store(dev, a[0], a[1], a[2], &at);
}

/* ---- the head: N C V, vocab, first rows without a target ----------------- */

void head_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "loss", OUT, FLOATS, { s[0] } };
    a[1] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[2] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[5] = (struct arg){ "target", IN, TARGETS, { s[0] }, s[3] };
}

void head_prepare(struct tensor **a, const int64_t *s)
{
    for (int64_t i = 0; i < s[4]; i++)
        ((int32_t *)a[5]->data)[i] = -1;
}

void head_call(const struct ops *ops, struct dev *dev,
               struct tensor **a, const int64_t *s)
{
    ops->head(dev, a[0], a[1], a[2], a[3], a[4], a[5], s[3], 0.125f);
}

double head_flops(const int64_t *s)
{
    return 6.0 * (double)((s[0] - s[4]) * s[1] * s[3]);
}

/* ---- the optimiser: n C, variant ----------------------------------------- */

void sumsq_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "out", GRAD, DOUBLE, { 1 } };
    a[1] = (struct arg){ "g", IN, FLOATS, { s[0], s[1] } };
}

void sumsq_call(const struct ops *ops, struct dev *dev,
                struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->sumsq(dev, a[0], a[1]);
}

void sum_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "out", GRAD, DOUBLE, { 1 } };
    a[1] = (struct arg){ "x", IN, FLOATS, { s[0], s[1] } };
}

void sum_call(const struct ops *ops, struct dev *dev, struct tensor **a,
              const int64_t *s)
{
    (void)s;
    ops->sum(dev, a[0], a[1]);
}

/* Variants: plain, clipped, l2 + nesterov, norm or loss not finite.  The loss
 * is the second element of the sums. */
static struct update update(const int64_t *s, const struct tensor *sums,
                            struct tensor *loss)
{
    if (sums) {
        *loss = *sums;
        loss->data = (double *)sums->data + 1;
    }
    return (struct update){
        .lr = 0.01f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f,
        .decay = 0.1f, .step = 3, .g_scale = s[2] == 1 ? 0.5f : 1.0f,
        .clip = s[2] == 1 ? 1.0f : 0.0f, .sumsq = sums,
        .loss = sums ? loss : NULL, .nesterov = s[2] == 2, .scale = 1.5f,
        .l2 = s[2] == 2,
    };
}

void step_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "w", STATE, FLOATS, { s[0], s[1] } };
    a[1] = (struct arg){ "m", STATE, FLOATS, { s[0], s[1] } };
    a[2] = (struct arg){ "copy", OUT, NUMBERS, { s[0], s[1] }, 0, true };
    a[3] = (struct arg){ "g", IN, FLOATS, { s[0], s[1] } };
    a[4] = (struct arg){ "sums", IN, DOUBLE, { 2 }, 0, true };
    a[5] = (struct arg){ "v", STATE, POSITIVE, { s[0], s[1] } };
}

void step_prepare(struct tensor **a, const int64_t *s)
{
    if (a[4]) {
        double *sums = a[4]->data;

        sums[0] = s[2] == 3 ? 1e308 * 10.0 : 9.0;
        sums[1] = s[2] == 4 ? -1e308 * 10.0 : 2.5;
    }
    if (s[2] >= 3 && a[2])      /* nothing changes, so nothing is written */
        ref_fill(NULL, a[2], 1.0f);
}

void adamw_call(const struct ops *ops, struct dev *dev,
                struct tensor **a, const int64_t *s)
{
    struct tensor loss;
    const struct update u = update(s, a[4], &loss);

    ops->adamw(dev, a[0], a[1], a[5], a[2], a[3], &u);
}

void lion_call(const struct ops *ops, struct dev *dev,
               struct tensor **a, const int64_t *s)
{
    struct tensor loss;
    const struct update u = update(s, a[4], &loss);

    ops->lion(dev, a[0], a[1], a[2], a[3], &u);
}

void sgd_call(const struct ops *ops, struct dev *dev,
              struct tensor **a, const int64_t *s)
{
    struct tensor loss;
    const struct update u = update(s, a[4], &loss);

    ops->sgd(dev, a[0], a[1], a[2], a[3], &u);
}

void muon_args(struct arg *a, const int64_t *s)
{
    step_args(a, s);
    a[5] = (struct arg){ "work", SCRATCH, FLOATS, { muon_work(s[0], s[1]) } };
}

void muon_call(const struct ops *ops, struct dev *dev,
               struct tensor **a, const int64_t *s)
{
    struct tensor loss;
    const struct update u = update(s, a[4], &loss);

    ops->muon(dev, a[0], a[1], a[2], a[5], a[3], &u);
}
