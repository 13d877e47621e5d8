/*
 * kernels-grad - gradients of the references by finite differences
 *
 * The other implementations are only compared with the references, so nothing
 * else would notice a wrong one.  Tensors hold doubles here, so the difference
 * (L(x + h) - L(x - h)) / 2h of L = sum of dy y is good to nine digits.
 */
#include "config.h"
#include "kernels/ref.h"
#include "t/unit/kernels.h"

#include <math.h>

enum { ROOM = 600, N_IN = 3, B = 2, T = 3, H = 2, K = 1, D = 4, C = 6, V = 5 };

/* Values by name: inputs and their gradients, the output and its own. */
struct values {
    struct tensor in[N_IN], d[N_IN], y, dy, stat, ints;
    double room[2 * N_IN + 3][ROOM];
    int32_t token[B * T];
    int kind;
};

struct pair {
    const char *name;
    int64_t in[N_IN][2], y[2];
    int kinds; /* try kinds 0 .. kinds - 1 */
    void (*fwd)(struct values *);
    void (*bwd)(struct values *);
};

static const struct dropout drop = { 0.3f, 1, 2, 3 };

static void embed_f(struct values *v)
{
    ref_embed_fwd(NULL, &v->y, &v->ints, &v->in[0], &v->in[1], T, 0);
}

static void embed_b(struct values *v)
{
    ref_embed_bwd(NULL, &v->d[0], &v->d[1], &v->ints, &v->dy, T);
}

static void linear_f(struct values *v)
{
    ref_linear_fwd(NULL, &v->y, &v->in[0], &v->in[1], &v->in[2]);
}

static void linear_b(struct values *v)
{
    ref_linear_bwd(NULL, &v->d[0], &v->d[1], &v->d[2], &v->in[0], &v->in[1],
                   &v->dy);
}

static void norm_f(struct values *v)
{
    ref_norm_fwd(NULL, &v->y, &v->stat, &v->in[0], &v->in[1], &v->in[2],
                 (enum norm)v->kind, 1e-3f);
}

static void norm_b(struct values *v)
{
    ref_norm_bwd(NULL, &v->d[0], &v->d[1], &v->d[2], &v->in[0], &v->in[1],
                 &v->stat, &v->dy, (enum norm)v->kind);
}

static void qknorm_f(struct values *v)
{
    ref_qknorm_fwd(NULL, &v->y, &v->stat, &v->in[0], &v->in[1], &v->in[2], H, K,
                   1e-3f);
}

static void qknorm_b(struct values *v)
{
    ref_qknorm_bwd(NULL, &v->d[0], &v->d[1], &v->d[2], &v->in[0], &v->in[1],
                   &v->in[2], &v->stat, &v->dy, H, K);
}

static void act_f(struct values *v)
{
    ref_act_fwd(NULL, &v->y, &v->in[0], (enum act)v->kind);
}

static void act_b(struct values *v)
{
    ref_act_bwd(NULL, &v->d[0], &v->in[0], &v->dy, (enum act)v->kind);
}

static void glu_f(struct values *v)
{
    ref_glu_fwd(NULL, &v->y, &v->in[0], (enum act)v->kind);
}

static void glu_b(struct values *v)
{
    ref_glu_bwd(NULL, &v->d[0], &v->in[0], &v->dy, (enum act)v->kind);
}

static void dropout_f(struct values *v)
{
    ref_dropout_fwd(NULL, &v->y, &v->in[0], &drop);
}

static void dropout_b(struct values *v)
{
    ref_dropout_bwd(NULL, &v->d[0], &v->dy, &drop);
}

static void rope_f(struct values *v)
{
    ref_cast(NULL, &v->y, &v->in[0]);
    ref_rope(NULL, &v->y, H, K, T, 1, 100.0f, false);
}

static void rope_b(struct values *v)
{
    ref_cast(NULL, &v->d[0], &v->dy);
    ref_rope(NULL, &v->d[0], H, K, T, 1, 100.0f, true);
}

static struct attn attn(const struct values *v)
{
    return (struct attn){ .H = H,
                          .K = K,
                          .D = D,
                          .T = T,
                          .scale = 0.5f,
                          .drop = { v->kind ? 0.3f : 0.0f, 1, 2, 3 } };
}

static void attn_f(struct values *v)
{
    const struct attn a = attn(v);

    ref_attn_fwd(NULL, &v->y, &v->stat, &v->in[0], &a);
}

static void attn_b(struct values *v)
{
    const struct attn a = attn(v);

    ref_attn_bwd(NULL, &v->d[0], &v->in[0], &v->y, &v->stat, &v->dy, &a);
}

/* The head takes the place of dy: its loss is summed with weight 1. */
static void head_f(struct values *v)
{
    ref_head(NULL, &v->y, NULL, NULL, &v->in[0], &v->in[1], &v->ints, V - 1,
             0.0f);
    for (int64_t i = 0; i < tensor_count(&v->dy); i++)
        ref_set(&v->dy, i, 0.25);
}

static void head_b(struct values *v)
{
    ref_head(NULL, &v->y, &v->d[0], &v->d[1], &v->in[0], &v->in[1], &v->ints,
             V - 1, 0.25f);
}

enum { N = B * T, Q = (H + 2 * K) * D };

static const struct pair pairs[] = {
    { "embed", { { V, C }, { T, C } }, { N, C }, 1, embed_f, embed_b },
    { "linear",
      { { N, C }, { V, C }, { 1, V } },
      { N, V },
      1,
      linear_f,
      linear_b },
    { "norm", { { N, C }, { 1, C }, { 1, C } }, { N, C }, 2, norm_f, norm_b },
    { "qknorm",
      { { N, Q }, { 1, D }, { 1, D } },
      { N, Q },
      1,
      qknorm_f,
      qknorm_b },
    { "act", { { 20, 30 } }, { 20, 30 }, ACT_SILU + 1, act_f, act_b },
    { "glu", { { N, 40 } }, { N, 20 }, ACT_SILU + 1, glu_f, glu_b },
    { "dropout", { { N, C } }, { N, C }, 1, dropout_f, dropout_b },
    { "rope", { { N, Q } }, { N, Q }, 1, rope_f, rope_b },
    { "attention", { { N, Q } }, { N, H *D }, 2, attn_f, attn_b },
    { "head", { { N, C }, { V, C } }, { N, 1 }, 1, head_f, head_b },
};

static uint64_t seed = 7;

static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return 8.0 * (double)(seed >> 40) / (1 << 24) - 4.0;
}

static void shape(struct tensor *t, double *room, int64_t rows, int64_t cols)
{
    *t = (struct tensor){
        .data = room, .type = DT_F64, .rank = 2, .dim = { rows, cols }
    };
    assert(tensor_count(t) <= ROOM);
    for (int64_t i = 0; i < ROOM; i++)
        room[i] = draw();
}

static double objective(const struct pair *p, struct values *v)
{
    double sum = 0.0;

    p->fwd(v);
    for (int64_t i = 0; i < tensor_count(&v->y); i++)
        sum += ref_get(&v->y, i) * ref_get(&v->dy, i);
    return sum;
}

static double worst(const struct pair *p, struct values *v)
{
    double max = 0.0;

    objective(p, v);
    p->bwd(v);
    for (int k = 0; k < N_IN && p->in[k][0]; k++) {
        for (int64_t i = 0; i < tensor_count(&v->in[k]); i++) {
            const double x = ref_get(&v->in[k], i), h = 1e-5;
            double up, off;

            ref_set(&v->in[k], i, x + h);
            up = objective(p, v);
            ref_set(&v->in[k], i, x - h);
            off = (up - objective(p, v)) / (2.0 * h) - ref_get(&v->d[k], i);
            ref_set(&v->in[k], i, x);
            if (!(fabs(off) <= max))
                max = fabs(off);
        }
    }
    return max;
}

void check_gradients(gradient_fn *tell)
{
    static struct values v;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct pair *p = &pairs[i];

        for (v.kind = 0; v.kind < p->kinds; v.kind++) {
            for (int k = 0; k < N_IN; k++) {
                shape(&v.in[k], v.room[2 * k], p->in[k][0], p->in[k][1]);
                shape(&v.d[k], v.room[2 * k + 1], p->in[k][0], p->in[k][1]);
                v.d[k].overwrite = true;
            }
            shape(&v.y, v.room[2 * N_IN], p->y[0], p->y[1]);
            shape(&v.dy, v.room[2 * N_IN + 1], p->y[0], p->y[1]);
            shape(&v.stat, v.room[2 * N_IN + 2], N, 2);
            for (int n = 0; n < N; n++)
                v.token[n] = n == 2 ? 0 : n % (V - 1);
            v.ints = (struct tensor){
                .data = v.token, .type = DT_I32, .rank = 1, .dim = { N }
            };
            tell(p->name, v.kind, worst(p, &v));
        }
    }
}
