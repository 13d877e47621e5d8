/*
 * kernels-ops - the table of the operations, as kernels.c judges them
 *
 * The letters of a shape are those of ops.h; what is no size (a kind, a head
 * count) follows the sizes.
 */
#include "config.h"
#include "t/unit/kernels.h"

#define ARGS(op) static void op##_args(struct arg *a, const int64_t *s)
#define CALL(op)                                                               \
    static void op##_call(const struct ops *ops, struct dev *dev,              \
                          struct tensor **a, const int64_t *s)
#define PREPARE(op)                                                            \
    static void op##_prepare(struct tensor **a, const int64_t *s)
#define FLOPS(op) static double op##_flops(const int64_t *s)

/* clang-format off */

/* ---- embedding: N C V T -------------------------------------------------- */

ARGS(embed_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "tokens", IN, TOKENS, { s[0] }, s[2] };
    a[2] = (struct arg){ "wte", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "wpe", IN, NUMBERS, { s[3] + 3, s[1] }, 0, true };
}
CALL(embed_fwd)
{
    ops->embed_fwd(dev, a[0], a[1], a[2], a[3], s[3], 2);
}
ARGS(embed_bwd)
{
    a[0] = (struct arg){ "dwte", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[1] = (struct arg){ "dwpe", GRAD, FLOATS, { s[3] + 3, s[1] }, 0, true };
    a[2] = (struct arg){ "tokens", IN, TOKENS, { s[0] }, s[2] };
    a[3] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}
CALL(embed_bwd)
{
    ops->embed_bwd(dev, a[0], a[1], a[2], a[3], s[3]);
}

/* ---- linear: N C M, act -------------------------------------------------- */

ARGS(linear_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[2] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "b", IN, NUMBERS, { s[2] }, 0, true };
}
CALL(linear_fwd)
{
    (void)s;
    ops->linear_fwd(dev, a[0], a[1], a[2], a[3]);
}
FLOPS(linear_fwd) { return 2.0 * (double)(s[0] * s[1] * s[2]); }
ARGS(linear_bwd)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[2] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[5] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[2] } };
}
CALL(linear_bwd)
{
    (void)s;
    ops->linear_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5]);
}
FLOPS(linear_bwd) { return 4.0 * (double)(s[0] * s[1] * s[2]); }
ARGS(linear_act_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[2] } };
    a[1] = (struct arg){ "pre", OUT, NUMBERS, { s[0], s[2] }, 0, true };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[2] }, 0, true };
}
CALL(linear_act_fwd)
{
    ops->linear_act_fwd(dev, a[0], a[1], a[2], a[3], a[4], (enum act)s[3]);
}
ARGS(act_linear_bwd)
{
    a[0] = (struct arg){ "dpre", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[2] }, 0, true };
    a[3] = (struct arg){ "pre", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[6] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[2] } };
}
CALL(act_linear_bwd)
{
    ops->act_linear_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                        (enum act)s[3]);
}

/* ---- normalisation: N C, kind -------------------------------------------- */

ARGS(norm_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "stat", OUT, FLOATS, { s[0], 2 } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[1] }, 0, true };
}
CALL(norm_fwd)
{
    ops->norm_fwd(dev, a[0], a[1], a[2], a[3], a[4], (enum norm)s[2], 1e-5f);
}
ARGS(norm_bwd)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[1] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[5] = (struct arg){ "stat", IN, FLOATS, { s[0], 2 } };
    a[6] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
    a[7] = (struct arg){ "y", IN, NUMBERS, { s[0], s[1] } };
}
PREPARE(norm_bwd)
{
    ref_norm_fwd(NULL, a[7], a[5], a[3], NULL, NULL, (enum norm)s[2], 1e-5f);
}
CALL(norm_bwd)
{
    ops->norm_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                  (enum norm)s[2]);
}
ARGS(add_norm_fwd)
{
    a[0] = (struct arg){ "sum", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "stat", OUT, FLOATS, { s[0], 2 } };
    a[3] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[6] = (struct arg){ "bias", IN, NUMBERS, { s[1] }, 0, true };
}
CALL(add_norm_fwd)
{
    ops->add_norm_fwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                      (enum norm)s[2], 1e-5f);
}

/* N D H K */
ARGS(qknorm_fwd)
{
    const int64_t width = (s[2] + 2 * s[3]) * s[1];

    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], width } };
    a[1] = (struct arg){ "stat", OUT, FLOATS, { s[0], s[2] + s[3] } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], width } };
    a[3] = (struct arg){ "wq", IN, NUMBERS, { s[1] } };
    a[4] = (struct arg){ "wk", IN, NUMBERS, { s[1] } };
}
CALL(qknorm_fwd)
{
    ops->qknorm_fwd(dev, a[0], a[1], a[2], a[3], a[4], (int)s[2], (int)s[3],
                    1e-5f);
}
ARGS(qknorm_bwd)
{
    const int64_t width = (s[2] + 2 * s[3]) * s[1];

    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], width } };
    a[1] = (struct arg){ "dwq", GRAD, FLOATS, { s[1] }, 0, true };
    a[2] = (struct arg){ "dwk", GRAD, FLOATS, { s[1] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], width } };
    a[4] = (struct arg){ "wq", IN, NUMBERS, { s[1] } };
    a[5] = (struct arg){ "wk", IN, NUMBERS, { s[1] } };
    a[6] = (struct arg){ "stat", IN, FLOATS, { s[0], s[2] + s[3] } };
    a[7] = (struct arg){ "dy", IN, NUMBERS, { s[0], width } };
    a[8] = (struct arg){ "y", IN, NUMBERS, { s[0], width } };
}
PREPARE(qknorm_bwd)
{
    ref_qknorm_fwd(NULL, a[8], a[6], a[3], a[4], a[5], (int)s[2], (int)s[3],
                   1e-5f);
}
CALL(qknorm_bwd)
{
    ops->qknorm_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                    (int)s[2], (int)s[3]);
}

/* ---- pointwise: N F, kind ------------------------------------------------ */

ARGS(act_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}
CALL(act_fwd)
{
    ops->act_fwd(dev, a[0], a[1], (enum act)s[2]);
}
ARGS(act_bwd)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}
CALL(act_bwd)
{
    ops->act_bwd(dev, a[0], a[1], a[2], (enum act)s[2]);
}
ARGS(glu_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], 2 * s[1] } };
}
CALL(glu_fwd)
{
    ops->glu_fwd(dev, a[0], a[1], (enum act)s[2]);
}
ARGS(glu_bwd)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], 2 * s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], 2 * s[1] } };
    a[2] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}
CALL(glu_bwd)
{
    ops->glu_bwd(dev, a[0], a[1], a[2], (enum act)s[2]);
}
ARGS(add_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
}
CALL(add_fwd)
{
    (void)s;
    ops->add_fwd(dev, a[0], a[1], a[2]);
}
ARGS(accum)
{
    a[0] = (struct arg){ "y", GRAD, s[2] ? FLOATS : NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}
CALL(accum)
{
    (void)s;
    ops->accum(dev, a[0], a[1]);
}
ARGS(scale)
{
    a[0] = (struct arg){ "y", STATE, NUMBERS, { s[0], s[1] } };
}
CALL(scale)
{
    (void)s;
    ops->scale(dev, a[0], 0.5f);
}
ARGS(fill)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
}
CALL(fill)
{
    (void)s;
    ops->fill(dev, a[0], 0.75f);
}
ARGS(cast)
{
    a[0] = (struct arg){ "y", OUT, s[2] ? FLOATS : NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, s[2] ? NUMBERS : FLOATS, { s[0], s[1] } };
}
CALL(cast)
{
    (void)s;
    ops->cast(dev, a[0], a[1]);
}

/* the random words start at s[2]; always to bf16, whatever the model's type */
ARGS(cast_random)
{
    a[0] = (struct arg){ "y", OUT, HALVES, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, FLOATS, { s[0], s[1] } };
}
CALL(cast_random)
{
    ops->cast_random(dev, a[0], a[1], 7, 11, (uint64_t)s[2]);
}

static const struct dropout drop = { 0.25f, 7, 11, 5 };

ARGS(dropout_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}
CALL(dropout_fwd)
{
    (void)s;
    ops->dropout_fwd(dev, a[0], a[1], &drop);
}
ARGS(dropout_bwd)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}
CALL(dropout_bwd)
{
    (void)s;
    ops->dropout_bwd(dev, a[0], a[1], &drop);
}

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

ARGS(rope)
{
    a[0] = (struct arg){ "qkv", STATE, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}
CALL(rope)
{
    ops->rope(dev, a[0], (int)s[3], (int)s[4], s[1], 3, 10000.0f, s[5] != 0);
}
ARGS(attn_fwd)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[1] = (struct arg){ "lse", OUT, FLOATS, { s[0] * s[1], s[3] } };
    a[2] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}
CALL(attn_fwd)
{
    const struct attn at = attn(s);

    ops->attn_fwd(dev, a[0], a[1], a[2], &at);
}
FLOPS(attn_fwd)
{
    return 2.0 * (double)(s[0] * s[1] * s[1] * s[2] * s[3]);
}
ARGS(attn_bwd)
{
    a[0] = (struct arg){ "dqkv", GRAD, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[1] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[2] = (struct arg){ "y", IN, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[3] = (struct arg){ "lse", IN, FLOATS, { s[0] * s[1], s[3] } };
    a[4] = (struct arg){ "dy", IN, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
}
PREPARE(attn_bwd)
{
    const struct attn at = attn(s);

    ref_attn_fwd(NULL, a[2], a[3], a[1], &at);
}
CALL(attn_bwd)
{
    const struct attn at = attn(s);

    ops->attn_bwd(dev, a[0], a[1], a[2], a[3], a[4], &at);
}
FLOPS(attn_bwd) { return 2.5 * attn_fwd_flops(s); }

/* here T is the room, and s[5] the place */
ARGS(attn_decode)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[3] * s[2] } };
    a[1] = (struct arg){ "keys", STATE, NUMBERS, { s[0], s[1], s[4], s[2] } };
    a[2] = (struct arg){ "values", STATE, NUMBERS, { s[0], s[1], s[4], s[2] } };
    a[3] = (struct arg){ "qkv", IN, NUMBERS, { s[0], qkv_width(s) } };
}
CALL(attn_decode)
{
    struct attn at = attn(s);

    at.drop.p = 0.0f;
    ops->attn_decode(dev, a[0], a[1], a[2], a[3], s[5], &at);
}

/* ---- the head: N C V, vocab ---------------------------------------------- */

ARGS(head)
{
    a[0] = (struct arg){ "loss", OUT, FLOATS, { s[0] } };
    a[1] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[2] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[5] = (struct arg){ "target", IN, TARGETS, { s[0] }, s[3] };
}
CALL(head)
{
    ops->head(dev, a[0], a[1], a[2], a[3], a[4], a[5], s[3], 0.125f);
}
FLOPS(head) { return 6.0 * (double)(s[0] * s[1] * s[3]); }

/* ---- the optimiser: n C, variant ----------------------------------------- */

ARGS(sumsq)
{
    a[0] = (struct arg){ "out", GRAD, DOUBLE, { 1 } };
    a[1] = (struct arg){ "g", IN, FLOATS, { s[0], s[1] } };
}
CALL(sumsq)
{
    (void)s;
    ops->sumsq(dev, a[0], a[1]);
}

/* Variants: plain, clipped, l2 + nesterov, not finite. */
static struct update update(const int64_t *s, const struct tensor *sumsq)
{
    return (struct update){
        .lr = 0.01f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f,
        .decay = 0.1f, .step = 3, .g_scale = s[2] == 1 ? 0.5f : 1.0f,
        .clip = s[2] == 1 ? 1.0f : 0.0f, .sumsq = sumsq,
        .nesterov = s[2] == 2, .l2 = s[2] == 2,
    };
}

static void step_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "w", STATE, FLOATS, { s[0], s[1] } };
    a[1] = (struct arg){ "m", STATE, FLOATS, { s[0], s[1] } };
    a[2] = (struct arg){ "copy", OUT, NUMBERS, { s[0], s[1] }, 0, true };
    a[3] = (struct arg){ "g", IN, FLOATS, { s[0], s[1] } };
    a[4] = (struct arg){ "sumsq", IN, DOUBLE, { 1 }, 0, true };
    a[5] = (struct arg){ "v", STATE, POSITIVE, { s[0], s[1] } };
}
PREPARE(step)
{
    if (a[4])
        *(double *)a[4]->data = s[2] == 3 ? 1e308 * 10.0 : 9.0;
    if (s[2] == 3 && a[2])      /* nothing moves, so nothing is written */
        ref_fill(NULL, a[2], 1.0f);
}
CALL(adamw)
{
    const struct update u = update(s, a[4]);

    ops->adamw(dev, a[0], a[1], a[5], a[2], a[3], &u);
}
CALL(lion)
{
    const struct update u = update(s, a[4]);

    ops->lion(dev, a[0], a[1], a[2], a[3], &u);
}
CALL(sgd)
{
    const struct update u = update(s, a[4]);

    ops->sgd(dev, a[0], a[1], a[2], a[3], &u);
}
ARGS(muon)
{
    step_args(a, s);
    a[5] = (struct arg){ "work", SCRATCH, FLOATS, { muon_work(s[0], s[1]) } };
}
CALL(muon)
{
    const struct update u = update(s, a[4]);

    ops->muon(dev, a[0], a[1], a[2], a[5], a[3], &u);
}

/* ------------------------------------------------------------------------- */

/* Shapes of odd widths, and of such as take 16 bytes at a time: on a GPU those
 * are kernels of their own, and for norms so are more widths. */
#define OP(op) #op, op##_args, NULL, op##_call
#define OP_PREPARED(op) #op, op##_args, op##_prepare, op##_call
#define STEP(op) #op, step_args, step_prepare, op##_call

const struct op_test op_tests[] = {
    { OP(embed_fwd), true, 1e-7, 0,
      { { 1, 1, 1, 1 }, { 14, 7, 5, 7 }, { 129, 33, 50, 43 },
        { 129, 64, 50, 43 } },
      { { 1024, 768, 50304, 256 } } },
    { OP(embed_bwd), true, 1e-6, 0,
      { { 1, 1, 1, 1 }, { 14, 7, 5, 7 }, { 258, 33, 50, 129 },
        { 258, 64, 50, 129 } },
      { { 1024, 768, 50304, 256 } } },
    { OP(linear_fwd), true, 3e-6, 0,
      { { 1, 1, 1 }, { 1, 129, 33 }, { 7, 64, 32 }, { 33, 100, 65 },
        { 129, 31, 129 }, { 64, 800, 48 }, { 29, 7, 900 } },
      { { 1024, 768, 2304 }, { 1024, 3072, 768 }, { 256, 768, 3072 },
        { 4096, 512, 2048 }, { 256, 768, 50304 }, { 768, 128, 384 },
        { 768, 512, 128 }, { 1, 768, 3072 } }, linear_fwd_flops },
    { OP(linear_bwd), true, 3e-6, 0,
      { { 1, 1, 1 }, { 1, 129, 33 }, { 7, 64, 32 }, { 33, 100, 65 },
        { 129, 31, 129 }, { 64, 48, 800 }, { 801, 7, 15 } },
      { { 1024, 768, 2304 }, { 1024, 3072, 768 }, { 256, 768, 3072 },
        { 4096, 512, 2048 }, { 256, 768, 50304 }, { 768, 128, 384 },
        { 768, 512, 128 } }, linear_bwd_flops },
    { OP(linear_act_fwd), false, 3e-6, 0,
      { { 1, 1, 1, ACT_GELU }, { 7, 129, 33, ACT_GELU_TANH },
        { 33, 5, 400, ACT_RELU }, { 7, 7, 7, ACT_RELU2 },
        { 3, 9, 7, ACT_SILU }, { 2, 129, 65, ACT_GELU },
        { 7, 33, 40, ACT_GELU_TANH } },
      { { 1024, 768, 3072, ACT_GELU_TANH } }, linear_fwd_flops, .inner = 2 },
    { OP(act_linear_bwd), false, 3e-6, 0,
      { { 1, 1, 1, ACT_GELU }, { 7, 33, 129, ACT_GELU_TANH },
        { 33, 400, 5, ACT_GELU_TANH }, { 7, 7, 7, ACT_RELU2 },
        { 3, 7, 9, ACT_SILU }, { 129, 64, 17, ACT_GELU_TANH } },
      { { 1024, 3072, 768, ACT_GELU_TANH } }, linear_bwd_flops, .inner = 2,
      .inner_cpu = 1 },
    { OP(norm_fwd), false, 3e-6, 2,
      { { 1, 2, NORM_LAYER }, { 7, 129, NORM_LAYER }, { 129, 64, NORM_LAYER },
        { 1, 1, NORM_RMS }, { 7, 129, NORM_RMS },
        { 5, 768, NORM_LAYER }, { 5, 1000, NORM_RMS },
        { 3, 1600, NORM_LAYER }, { 3, 2056, NORM_LAYER } },
      { { 1024, 768, NORM_LAYER } } },
    { OP_PREPARED(norm_bwd), false, 3e-6, 0,
      { { 1, 3, NORM_LAYER }, { 7, 129, NORM_LAYER }, { 700, 64, NORM_LAYER },
        { 1, 2, NORM_RMS }, { 7, 129, NORM_RMS },
        { 9, 768, NORM_LAYER }, { 9, 1000, NORM_RMS },
        { 5, 1600, NORM_LAYER }, { 3, 2056, NORM_RMS } },
      { { 1024, 768, NORM_LAYER } } },
    { OP(add_norm_fwd), false, 3e-6, 3,
      { { 1, 3, NORM_LAYER }, { 7, 129, NORM_LAYER }, { 129, 64, NORM_RMS },
        { 5, 768, NORM_LAYER } },
      { { 1024, 768, NORM_LAYER } } },
    { OP(qknorm_fwd), false, 3e-6, 2,
      { { 1, 1, 1, 1 }, { 7, 33, 4, 2 }, { 129, 16, 3, 3 } },
      { { 1024, 64, 12, 12 } } },
    { OP_PREPARED(qknorm_bwd), false, 3e-6, 0,
      { { 1, 2, 1, 1 }, { 7, 33, 4, 2 }, { 129, 16, 3, 3 } },
      { { 1024, 64, 12, 12 } } },
    { OP(act_fwd), false, 5e-7, 1,
      { { 1, 1, ACT_GELU }, { 7, 129, ACT_GELU }, { 129, 129, ACT_GELU_TANH },
        { 7, 129, ACT_RELU }, { 7, 129, ACT_RELU2 }, { 7, 129, ACT_SILU },
        { 65, 64, ACT_SILU } },
      { { 1024, 3072, ACT_GELU_TANH }, { 1024, 3072, ACT_GELU },
        { 1024, 3072, ACT_SILU } } },
    { OP(act_bwd), false, 8e-7, 2,
      { { 1, 1, ACT_GELU }, { 7, 129, ACT_GELU }, { 129, 129, ACT_GELU_TANH },
        { 7, 129, ACT_RELU }, { 7, 129, ACT_RELU2 }, { 7, 129, ACT_SILU },
        { 65, 64, ACT_GELU_TANH } },
      { { 1024, 3072, ACT_GELU_TANH }, { 1024, 3072, ACT_GELU } } },
    { OP(glu_fwd), false, 5e-7, 0,
      { { 1, 1, ACT_SILU }, { 7, 129, ACT_GELU }, { 65, 130, ACT_GELU_TANH },
        { 65, 64, ACT_SILU } },
      { { 1024, 2048, ACT_SILU } } },
    { OP(glu_bwd), false, 8e-7, 0,
      { { 1, 1, ACT_SILU }, { 7, 129, ACT_GELU }, { 65, 130, ACT_GELU_TANH },
        { 65, 64, ACT_SILU } },
      { { 1024, 2048, ACT_SILU } } },
    { OP(add_fwd), true, 1e-7, 1,
      { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } } },
    { OP(accum), true, 1e-7, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 7, 129, 1 }, { 65, 64 } },
      { { 1024, 768 } } },
    { OP(scale), true, 1e-7, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } } },
    { OP(fill), true, 0, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } } },
    { OP(cast), true, 0, 0,
      { { 1, 1, 0 }, { 7, 129, 0 }, { 129, 129, 1 }, { 65, 64, 1 } },
      { { 1024, 768 } } },
    { OP(cast_random), true, 0, 0,
      { { 1, 1, 0 }, { 7, 129, 0 }, { 129, 129, 3 }, { 65, 64, 8 } },
      { { 1024, 768, 0 } }, .range = 1e6 },
    { OP(dropout_fwd), false, 1e-7, 1,
      { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } } },
    { OP(dropout_bwd), false, 2e-7, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } } },
    { OP(rope), false, 1e-6, 0,
      { { 1, 1, 2, 1, 1, 0 }, { 2, 7, 10, 4, 2, 0 }, { 1, 129, 64, 3, 3, 1 } },
      { { 1, 1024, 64, 12, 12, 0 } } },
    { OP(attn_fwd), false, 3e-5, 0,
      { { 1, 1, 1, 1, 1 }, { 2, 7, 5, 2, 2 }, { 1, 129, 16, 3, 1 },
        { 3, 65, 33, 4, 2 }, { 1, 40, 64, 2, 2, 25 }, { 2, 33, 8, 2, 1, 50 },
        { 1, 70, 64, 2, 2 }, { 1, 33, 96, 1, 1, 30 }, { 1, 66, 128, 2, 1 },
        { 1, 35, 136, 2, 1 } },
      { { 4, 64, 64, 12, 12 }, { 4, 256, 64, 12, 12 }, { 4, 1024, 64, 12, 12 },
        { 12, 64, 32, 4, 4 } }, attn_fwd_flops, .inner = 2 },
    { OP_PREPARED(attn_bwd), false, 2e-4, 0,
      { { 1, 1, 1, 1, 1 }, { 2, 7, 5, 2, 2 }, { 1, 129, 16, 3, 1 },
        { 3, 65, 33, 4, 2 }, { 1, 40, 64, 2, 2, 25 }, { 2, 33, 8, 2, 1, 50 },
        { 1, 70, 64, 2, 2 }, { 1, 33, 96, 1, 1, 30 }, { 1, 66, 128, 2, 1 },
        { 1, 35, 136, 2, 1 } },
      { { 4, 64, 64, 12, 12 }, { 4, 256, 64, 12, 12 }, { 2, 1024, 64, 12, 12 },
        { 12, 64, 32, 4, 4 } }, attn_bwd_flops, .inner = 10 },
    { OP(attn_decode), false, 3e-6, 0,
      { { 1, 1, 1, 1, 1, 0 }, { 2, 7, 5, 2, 2, 3 }, { 3, 129, 33, 4, 2, 128 },
        { 1, 65, 64, 6, 1, 0 } },
      { { 1, 1024, 64, 12, 12, 1023 } } },
    { OP(head), false, 1e-4, 0,
      { { 1, 1, 1, 1 }, { 7, 5, 33, 33 }, { 33, 40, 513, 500 },
        { 129, 65, 70, 65 }, { 3, 8, 9000, 8990 } },
      { { 256, 768, 50304, 50257 }, { 4096, 512, 4096, 4096 },
        { 768, 128, 128, 65 } }, head_flops,
      .range = 1, .inner = 8, .inner_cpu = 4 },
    { OP(sumsq), true, 1e-12, 0,
      { { 1, 1 }, { 7, 129 }, { 1, 65537 }, { 3, 70000 } },
      { { 16384, 768 } } },
    { STEP(adamw), false, 3e-7, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129, 1 }, { 7, 7, 2 }, { 7, 9, 3 } },
      { { 16384, 768, 1 } } },
    { STEP(lion), false, 3e-7, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129, 1 }, { 7, 7, 2 }, { 7, 9, 3 } },
      { { 16384, 768, 1 } } },
    { STEP(sgd), false, 3e-7, 0,
      { { 1, 1 }, { 7, 129 }, { 129, 129, 1 }, { 7, 7, 2 }, { 7, 9, 3 } },
      { { 16384, 768, 1 } } },
    { "muon", muon_args, step_prepare, muon_call, false, 5e-5, 0,
      { { 1, 1 }, { 7, 33 }, { 65, 40, 1 }, { 16, 16, 2 }, { 7, 9, 3 } },
      { { 768, 3072 }, { 768, 768 } } },
    { .name = NULL },
};
