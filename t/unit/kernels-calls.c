/*
 * kernels-calls - the arguments of each operation, and how it is called
 *
 * The letters of a shape are those of ops.h; numbers that are not sizes (a
 * kind, a number of heads) follow the sizes.
 */
#include "config.h"
#include "t/unit/kernels.h"

/* clang-format off */

/* ---- embedding: N C V T -------------------------------------------------- */

void embed_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "tokens", IN, TOKENS, { s[0] }, s[2] };
    a[2] = (struct arg){ "wte", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "wpe", IN, NUMBERS, { s[3] + 3, s[1] }, 0, true };
}

void embed_fwd_call(const struct ops *ops, struct dev *dev,
                    struct tensor **a, const int64_t *s)
{
    ops->embed_fwd(dev, a[0], a[1], a[2], a[3], s[3], 2);
}

void embed_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dwte", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[1] = (struct arg){ "dwpe", GRAD, FLOATS, { s[3] + 3, s[1] }, 0, true };
    a[2] = (struct arg){ "tokens", IN, TOKENS, { s[0] }, s[2] };
    a[3] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

void embed_bwd_call(const struct ops *ops, struct dev *dev,
                    struct tensor **a, const int64_t *s)
{
    ops->embed_bwd(dev, a[0], a[1], a[2], a[3], s[3]);
}

/* ---- linear: N C M, act -------------------------------------------------- */

void linear_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[2] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "b", IN, NUMBERS, { s[2] }, 0, true };
}

void linear_fwd_call(const struct ops *ops, struct dev *dev,
                     struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->linear_fwd(dev, a[0], a[1], a[2], a[3]);
}

double linear_fwd_flops(const int64_t *s)
{
    return 2.0 * (double)(s[0] * s[1] * s[2]);
}

void linear_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[2] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[5] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[2] } };
}

void linear_bwd_call(const struct ops *ops, struct dev *dev,
                     struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->linear_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5]);
}

double linear_bwd_flops(const int64_t *s)
{
    return 4.0 * (double)(s[0] * s[1] * s[2]);
}

void linear_act_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[2] } };
    a[1] = (struct arg){ "pre", OUT, NUMBERS, { s[0], s[2] }, 0, true };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[2] }, 0, true };
}

void linear_act_fwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    ops->linear_act_fwd(dev, a[0], a[1], a[2], a[3], a[4], (enum act)s[3]);
}

void act_linear_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dpre", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[2] = (struct arg){ "db", GRAD, FLOATS, { s[2] }, 0, true };
    a[3] = (struct arg){ "pre", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[6] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[2] } };
}

void act_linear_bwd_call(const struct ops *ops, struct dev *dev,
                         struct tensor **a, const int64_t *s)
{
    ops->act_linear_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                        (enum act)s[3]);
}

/* ---- normalisation: N C, kind -------------------------------------------- */

void norm_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "stat", OUT, FLOATS, { s[0], 2 } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[1] }, 0, true };
}

void norm_fwd_call(const struct ops *ops, struct dev *dev,
                   struct tensor **a, const int64_t *s)
{
    ops->norm_fwd(dev, a[0], a[1], a[2], a[3], a[4], (enum norm)s[2], 1e-5f);
}

void norm_bwd_args(struct arg *a, const int64_t *s)
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

void norm_bwd_prepare(struct tensor **a, const int64_t *s)
{
    ref_norm_fwd(NULL, a[7], a[5], a[3], NULL, NULL, (enum norm)s[2], 1e-5f);
}

void norm_bwd_call(const struct ops *ops, struct dev *dev,
                   struct tensor **a, const int64_t *s)
{
    ops->norm_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                  (enum norm)s[2]);
}

void add_norm_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "sum", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "stat", OUT, FLOATS, { s[0], 2 } };
    a[3] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
    a[5] = (struct arg){ "w", IN, NUMBERS, { s[1] }, 0, true };
    a[6] = (struct arg){ "bias", IN, NUMBERS, { s[1] }, 0, true };
}

void add_norm_fwd_call(const struct ops *ops, struct dev *dev,
                       struct tensor **a, const int64_t *s)
{
    ops->add_norm_fwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                      (enum norm)s[2], 1e-5f);
}

/* N D H K */
void qknorm_fwd_args(struct arg *a, const int64_t *s)
{
    const int64_t width = (s[2] + 2 * s[3]) * s[1];

    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], width } };
    a[1] = (struct arg){ "stat", OUT, FLOATS, { s[0], s[2] + s[3] } };
    a[2] = (struct arg){ "x", IN, NUMBERS, { s[0], width } };
    a[3] = (struct arg){ "wq", IN, NUMBERS, { s[1] } };
    a[4] = (struct arg){ "wk", IN, NUMBERS, { s[1] } };
}

void qknorm_fwd_call(const struct ops *ops, struct dev *dev,
                     struct tensor **a, const int64_t *s)
{
    ops->qknorm_fwd(dev, a[0], a[1], a[2], a[3], a[4], (int)s[2], (int)s[3],
                    1e-5f);
}

void qknorm_bwd_args(struct arg *a, const int64_t *s)
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

void qknorm_bwd_prepare(struct tensor **a, const int64_t *s)
{
    ref_qknorm_fwd(NULL, a[8], a[6], a[3], a[4], a[5], (int)s[2], (int)s[3],
                   1e-5f);
}

void qknorm_bwd_call(const struct ops *ops, struct dev *dev,
                     struct tensor **a, const int64_t *s)
{
    ops->qknorm_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                    (int)s[2], (int)s[3]);
}

/* ---- pointwise: N F, kind ------------------------------------------------ */

void act_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}

void act_fwd_call(const struct ops *ops, struct dev *dev,
                  struct tensor **a, const int64_t *s)
{
    ops->act_fwd(dev, a[0], a[1], (enum act)s[2]);
}

void act_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

void act_bwd_call(const struct ops *ops, struct dev *dev,
                  struct tensor **a, const int64_t *s)
{
    ops->act_bwd(dev, a[0], a[1], a[2], (enum act)s[2]);
}

void glu_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], 2 * s[1] } };
}

void glu_fwd_call(const struct ops *ops, struct dev *dev,
                  struct tensor **a, const int64_t *s)
{
    ops->glu_fwd(dev, a[0], a[1], (enum act)s[2]);
}

void glu_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], 2 * s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], 2 * s[1] } };
    a[2] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

void glu_bwd_call(const struct ops *ops, struct dev *dev,
                  struct tensor **a, const int64_t *s)
{
    ops->glu_bwd(dev, a[0], a[1], a[2], (enum act)s[2]);
}

void add_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "a", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "b", IN, NUMBERS, { s[0], s[1] } };
}

void add_fwd_call(const struct ops *ops, struct dev *dev,
                  struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->add_fwd(dev, a[0], a[1], a[2]);
}

void accum_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", GRAD, s[2] ? FLOATS : NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}

void accum_call(const struct ops *ops, struct dev *dev,
                struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->accum(dev, a[0], a[1]);
}

void scale_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", STATE, NUMBERS, { s[0], s[1] } };
}

void scale_call(const struct ops *ops, struct dev *dev,
                struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->scale(dev, a[0], 0.5f);
}

void fill_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
}

void fill_call(const struct ops *ops, struct dev *dev,
               struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->fill(dev, a[0], 0.75f);
}

void cast_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, s[2] ? FLOATS : NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, s[2] ? NUMBERS : FLOATS, { s[0], s[1] } };
}

void cast_call(const struct ops *ops, struct dev *dev,
               struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->cast(dev, a[0], a[1]);
}

/* the random words start at s[2]; always to bf16, whatever the model's type */
void cast_random_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, HALVES, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, FLOATS, { s[0], s[1] } };
}

void cast_random_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    ops->cast_random(dev, a[0], a[1], 7, 11, (uint64_t)s[2]);
}

static const struct dropout drop = { 0.25f, 7, 11, 5 };

void dropout_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}

void dropout_fwd_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->dropout_fwd(dev, a[0], a[1], &drop);
}

void dropout_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

void dropout_bwd_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->dropout_bwd(dev, a[0], a[1], &drop);
}
