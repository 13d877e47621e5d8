/*
 * kernels_ops - the operations as the tests know them: the arguments of each,
 * how it is called, and the shapes in which it is judged
 *
 * The letters of a shape are those of ops.h; numbers that are not sizes (a
 * kind, a number of heads) follow the sizes.  There are shapes of odd widths,
 * and of widths that are read 16 bytes at a time: a GPU has separate kernels
 * for those, and for more widths of norms.
 */
#include "config.h"
#include "t/unit/kernels.h"

/* clang-format off */

/* ---- embedding: N C V T, first position ---------------------------------- */

static void embed_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "tokens", IN, TOKENS, { s[0] }, s[2] };
    a[2] = (struct arg){ "wte", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "wpe", IN, NUMBERS, { s[3] + 3, s[1] }, 0, true };
}

static void embed_fwd_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    ops->embed_fwd(dev, a[0], a[1], a[2], a[3], s[3], s[4]);
}

const struct op_test embed_fwd_test = {
    OP(embed_fwd), true, 1e-7, 0,
    { { 1, 1, 1, 1, 2 }, { 14, 7, 5, 7, 2 }, { 129, 33, 50, 43, 2 },
      { 129, 64, 50, 43, 2 } },
    { { 1024, 768, 50304, 256, 2 } }
};

static void embed_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dwte", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[1] = (struct arg){ "dwpe", GRAD, FLOATS, { s[3] + 3, s[1] }, 0, true };
    a[2] = (struct arg){ "tokens", IN, TOKENS, { s[0] }, s[2] };
    a[3] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

static void embed_bwd_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    ops->embed_bwd(dev, a[0], a[1], a[2], a[3], s[3]);
}

const struct op_test embed_bwd_test = {
    OP(embed_bwd), true, 1e-6, 0,
    { { 1, 1, 1, 1 }, { 14, 7, 5, 7 }, { 258, 33, 50, 129 },
      { 258, 64, 50, 129 } },
    { { 1024, 768, 50304, 256 } },
    .forward = &embed_fwd_test,
    .grad = { { 6, 6, 5, 3 } }
};

/* ---- linear: N C M, act -------------------------------------------------- */

static void linear_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[2] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "b", IN, NUMBERS, { s[2] }, 0, true };
}

static void linear_fwd_call(const struct ops *ops, struct dev *dev,
                            struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->linear_fwd(dev, a[0], a[1], a[2], a[3]);
}

static double linear_fwd_flops(const int64_t *s)
{
    return 2.0 * (double)(s[0] * s[1] * s[2]);
}

const struct op_test linear_fwd_test = {
    OP(linear_fwd), true, 3e-6, 0,
    { { 1, 1, 1 }, { 1, 129, 33 }, { 7, 64, 32 }, { 33, 100, 65 },
      { 129, 31, 129 }, { 64, 800, 48 }, { 29, 7, 900 } },
    { { 1024, 768, 2304 }, { 1024, 3072, 768 }, { 256, 768, 3072 },
      { 4096, 512, 2048 }, { 256, 768, 50304 }, { 768, 128, 384 },
      { 768, 512, 128 }, { 1, 768, 3072 } }, linear_fwd_flops, .fp8 = 2
};

static void linear_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[2] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[5] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[2] } };
}

static void linear_bwd_call(const struct ops *ops, struct dev *dev,
                            struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->linear_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static double linear_bwd_flops(const int64_t *s)
{
    return 4.0 * (double)(s[0] * s[1] * s[2]);
}

const struct op_test linear_bwd_test = {
    OP(linear_bwd), true, 3e-6, 0,
    { { 1, 1, 1 }, { 1, 129, 33 }, { 7, 64, 32 }, { 33, 100, 65 },
      { 129, 31, 129 }, { 64, 48, 800 }, { 801, 7, 15 } },
    { { 1024, 768, 2304 }, { 1024, 3072, 768 }, { 256, 768, 3072 },
      { 4096, 512, 2048 }, { 256, 768, 50304 }, { 768, 128, 384 },
      { 768, 512, 128 } }, linear_bwd_flops, .fp8 = 4,
    .forward = &linear_fwd_test,
    .grad = { { 6, 6, 5 } }
};

static void linear_act_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[2] } };
    a[1] = (struct arg){ "pre", OUT, NUMBERS, { s[0], s[2] }, 0, true };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[2] }, 0, true };
}

static void linear_act_fwd_call(const struct ops *ops, struct dev *dev,
                                struct tensor **a, const int64_t *s)
{
    ops->linear_act_fwd(dev, a[0], a[1], a[2], a[3], a[4], (enum act)s[3]);
}

const struct op_test linear_act_fwd_test = {
    OP(linear_act_fwd), false, 3e-6, 0,
    { { 1, 1, 1, ACT_GELU }, { 7, 129, 33, ACT_GELU_TANH },
      { 33, 5, 400, ACT_RELU }, { 7, 7, 7, ACT_RELU2 },
      { 3, 9, 7, ACT_SILU }, { 2, 129, 65, ACT_GELU },
      { 7, 33, 40, ACT_GELU_TANH } },
    { { 1024, 768, 3072, ACT_GELU_TANH } }, linear_fwd_flops, .inner = 2,
    .fp8 = 3
};

static void act_linear_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dpre", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[2] }, 0, true };
    a[3] = (struct arg){ "pre", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[6] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[2] } };
}

static void act_linear_bwd_call(const struct ops *ops, struct dev *dev,
                                struct tensor **a, const int64_t *s)
{
    ops->act_linear_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                        (enum act)s[3]);
}

const struct op_test act_linear_bwd_test = {
    OP(act_linear_bwd), false, 3e-6, 0,
    { { 1, 1, 1, ACT_GELU }, { 7, 33, 129, ACT_GELU_TANH },
      { 33, 400, 5, ACT_GELU_TANH }, { 7, 7, 7, ACT_RELU2 },
      { 3, 7, 9, ACT_SILU }, { 129, 64, 17, ACT_GELU_TANH } },
    { { 1024, 3072, 768, ACT_GELU_TANH } }, linear_bwd_flops, .inner = 2,
    .inner_cpu = 1, .fp8 = 5
};

/* ---- normalisation: N C, kind -------------------------------------------- */

static void norm_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "stat", OUT, FLOATS, { s[0], 2 } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[1] }, 0, true };
}

static void norm_fwd_call(const struct ops *ops, struct dev *dev,
                          struct tensor **a, const int64_t *s)
{
    ops->norm_fwd(dev, NULL, a[0], a[1], a[2], NULL, a[3], a[4],
                  (enum norm)s[2], 1e-5f);
}

const struct op_test norm_fwd_test = {
    OP(norm_fwd), false, 3e-6, 2,
    { { 1, 2, NORM_LAYER }, { 7, 129, NORM_LAYER }, { 129, 64, NORM_LAYER },
      { 1, 1, NORM_RMS }, { 7, 129, NORM_RMS },
      { 5, 768, NORM_LAYER }, { 5, 1000, NORM_RMS },
      { 3, 1600, NORM_LAYER }, { 3, 2056, NORM_LAYER } },
    { { 1024, 768, NORM_LAYER } }
};

static void norm_bwd_args(struct arg *a, const int64_t *s)
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

static void norm_bwd_prepare(struct tensor **a, const int64_t *s)
{
    ref_norm_fwd(NULL, NULL, a[7], a[5], a[3], NULL, NULL, NULL,
                 (enum norm)s[2], 1e-5f);
}

static void norm_bwd_call(const struct ops *ops, struct dev *dev,
                          struct tensor **a, const int64_t *s)
{
    ops->norm_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                  (enum norm)s[2]);
}

const struct op_test norm_bwd_test = {
    OP_PREPARED(norm_bwd), false, 3e-6, 0,
    { { 1, 3, NORM_LAYER }, { 7, 129, NORM_LAYER }, { 700, 64, NORM_LAYER },
      { 1, 2, NORM_RMS }, { 7, 129, NORM_RMS },
      { 9, 768, NORM_LAYER }, { 9, 1000, NORM_RMS },
      { 5, 1600, NORM_LAYER }, { 3, 2056, NORM_RMS } },
    { { 1024, 768, NORM_LAYER } },
    .forward = &norm_fwd_test,
    .grad = { { 6, 6, NORM_LAYER }, { 6, 6, NORM_RMS } }
};

static void add_norm_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "sum", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "stat", OUT, FLOATS, { s[0], 2 } };
    a[3] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[6] = (struct arg){ "bias", IN, NUMBERS, { s[1] }, 0, true };
}

static void add_norm_fwd_call(const struct ops *ops, struct dev *dev,
                              struct tensor **a, const int64_t *s)
{
    ops->norm_fwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                  (enum norm)s[2], 1e-5f);
}

static const struct op_test add_norm_fwd_test = {
    OP(add_norm_fwd), false, 3e-6, 3,
    { { 1, 3, NORM_LAYER }, { 7, 129, NORM_LAYER }, { 129, 64, NORM_RMS },
      { 5, 768, NORM_LAYER } },
    { { 1024, 768, NORM_LAYER } }
};

/* N D H K */
static void qknorm_fwd_args(struct arg *a, const int64_t *s)
{
    const int64_t width = (s[2] + 2 * s[3]) * s[1];

    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], width } };
    a[1] = (struct arg){ "stat", OUT, FLOATS, { s[0], s[2] + s[3] } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], width } };
    a[3] = (struct arg){ "wq", IN, NUMBERS, { s[1] } };
    a[4] = (struct arg){ "wk", IN, NUMBERS, { s[1] } };
}

static void qknorm_fwd_call(const struct ops *ops, struct dev *dev,
                            struct tensor **a, const int64_t *s)
{
    ops->qknorm_fwd(dev, a[0], a[1], a[2], a[3], a[4], (int)s[2], (int)s[3],
                    1e-5f);
}

const struct op_test qknorm_fwd_test = {
    OP(qknorm_fwd), false, 3e-6, 2,
    { { 1, 1, 1, 1 }, { 7, 33, 4, 2 }, { 129, 16, 3, 3 } },
    { { 1024, 64, 12, 12 } }
};

static void qknorm_bwd_args(struct arg *a, const int64_t *s)
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

static void qknorm_bwd_prepare(struct tensor **a, const int64_t *s)
{
    ref_qknorm_fwd(NULL, a[8], a[6], a[3], a[4], a[5], (int)s[2], (int)s[3],
                   1e-5f);
}

static void qknorm_bwd_call(const struct ops *ops, struct dev *dev,
                            struct tensor **a, const int64_t *s)
{
    ops->qknorm_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                    (int)s[2], (int)s[3]);
}

const struct op_test qknorm_bwd_test = {
    OP_PREPARED(qknorm_bwd), false, 3e-6, 0,
    { { 1, 2, 1, 1 }, { 7, 33, 4, 2 }, { 129, 16, 3, 3 } },
    { { 1024, 64, 12, 12 } },
    .forward = &qknorm_fwd_test,
    .grad = { { 6, 4, 2, 1 } }
};

/* ---- pointwise: N F, kind ------------------------------------------------ */

static void act_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}

static void act_fwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    ops->act_fwd(dev, a[0], a[1], (enum act)s[2]);
}

const struct op_test act_fwd_test = {
    OP(act_fwd), false, 5e-7, 1,
    { { 1, 1, ACT_GELU }, { 7, 129, ACT_GELU }, { 129, 129, ACT_GELU_TANH },
      { 7, 129, ACT_RELU }, { 7, 129, ACT_RELU2 }, { 7, 129, ACT_SILU },
      { 65, 64, ACT_SILU } },
    { { 1024, 3072, ACT_GELU_TANH }, { 1024, 3072, ACT_GELU },
      { 1024, 3072, ACT_SILU } }
};

static void act_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

static void act_bwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    ops->act_bwd(dev, a[0], a[1], a[2], (enum act)s[2]);
}

const struct op_test act_bwd_test = {
    OP(act_bwd), false, 8e-7, 2,
    { { 1, 1, ACT_GELU }, { 7, 129, ACT_GELU }, { 129, 129, ACT_GELU_TANH },
      { 7, 129, ACT_RELU }, { 7, 129, ACT_RELU2 }, { 7, 129, ACT_SILU },
      { 65, 64, ACT_GELU_TANH } },
    { { 1024, 3072, ACT_GELU_TANH }, { 1024, 3072, ACT_GELU } },
    .forward = &act_fwd_test,
    .grad = { { 20, 30, ACT_GELU }, { 20, 30, ACT_GELU_TANH },
              { 20, 30, ACT_RELU }, { 20, 30, ACT_RELU2 },
              { 20, 30, ACT_SILU } }
};

static void glu_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], 2 * s[1] } };
}

static void glu_fwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    ops->act_fwd(dev, a[0], a[1], (enum act)s[2]);
}

static const struct op_test glu_fwd_test = {
    OP(glu_fwd), false, 5e-7, 0,
    { { 1, 1, ACT_SILU }, { 7, 129, ACT_GELU }, { 65, 130, ACT_GELU_TANH },
      { 65, 64, ACT_SILU } },
    { { 1024, 2048, ACT_SILU } }
};

static void glu_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], 2 * s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], 2 * s[1] } };
    a[2] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

static void glu_bwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    ops->act_bwd(dev, a[0], a[1], a[2], (enum act)s[2]);
}

static const struct op_test glu_bwd_test = {
    OP(glu_bwd), false, 8e-7, 0,
    { { 1, 1, ACT_SILU }, { 7, 129, ACT_GELU }, { 65, 130, ACT_GELU_TANH },
      { 65, 64, ACT_SILU } },
    { { 1024, 2048, ACT_SILU } },
    .forward = &glu_fwd_test,
    .grad = { { 6, 20, ACT_GELU }, { 6, 20, ACT_GELU_TANH },
              { 6, 20, ACT_RELU }, { 6, 20, ACT_RELU2 }, { 6, 20, ACT_SILU } }
};

static void add_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
}

static void add_fwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->add_fwd(dev, a[0], a[1], a[2]);
}

const struct op_test add_fwd_test = {
    OP(add_fwd), true, 1e-7, 1,
    { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } }
};

static void mix_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "wa", IN, NUMBERS, { 1 } };
    a[4] = (struct arg){ "wb", IN, NUMBERS, { 1 } };
}

static void mix_fwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->mix_fwd(dev, a[0], a[1], a[2], a[3], a[4]);
}

const struct op_test mix_fwd_test = {
    OP(mix_fwd), true, 3e-7, 0,
    { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } }
};

static void mix_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "da", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[1] = (struct arg){ "db", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[2] = (struct arg){ "dwa", GRAD, FLOATS, { 1 }, 0, true };
    a[3] = (struct arg){ "dwb", GRAD, FLOATS, { 1 }, 0, true };
    a[4] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
    a[6] = (struct arg){ "wa", IN, NUMBERS, { 1 } };
    a[7] = (struct arg){ "wb", IN, NUMBERS, { 1 } };
    a[8] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

static void mix_bwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->mix_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

/* The terms of the gradients of the weights cancel in a long sum. */
const struct op_test mix_bwd_test = {
    OP(mix_bwd), true, 1e-4, 0,
    { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } },
    .forward = &mix_fwd_test,
    .grad = { { 6, 6 } }
};

/* ---- value embeddings: N C G K D H --------------------------------------- */

static void value_fwd_args(struct arg *a, const int64_t *s)
{
    const int64_t width = (s[5] + 2 * s[3]) * s[4];

    a[0] = (struct arg){ "qkv", STATE, NUMBERS, { s[0], width } };
    a[1] = (struct arg){ "gate", OUT, FLOATS, { s[0], s[3] } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[3], s[2] } };
    a[4] = (struct arg){ "e", IN, NUMBERS, { s[0], s[3] * s[4] } };
}

static void value_fwd_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->value_fwd(dev, a[0], a[1], a[2], a[3], a[4]);
}

const struct op_test value_fwd_test = {
    OP(value_fwd), false, 2e-5, 0,
    { { 1, 1, 1, 1, 1, 1 }, { 7, 33, 32, 2, 8, 4 }, { 129, 40, 7, 3, 5, 3 },
      { 5, 64, 64, 1, 129, 2 } },
    { { 1024, 768, 32, 12, 64, 12 } }, .range = 1
};

static void value_bwd_args(struct arg *a, const int64_t *s)
{
    const int64_t width = (s[5] + 2 * s[3]) * s[4];

    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[3], s[2] }, 0, true };
    a[2] = (struct arg){ "de", GRAD, NUMBERS, { s[0], s[3] * s[4] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[3], s[2] } };
    a[5] = (struct arg){ "e", IN, NUMBERS, { s[0], s[3] * s[4] } };
    a[6] = (struct arg){ "gate", IN, FLOATS, { s[0], s[3] } };
    a[7] = (struct arg){ "dqkv", IN, NUMBERS, { s[0], width } };
    a[8] = (struct arg){ "qkv", IN, NUMBERS, { s[0], width } };
}

static void value_bwd_prepare(struct tensor **a, const int64_t *s)
{
    (void)s;
    ref_value_fwd(NULL, a[8], a[6], a[3], a[4], a[5]);
}

static void value_bwd_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->value_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

const struct op_test value_bwd_test = {
    OP_PREPARED(value_bwd), false, 2e-5, 0,
    { { 1, 1, 1, 1, 1, 1 }, { 7, 33, 32, 2, 8, 4 }, { 129, 40, 7, 3, 5, 3 },
      { 5, 64, 64, 1, 129, 2 } },
    { { 1024, 768, 32, 12, 64, 12 } }, .range = 1
};

/* ---- pointwise, again ---------------------------------------------------- */

/* s[2]: whether y (1) or x (2) is F32, whatever the other is */
static void accum_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", GRAD, s[2] == 1 ? FLOATS : NUMBERS,
                         { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, s[2] == 2 ? FLOATS : NUMBERS,
                         { s[0], s[1] } };
}

static void accum_call(const struct ops *ops, struct dev *dev,
                       struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->accum(dev, a[0], a[1]);
}

const struct op_test accum_test = {
    OP(accum), true, 1e-7, 0,
    { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 7, 129, 1 }, { 65, 64 },
      { 1, 1, 2 }, { 7, 129, 2 }, { 65, 64, 1 }, { 65, 64, 2 } },
    { { 1024, 768 }, { 1024, 768, 2 } }
};

/* the random words start at s[2]; always to bf16, whatever the model's type */
static void cast_random_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, HALVES, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, FLOATS, { s[0], s[1] } };
}

static void cast_random_call(const struct ops *ops, struct dev *dev,
                             struct tensor **a, const int64_t *s)
{
    ops->cast_random(dev, a[0], a[1], 7, 11, (uint64_t)s[2]);
}

const struct op_test cast_random_test = {
    OP(cast_random), true, 0, 0,
    { { 1, 1, 0 }, { 7, 129, 0 }, { 129, 129, 3 }, { 65, 64, 8 } },
    { { 1024, 768, 0 } }, .range = 1e6
};

static const struct dropout drop = { 0.25f, 7, 11, 5 };

static void dropout_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}

static void dropout_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->dropout(dev, a[0], a[1], &drop);
}

const struct op_test dropout_test = {
    OP(dropout), false, 2e-7, 1,
    { { 1, 1 }, { 7, 129 }, { 129, 129 }, { 65, 64 } }, { { 1024, 768 } }
};

#define TEST(op) &op##_test,
/* Some operations are one with or without an argument. */
const struct op_test *const op_tests[] = {
    OPS(TEST) &add_norm_fwd_test, &glu_fwd_test, &glu_bwd_test, NULL
};
