/*
 * update - sums of squares and the optimisers' steps on the CPU
 *
 * AdamW reads w, g, m and v and writes w, m and v once: 28 bytes a parameter,
 * which takes all of its time.  Clipping is a factor on g, so it takes none.
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>

typedef double vd __attribute__((vector_size(4 * VW))); /* VW / 2 */
typedef float vhalf __attribute__((vector_size(2 * VW)));

/* Sum of squares of up to SUMSQ_CHUNK numbers, in double. */
VEC_FN void chunk_squares(enum dtype type, const void *g, int64_t from,
                          int64_t n, double *out)
{
    double lanes[VW / 2], total = 0.0;
    vd sum[4] = { { 0 } };
    int64_t i = 0;

    for (; i + 2 * VW <= n; i += 2 * VW) {
        for (int j = 0; j < 2; j++) {
            const vf v = vf_get(g, type, from + i + j * VW);
            vhalf low, high;
            vd a, b;

            memcpy(&low, &v, sizeof low);
            memcpy(&high, (const char *)&v + sizeof low, sizeof high);
            a = __builtin_convertvector(low, vd);
            b = __builtin_convertvector(high, vd);
            sum[2 * j] += a * a;
            sum[2 * j + 1] += b * b;
        }
    }
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    memcpy(lanes, &sum[0], sizeof lanes);
    for (int j = 0; j < VW / 2; j++)
        total += lanes[j];
    for (; i < n; i++) {
        const double v = (double)num_get(g, type, from + i);

        total += v * v;
    }
    *out = total;
}

void cpu_sumsq(struct dev *dev, struct tensor *out, const struct tensor *g)
{
    const int64_t n = tensor_count(g);
    const int64_t chunks = (n + SUMSQ_CHUNK - 1) / SUMSQ_CHUNK;
    double *part = cpu_scratch(dev, (size_t)chunks * sizeof *part, "sumsq");
    double total = out->overwrite ? 0.0 : *(double *)out->data;

    assert(out->type == DT_F64);
    if (!part)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (chunks > 1)
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t from = i * SUMSQ_CHUNK;

        VEC_BY_TYPE(g->type, chunk_squares, g->data, from,
                    n - from < SUMSQ_CHUNK ? n - from : SUMSQ_CHUNK, &part[i]);
    }
    for (int64_t i = 0; i < chunks; i++)
        total += part[i];
    *(double *)out->data = total;
}

/* In order, by one thread: losses of a micro-batch are few. */
void cpu_sum(struct dev *dev, struct tensor *out, const struct tensor *x)
{
    const float *from = x->data;
    double total = out->overwrite ? 0.0 : *(double *)out->data;

    (void)dev;
    assert(out->type == DT_F64 && x->type == DT_F32);
    for (int64_t i = 0; i < tensor_count(x); i++)
        total += (double)from[i];
    *(double *)out->data = total;
}

/* The operands and constants of a step. */
struct update_step {
    float *w, *m, *v;
    const float *g;
    struct tensor *copy;
    float g_scale, b1, b2, eps, lr;
    float keep;       /* 1 - lr * decay, where it is decoupled */
    float l2;         /* decay, where it is not */
    float fix1, fix2; /* 1 / (1 - beta^step) */
    bool nesterov;
};

/* False if the weights must stay as they are. */
static bool prepare_step(struct update_step *s, const struct update *u)
{
    double factor;

    if (!update_factor(u, &factor))
        return false;
    s->g_scale = (float)factor;
    s->b1 = u->beta1;
    s->b2 = u->beta2;
    s->eps = u->eps;
    s->lr = u->lr;
    s->keep = u->l2 ? 1.0f : (float)(1.0 - (double)u->lr * (double)u->decay);
    s->l2 = u->l2 ? u->decay : 0.0f;
    s->fix1 = (float)(1.0 / (1.0 - pow((double)u->beta1, (double)u->step)));
    s->fix2 = (float)(1.0 / (1.0 - pow((double)u->beta2, (double)u->step)));
    s->nesterov = u->nesterov;
    return true;
}

VEC_FN void store_weight(const struct update_step *s, int64_t i, vf w,
                         int64_t n)
{
    vf_give(s->w, DT_F32, i, w, n);
    if (s->copy)
        vf_give(s->copy->data, s->copy->type, i, w, n);
}

static void adamw_piece(const struct update_step *s, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i += VW) {
        const int64_t n = to - i;
        const vf w = vf_take(s->w, DT_F32, i, n);
        const vf g = vf_take(s->g, DT_F32, i, n) * s->g_scale + s->l2 * w;
        const vf m = s->b1 * vf_take(s->m, DT_F32, i, n) + (1.0f - s->b1) * g;
        const vf v =
            s->b2 * vf_take(s->v, DT_F32, i, n) + (1.0f - s->b2) * g * g;

        vf_give(s->m, DT_F32, i, m, n);
        vf_give(s->v, DT_F32, i, v, n);
        store_weight(s, i,
                     w * s->keep - s->lr * (m * s->fix1) /
                                       (vf_sqrt(v * s->fix2) + s->eps),
                     n);
    }
}

static void lion_piece(const struct update_step *s, int64_t from, int64_t to)
{
    const vf zero = vf_set(0.0f), one = vf_set(1.0f);

    for (int64_t i = from; i < to; i += VW) {
        const int64_t n = to - i;
        const vf w = vf_take(s->w, DT_F32, i, n);
        const vf g = vf_take(s->g, DT_F32, i, n) * s->g_scale + s->l2 * w;
        const vf m = vf_take(s->m, DT_F32, i, n);
        const vf c = s->b1 * m + (1.0f - s->b1) * g;
        vf sign = vf_select((vi)(c < zero), -one, c);

        sign = vf_select((vi)(c > zero), one, sign);
        vf_give(s->m, DT_F32, i, s->b2 * m + (1.0f - s->b2) * g, n);
        store_weight(s, i, w * s->keep - s->lr * sign, n);
    }
}

static void sgd_piece(const struct update_step *s, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i += VW) {
        const int64_t n = to - i;
        const vf w = vf_take(s->w, DT_F32, i, n);
        const vf g = vf_take(s->g, DT_F32, i, n) * s->g_scale + s->l2 * w;
        const vf m = s->b1 * vf_take(s->m, DT_F32, i, n) + g;

        vf_give(s->m, DT_F32, i, m, n);
        store_weight(
            s, i, w * s->keep - s->lr * (s->nesterov ? g + s->b1 * m : m), n);
    }
}

void cpu_update(struct dev *dev, struct tensor *w, struct tensor *m,
                struct tensor *v, struct tensor *copy, const struct tensor *g,
                const struct update *u)
{
    static void (*const rules[])(const struct update_step *, int64_t from,
                                 int64_t to) = {
        [UPDATE_ADAMW] = adamw_piece,
        [UPDATE_LION] = lion_piece,
        [UPDATE_SGD] = sgd_piece,
    };
    const int64_t n = tensor_count(w), pieces = rows_pieces(n);
    struct update_step s = { w->data, m->data, v ? v->data : NULL, g->data,
                             copy };

    if (!prepare_step(&s, u))
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++)
        rules[u->rule](&s, i * ROWS_PIECE,
                       i * ROWS_PIECE + rows_piece(n, i * ROWS_PIECE));
}
