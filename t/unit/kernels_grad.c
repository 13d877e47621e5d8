/*
 * kernels_grad - gradients of the references by finite differences
 *
 * The other implementations are only compared with the references, so nothing
 * else would notice a wrong one.  Tensors hold doubles here, so the difference
 * (L(x + h) - L(x - h)) / 2h of L = sum of dy y is good to nine digits.
 */
#include "config.h"
#include "kernels/ref.h"
#include "t/unit/kernels.h"

#include <math.h>
#include <string.h>

enum { ROOM = 700, VALUES = 2 * MAX_ARGS };

/* What has the same name in an operation and in its gradient is one value; dx
 * is the gradient of x. */
struct value {
    const char *name;
    struct tensor tensor;
    double room[ROOM];
    int32_t ids[ROOM];
};

struct pair {
    const struct op_test *fwd, *bwd;
    const int64_t *shape;
    struct tensor *in[MAX_ARGS], *out[MAX_ARGS]; /* of the two */
    struct value value[VALUES];
    int n;
};

/* ---- operations whose gradient has another form -------------------------- */

/* clang-format off */

static const struct rope angles = {
    .theta = 100, .scaling = ROPE_YARN, .factor = 3, .to = 1.5, .length = 1.25
};

static void rotate_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
}

static void rotate_call(const struct ops *ops, struct dev *dev,
                        struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->accum(dev, a[0], a[1]);
    ops->rope(dev, a[0], 2, 1, 3, 1, &angles, false);
}

static void rotate_back_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

static void rotate_back_call(const struct ops *ops, struct dev *dev,
                             struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->accum(dev, a[0], a[1]);
    ops->rope(dev, a[0], 2, 1, 3, 1, &angles, true);
}

/* In place: what the operation adds to is in another tensor here. */
static void add_value_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "y", OUT, NUMBERS, { s[0], 2 * s[1] } };
    a[1] = (struct arg){ "from", IN, NUMBERS, { s[0], 2 * s[1] } };
    a[2] = (struct arg){ "gate", OUT, NUMBERS, { s[0], 2 } };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { 2, 3 } };
    a[5] = (struct arg){ "e", IN, NUMBERS, { s[0], s[1] } };
}

static void add_value_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->accum(dev, a[0], a[1]);
    ops->value_fwd(dev, a[0], a[2], a[3], a[4], a[5]);
}

static void add_value_back_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dw", GRAD, NUMBERS, { 2, 3 } };
    a[2] = (struct arg){ "de", GRAD, NUMBERS, { s[0], s[1] } };
    a[3] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[4] = (struct arg){ "w", IN, NUMBERS, { 2, 3 } };
    a[5] = (struct arg){ "e", IN, NUMBERS, { s[0], s[1] } };
    a[6] = (struct arg){ "gate", IN, NUMBERS, { s[0], 2 } };
    a[7] = (struct arg){ "dy", IN, NUMBERS, { s[0], 2 * s[1] } };
}

static void add_value_back_call(const struct ops *ops, struct dev *dev,
                                struct tensor **a, const int64_t *s)
{
    (void)s;
    ops->value_bwd(dev, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

/* Dropout is its own gradient. */
static void drop_back_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "dx", GRAD, NUMBERS, { s[0], s[1] } };
    a[1] = (struct arg){ "dy", IN, NUMBERS, { s[0], s[1] } };
}

static void drop_back_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    dropout_test.call(ops, dev, a, s);
}

/* The head computes its own gradient: that of the sum of the losses. */
static void loss_args(struct arg *a, const int64_t *s)
{
    a[0] = (struct arg){ "loss", OUT, FLOATS, { s[0] } };
    a[1] = (struct arg){ "x", IN, NUMBERS, { s[0], s[1] } };
    a[2] = (struct arg){ "w", IN, NUMBERS, { s[2], s[1] } };
    a[3] = (struct arg){ "target", IN, TARGETS, { s[0] }, s[3] };
    if (s[6])
        a[4] = (struct arg){ "teacher", IN, TOKENS, { s[0], 1 + s[6] }, s[3] };
}

static void loss_call(const struct ops *ops, struct dev *dev,
                      struct tensor **a, const int64_t *s)
{
    const struct head_teacher teacher = { a[4], 0.75 };

    ops->head(dev, a[0], NULL, NULL, a[1], a[2], a[3],
              s[6] ? &teacher : NULL, s[3],
              (float)s[5] * 0.5f, 0.0f);
}

static void loss_back_call(const struct ops *ops, struct dev *dev,
                           struct tensor **a, const int64_t *s)
{
    const struct head_teacher teacher = { a[6], 0.75 };

    ops->head(dev, a[0], a[1], a[2], a[3], a[4], a[5], s[6] ? &teacher : NULL,
              s[3], (float)s[5] * 0.5f, 1.0f);
}

static void loss_back_args(struct arg *a, const int64_t *s)
{
    head_test.args(a, s);
}

static const struct op_test rotate_test = { OP(rotate) };
static const struct op_test add_value_test = { OP(add_value) };
static const struct op_test loss_test = { OP(loss) };
static const struct op_test others[] = {
    { OP(rotate_back), .forward = &rotate_test, .grad = { { 6, 16 } } },
    { OP(add_value_back), .forward = &add_value_test, .grad = { { 6, 8 } } },
    { OP(drop_back), .forward = &dropout_test, .grad = { { 6, 6 } } },
    { OP(loss_back), .forward = &loss_test,
      .grad = { { 6, 6, 5, 4 }, { 6, 6, 5, 4, 0, 2 },
                { 6, 6, 5, 4, 0, 2, 2 } } },
};

/* clang-format on */

/* ---- values -------------------------------------------------------------- */

static uint64_t seed = 7;

static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return 8.0 * (double)(seed >> 40) / (1 << 24) - 4.0;
}

static struct tensor *find(struct pair *p, const char *prefix, const char *name)
{
    const size_t n = strlen(prefix);

    for (int i = 0; i < p->n; i++)
        if (strncmp(p->value[i].name, prefix, n) == 0 &&
            strcmp(p->value[i].name + n, name) == 0)
            return &p->value[i].tensor;
    return NULL;
}

static struct tensor *add(struct pair *p, const struct arg *a)
{
    const bool ids = a->content == TOKENS || a->content == TARGETS;
    struct value *v = &p->value[p->n++];
    struct tensor *t = &v->tensor;

    assert(p->n <= VALUES);
    v->name = a->name;
    *t = (struct tensor){ .data = ids ? (void *)v->ids : v->room,
                          .type = ids ? DT_I32 : DT_F64,
                          .overwrite = true };
    while (t->rank < 4 && a->dim[t->rank]) {
        t->dim[t->rank] = a->dim[t->rank];
        t->rank++;
    }
    assert(tensor_count(t) <= ROOM);
    for (int i = 0; i < ROOM; i++) {
        v->room[i] = draw();
        v->ids[i] = a->limit ? (int32_t)(i * 5 % a->limit) : 0;
    }
    return t;
}

static void list(struct pair *p, const struct op_test *t, struct tensor **to)
{
    struct arg a[MAX_ARGS] = { { 0 } };

    t->args(a, p->shape);
    for (int i = 0; i < MAX_ARGS; i++) {
        to[i] = NULL;
        if (a[i].name && !(to[i] = find(p, "", a[i].name)))
            to[i] = add(p, &a[i]);
    }
}

/* ---- the comparison ------------------------------------------------------ */

/* Argument 0 is what is computed; the head has no gradient of that. */
static double objective(struct pair *p, const struct tensor *dy)
{
    const struct tensor *y = p->in[0];
    double sum = 0.0;

    p->fwd->call(&ref_ops, NULL, p->in, p->shape);
    for (int64_t i = 0; i < tensor_count(y); i++)
        sum += ref_get(y, i) * (dy ? ref_get(dy, i) : 1.0);
    return sum;
}

/* The largest difference for an input; -1 if it has no gradient. */
static double differ(struct pair *p, const char *name)
{
    const struct tensor *dy = find(p, "d", p->value[0].name);
    const struct tensor *d = find(p, "d", name);
    struct tensor *x = find(p, "", name);
    double max = d ? 0.0 : -1.0;

    for (int64_t i = 0; d && i < tensor_count(x); i++) {
        const double was = ref_get(x, i), h = 1e-5;
        double up, off;

        ref_set(x, i, was + h);
        up = objective(p, dy);
        ref_set(x, i, was - h);
        off = (up - objective(p, dy)) / (2.0 * h) - ref_get(d, i);
        ref_set(x, i, was);
        if (!(fabs(off) <= max))
            max = fabs(off);
    }
    return max;
}

static void check(const struct op_test *t, const int64_t *shape,
                  gradient_fn *tell)
{
    static struct pair p;
    struct arg a[MAX_ARGS] = { { 0 } };

    p = (struct pair){ .fwd = t->forward, .bwd = t, .shape = shape };
    list(&p, p.fwd, p.in);
    list(&p, p.bwd, p.out);
    objective(&p, NULL);
    p.bwd->call(&ref_ops, NULL, p.out, shape);
    p.fwd->args(a, shape);
    for (int i = 1; i < MAX_ARGS && a[i].name; i++) {
        const double off = differ(&p, a[i].name);

        if (off >= 0.0 || isnan(off))
            tell(t->name, a[i].name, off);
    }
}

void check_gradients(gradient_fn *tell)
{
    for (int k = 0; op_tests[k]; k++)
        for (int i = 0; i < MAX_GRADS && op_tests[k]->grad[i][0]; i++)
            check(op_tests[k], op_tests[k]->grad[i], tell);
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        for (int i = 0; i < MAX_GRADS && others[k].grad[i][0]; i++)
            check(&others[k], others[k].grad[i], tell);
}
