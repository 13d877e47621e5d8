/*
 * kernels_ops_attn - the same for attention, the head and the optimisers
 */
#include "config.h"
#include "kernels/ref.h"
#include "t/unit/kernels.h"

/* clang-format off */

/* ---- attention: B T D H K, dropout in percent, window, tokens a document - */

static struct attn attn(const int64_t *s)
{
    return (struct attn){
        .H = (int)s[3], .K = (int)s[4], .D = (int)s[2], .T = s[1],
        .scale = 0.2f, .drop = { (float)s[5] * 0.01f, 3, 9, 6 }, .window = s[6],
    };
}

static int64_t qkv_width(const int64_t *s)
{
    return (s[3] + 2 * s[4]) * s[2];
}

static void rope_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "qkv", STATE, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}

static void rope_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    static const struct rope angles[] = {
        { .theta = 10000, .length = 1 },
        { .theta = 10000, .scaling = ROPE_LLAMA3, .factor = 8, .from = 100,
          .to = 20, .length = 1 },
        { .theta = 10000, .scaling = ROPE_YARN, .factor = 4, .from = 1, .to = 4,
          .length = 1.139 },
    };

    ops->rope(dev, a[0], (int)s[3], (int)s[4], s[1], 3, &angles[s[6]],
              s[5] != 0);
}

const struct op_test rope_test = {
    OP(rope), false, 1e-6, 0,
    { { 1, 1, 2, 1, 1, 0 }, { 2, 7, 10, 4, 2, 0 }, { 1, 129, 64, 3, 3, 1 },
      { 1, 129, 16, 2, 1, 0, 1 }, { 1, 129, 16, 2, 1, 1, 2 } },
    { { 1, 1024, 64, 12, 12, 0 } }
};

/* Each sequence has documents of another length; some tiles see one alone. */
static void set_begins(struct attn *at, struct tensor *begins,
                       const int64_t *s)
{
    at->begins = s[7] ? begins->data : NULL;
}

static void make_begins(struct tensor *begins, const int64_t *s)
{
    for (int64_t i = 0; i < s[0] * s[1]; i++) {
        const int64_t length = s[7] + i / s[1], t = i % s[1];

        ((int32_t *)begins->data)[i] = s[7] ? (int32_t)(t - t % length) : 0;
    }
}

static void attn_fwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[1] = (struct arg){ "lse", OUT, FLOATS, { s[0] * s[3], s[1] } };
    a[2] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[3] = (struct arg){ "begins", IN, TARGETS, { s[0] * s[1] }, 1 };
}

static void attn_fwd_prepare(struct tensor **a, const int64_t *s)
{
    make_begins(a[3], s);
}

static void attn_fwd_call(const struct ops *ops, struct dev *dev,
                          struct tensor **a, const int64_t *s)
{
    struct attn at = attn(s);

    set_begins(&at, a[3], s);
    ops->attn_fwd(dev, a[0], a[1], a[2], &at);
}

static double attn_fwd_flops(const int64_t *s)
{
    return 2.0 * (double)(s[0] * s[1] * s[1] * s[2] * s[3]);
}

const struct op_test attn_fwd_test = {
    OP_PREPARED(attn_fwd), false, 3e-5, 0,
    { { 1, 1, 1, 1, 1 }, { 2, 7, 5, 2, 2 }, { 1, 129, 16, 3, 1 },
      { 3, 65, 33, 4, 2 }, { 1, 40, 64, 2, 2, 25 }, { 2, 33, 8, 2, 1, 50 },
      { 1, 70, 64, 2, 2 }, { 1, 33, 96, 1, 1, 30 }, { 1, 66, 128, 2, 1 },
      { 1, 35, 136, 2, 1 }, { 2, 7, 5, 2, 2, 0, 3 }, { 1, 33, 8, 2, 1, 0, 1 },
      { 1, 200, 64, 2, 1, 0, 50 }, { 1, 150, 36, 2, 1, 20, 66 },
      { 1, 130, 96, 1, 1, 0, 64 }, { 1, 40, 16, 2, 2, 0, 40 },
      { 2, 7, 5, 2, 2, 0, 0, 3 }, { 3, 150, 64, 2, 1, 0, 0, 70 },
      { 1, 200, 36, 2, 1, 20, 66, 90 }, { 1, 129, 16, 2, 2, 0, 0, 1 },
      { 2, 40, 8, 1, 1, 0, 0, 40 } },
    { { 4, 64, 64, 12, 12 }, { 4, 256, 64, 12, 12 }, { 4, 1024, 64, 12, 12 },
      { 12, 64, 32, 4, 4 }, { 4, 1024, 64, 12, 12, 0, 256 } },
    attn_fwd_flops, .inner = 2
};

static void attn_bwd_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dqkv", GRAD, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[1] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
    a[2] = (struct arg){ "y", IN, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[3] = (struct arg){ "lse", IN, FLOATS, { s[0] * s[3], s[1] } };
    a[4] = (struct arg){ "dy", IN, NUMBERS, { s[0] * s[1], s[3] * s[2] } };
    a[5] = (struct arg){ "begins", IN, TARGETS, { s[0] * s[1] }, 1 };
}

static void attn_bwd_prepare(struct tensor **a, const int64_t *s)
{
    struct attn at = attn(s);

    make_begins(a[5], s);
    set_begins(&at, a[5], s);
    ref_attn_fwd(NULL, a[2], a[3], a[1], &at);
}

static void attn_bwd_call(const struct ops *ops, struct dev *dev,
                          struct tensor **a, const int64_t *s)
{
    struct attn at = attn(s);

    set_begins(&at, a[5], s);
    ops->attn_bwd(dev, a[0], a[1], a[2], a[3], a[4], &at);
}

static double attn_bwd_flops(const int64_t *s)
{
    return 2.5 * attn_fwd_flops(s);
}

const struct op_test attn_bwd_test = {
    OP_PREPARED(attn_bwd), false, 2e-4, 0,
    { { 1, 1, 1, 1, 1 }, { 2, 7, 5, 2, 2 }, { 1, 129, 16, 3, 1 },
      { 3, 65, 33, 4, 2 }, { 1, 40, 64, 2, 2, 25 }, { 2, 33, 8, 2, 1, 50 },
      { 1, 70, 64, 2, 2 }, { 1, 33, 96, 1, 1, 30 }, { 1, 66, 128, 2, 1 },
      { 1, 35, 136, 2, 1 }, { 2, 7, 5, 2, 2, 0, 3 }, { 1, 33, 8, 2, 1, 0, 1 },
      { 1, 200, 64, 2, 1, 0, 50 }, { 1, 150, 36, 2, 1, 20, 66 },
      { 1, 130, 96, 1, 1, 0, 64 }, { 1, 40, 16, 2, 2, 0, 40 },
      { 2, 7, 5, 2, 2, 0, 0, 3 }, { 3, 150, 64, 2, 1, 0, 0, 70 },
      { 1, 200, 36, 2, 1, 20, 66, 90 }, { 1, 129, 16, 2, 2, 0, 0, 1 },
      { 2, 40, 8, 1, 1, 0, 0, 40 } },
    { { 4, 64, 64, 12, 12 }, { 4, 256, 64, 12, 12 }, { 2, 1024, 64, 12, 12 },
      { 12, 64, 32, 4, 4 }, { 2, 1024, 64, 12, 12, 0, 256 } },
    attn_bwd_flops, .inner = 10,
    .forward = &attn_fwd_test,
    .grad = { { 2, 3, 4, 2, 1 }, { 2, 3, 4, 2, 1, 30 },
              { 1, 5, 4, 2, 1, 0, 2 }, { 2, 5, 4, 2, 1, 0, 0, 2 } }
};

/* here T is the size of the cache, s[5] the new position, or the first of s[7]
 */
static void attn_decode_args(struct arg *a, const int64_t *s)
{
    const int64_t N = s[0] * (s[7] ? s[7] : 1);

    a[0] = (struct arg){ "y", OUT, NUMBERS, { N, s[3] * s[2] } };
    a[1] = (struct arg){ "keys", STATE, NUMBERS, { s[0], s[1], s[4], s[2] } };
    a[2] = (struct arg){ "values", STATE, NUMBERS, { s[0], s[1], s[4], s[2] } };
    a[3] = (struct arg){ "qkv", IN, NUMBERS, { N, qkv_width(s) } };
}

static void attn_decode_call(const struct ops *ops, struct dev *dev,
                             struct tensor **a, const int64_t *s)
{
    struct attn at = attn(s);

    at.drop.p = 0.0f;
    ops->attn_decode(dev, a[0], a[1], a[2], a[3], s[5], &at);
}

const struct op_test attn_decode_test = {
    OP(attn_decode), false, 3e-6, 0,
    { { 1, 1, 1, 1, 1, 0 }, { 2, 7, 5, 2, 2, 3 }, { 3, 129, 33, 4, 2, 128 },
      { 1, 65, 64, 6, 1, 0 }, { 2, 7, 5, 2, 2, 7 },
      { 1, 33, 16, 4, 2, 100 }, { 2, 200, 33, 4, 2, 150, 20 },
      { 1, 130, 16, 4, 2, 300, 70 }, { 1, 7, 64, 2, 2, 2, 5 },
      { 2, 9, 5, 4, 2, 0, 0, 9 }, { 3, 130, 16, 4, 2, 60, 0, 70 },
      { 1, 100, 33, 2, 1, 63, 20, 7 } },
    { { 1, 1024, 64, 12, 12, 1023 } },
    .cpu_from = 9
};

/* here s[5] is the size of the cache */
static void attn_store_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "keys", STATE, NUMBERS, { s[0], s[5], s[4], s[2] } };
    a[1] = (struct arg){ "values", STATE, NUMBERS, { s[0], s[5], s[4], s[2] } };
    a[2] = (struct arg){ "qkv", IN, NUMBERS, { s[0] * s[1], qkv_width(s) } };
}

static void attn_store_call(const struct ops *ops, struct dev *dev,
                            struct tensor **a, const int64_t *s)
{
    const struct attn at = attn(s);

    ops->attn_store(dev, a[0], a[1], a[2], &at);
}

const struct op_test attn_store_test = {
    OP(attn_store), false, 0, 0,
    { { 1, 1, 1, 1, 1, 1 }, { 2, 7, 5, 2, 2, 9 }, { 3, 129, 33, 4, 2, 129 },
      { 1, 65, 64, 6, 1, 70 } }, { { 1, 1024, 64, 12, 12, 1024 } }
};

/* ---- the head: N C V, vocab, first rows without a target, twice the cap, ids
 * of a teacher ------------------------------------------------------------- */

static void head_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "loss", OUT, FLOATS, { s[0] } };
    a[1] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] }, 0, true };
    a[2] = (struct arg){ "dw", GRAD, FLOATS, { s[2], s[1] }, 0, true };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[5] = (struct arg){ "target", IN, TARGETS, { s[0] }, s[3] };
    if (s[6])
        a[6] = (struct arg){ "teacher", IN, TOKENS, { s[0], 1 + s[6] }, s[3] };
}

static void head_prepare(struct tensor **a, const int64_t *s)
{
    for (int64_t i = 0; i < s[4]; i++)
        ((int32_t *)a[5]->data)[i] = -1;
    for (int64_t i = 0; s[6] && i < s[0] * (1 + s[6]); i++) {
        const int64_t n = i / (1 + s[6]), k = i % (1 + s[6]);

        /* different ids, and nothing is said of the first row */
        ((int32_t *)a[6]->data)[i] =
            k == 0 ? -(n == 0)
                   : (int32_t)((n + 3 * k) % s[3] + (i * 37 % 8000 << 18));
    }
}

static void head_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    const struct head_teacher teacher = { a[6], 0.75 };

    ops->head(dev, a[0], a[1], a[2], a[3], a[4], a[5], s[6] ? &teacher : NULL,
              s[3], (float)s[5] * 0.5f, 0.125f);
}

static double head_flops(const int64_t *s)
{
    return 6.0 * (double)((s[0] - s[4]) * s[1] * s[3]);
}

const struct op_test head_test = {
    OP_PREPARED(head), false, 1e-4, 0,
    { { 1, 1, 1, 1 }, { 7, 5, 33, 33 }, { 33, 40, 513, 500 },
      { 129, 65, 70, 65 }, { 3, 8, 9000, 8990 }, { 7, 5, 33, 33, 7 },
      { 2, 40, 70, 65, 1 }, { 33, 40, 513, 500, 0, 3 },
      { 7, 5, 9000, 8990, 2, 1 }, { 7, 5, 33, 32, 1, 0, 1 },
      { 33, 40, 513, 500, 2, 3, 64 }, { 5, 8, 9000, 8990, 0, 0, 512 },
      { 3000, 3, 7, 5, 500 }, { 4090, 8, 1500, 1500, 1990 } },
    { { 256, 768, 50304, 50257 }, { 4096, 512, 4096, 4096 },
      { 768, 128, 128, 65 }, { 256, 768, 50304, 50257, 192 } }, head_flops,
    .range = 1, .cpu_from = 12, /* more rows than HEAD_CPU_MOST */
    .inner = 8, .inner_cpu = 4, .fp8 = 4, .inner_fp8 = 1
};

/* ---- the optimiser: n C, variant ----------------------------------------- */

static void sumsq_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "out", GRAD, DOUBLE, { 1 } };
    a[1] = (struct arg){ "g", IN, FLOATS, { s[0], s[1] } };
}

static void sumsq_call(const struct ops *ops, struct dev *dev,
                       struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->sumsq(dev, a[0], a[1]);
}

const struct op_test sumsq_test = {
    OP(sumsq), true, 1e-12, 0,
    { { 1, 1 }, { 7, 129 }, { 1, 65537 }, { 3, 70000 } },
    { { 16384, 768 } }
};

static void sum_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "out", GRAD, DOUBLE, { 1 } };
    a[1] = (struct arg){ "x", IN, FLOATS, { s[0], s[1] } };
}

static void sum_call(const struct ops *ops, struct dev *dev, struct tensor **a,
              const int64_t *s)
{
    (void)s;
    ops->sum(dev, a[0], a[1]);
}

const struct op_test sum_test = {
    OP(sum), true, 1e-12, 0, { { 1, 1 }, { 7, 129 }, { 3, 70000 } },
    { { 64, 1024 } }
};

/* Variants: plain, clipped, l2 + nesterov, norm or loss not finite.  The loss
 * is the second element of the sums. */
static struct update settings_of(const int64_t *s, const struct tensor *sums,
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

static void step_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "w", STATE, FLOATS, { s[0], s[1] } };
    a[1] = (struct arg){ "m", STATE, FLOATS, { s[0], s[1] } };
    a[2] = (struct arg){ "copy", OUT, NUMBERS, { s[0], s[1] }, 0, true };
    a[3] = (struct arg){ "g", IN, FLOATS, { s[0], s[1] } };
    a[4] = (struct arg){ "sums", IN, DOUBLE, { 2 }, 0, true };
    a[5] = (struct arg){ "v", STATE, POSITIVE, { s[0], s[1] } };
}

static void step_prepare(struct tensor **a, const int64_t *s)
{
    if (a[4]) {
        double *sums = a[4]->data;

        sums[0] = s[2] == 3 ? 1e308 * 10.0 : 9.0;
        sums[1] = s[2] == 4 ? -1e308 * 10.0 : 2.5;
    }
    if (s[2] >= 3 && a[2])      /* nothing changes, so nothing is written */
        for (int64_t i = 0; i < tensor_count(a[2]); i++)
            ref_set(a[2], i, 1.0);
}

/* s[3] is the rule. */
static void update_call(const struct ops *ops, struct dev *dev,
                        struct tensor **a, const int64_t *s)
{
    struct tensor loss;
    struct update u = settings_of(s, a[4], &loss);

    u.rule = (enum update_rule)s[3];
    ops->update(dev, a[0], a[1], u.rule == UPDATE_ADAMW ? a[5] : NULL, a[2],
                a[3], &u);
}

const struct op_test update_test = {
    STEP(update), false, 3e-7, 0,
    { { 1, 1 }, { 7, 129 }, { 129, 129, 1 }, { 7, 7, 2 }, { 7, 9, 3 },
      { 7, 9, 4 },
      { 1, 1, 0, UPDATE_LION }, { 7, 129, 0, UPDATE_LION },
      { 129, 129, 1, UPDATE_LION }, { 7, 7, 2, UPDATE_LION },
      { 7, 9, 3, UPDATE_LION }, { 7, 9, 4, UPDATE_LION },
      { 1, 1, 0, UPDATE_SGD }, { 7, 129, 0, UPDATE_SGD },
      { 129, 129, 1, UPDATE_SGD }, { 7, 7, 2, UPDATE_SGD },
      { 7, 9, 3, UPDATE_SGD }, { 7, 9, 4, UPDATE_SGD } },
    { { 16384, 768, 1 }, { 16384, 768, 1, UPDATE_LION },
      { 16384, 768, 1, UPDATE_SGD } }
};

static void muon_args(struct arg *a, const int64_t *s)
{
    step_args(a, s);
    a[5] = (struct arg){ "work", SCRATCH, FLOATS, { muon_work(s[0], s[1]) } };
    a[6] = (struct arg){ "v", STATE, POSITIVE, { s[0] } };
}

static void muon_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    struct tensor loss;
    struct update u = settings_of(s, a[4], &loss);

    u.muon = s[3] ? MUON_POLAR : MUON_ORIGINAL;
    u.cautious = s[3] > 0;
    ops->muon(dev, a[0], a[1], s[4] ? a[6] : NULL, a[2], a[5], a[3], &u);
}

const struct op_test muon_test = {
    "muon", muon_args, step_prepare, muon_call, false, 5e-5, 0,
    { { 1, 1 }, { 7, 33 }, { 65, 40, 1 }, { 16, 16, 2 }, { 7, 9, 3 },
      { 7, 9, 4, 0, 1 }, { 7, 33, 0, 1 }, { 65, 40, 0, 1, 1 },
      { 7, 33, 1, 0, 1 }, { 129, 40, 0, 1, 1 }, { 65, 131, 0, 0, 1 } },
    { { 768, 3072 }, { 768, 768 } }
};
