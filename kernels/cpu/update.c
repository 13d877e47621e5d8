/*
 * update - sums of squares and the optimisers' steps on the CPU
 *
 * AdamW reads w, g, m and v and writes w, m and v once: 28 bytes a parameter,
 * which takes all of its time.  Clipping is a factor on g, so it takes none.
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>

typedef double vd __attribute__((vector_size(4 * VW))); /* VW / 2 */
typedef float vhalf __attribute__((vector_size(2 * VW)));

/* A page of floats: what is fetched ahead of a sum that waits for memory. */
enum { AHEAD = 1024 };

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

            __builtin_prefetch((const char *)g + (from + i + j * VW + AHEAD) *
                                                     (int64_t)dtype_size(type));
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

/* Losses of a micro-batch are few. */
void cpu_sum(struct dev *dev, struct tensor *out, const struct tensor *x)
{
    ref_sum(dev, out, x);
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

/* Numbers from `from` up to `to`, by a rule that is a constant. */
VEC_FN void step_piece(const enum update_rule rule, const struct update_step *s,
                       int64_t from, int64_t to)
{
    const vf zero = vf_set(0.0f), one = vf_set(1.0f);

    for (int64_t i = from; i < to; i += VW) {
        const int64_t n = to - i;
        vf w = vf_take(s->w, DT_F32, i, n), m = vf_take(s->m, DT_F32, i, n);
        const vf g = vf_take(s->g, DT_F32, i, n) * s->g_scale + s->l2 * w;

        if (rule == UPDATE_ADAMW) {
            const vf v =
                s->b2 * vf_take(s->v, DT_F32, i, n) + (1.0f - s->b2) * g * g;

            m = s->b1 * m + (1.0f - s->b1) * g;
            vf_give(s->v, DT_F32, i, v, n);
            w = w * s->keep -
                s->lr * (m * s->fix1) / (vf_sqrt(v * s->fix2) + s->eps);
        } else if (rule == UPDATE_LION) {
            const vf c = s->b1 * m + (1.0f - s->b1) * g;
            const vf sign = vf_select((vi)(c < zero), -one, c);

            m = s->b2 * m + (1.0f - s->b2) * g;
            w = w * s->keep - s->lr * vf_select((vi)(c > zero), one, sign);
        } else {
            m = s->b1 * m + g;
            w = w * s->keep - s->lr * (s->nesterov ? g + s->b1 * m : m);
        }
        vf_give(s->m, DT_F32, i, m, n);
        vf_give(s->w, DT_F32, i, w, n);
        if (s->copy)
            vf_give(s->copy->data, s->copy->type, i, w, n);
    }
}

void cpu_update(struct dev *dev, struct tensor *w, struct tensor *m,
                struct tensor *v, struct tensor *copy, const struct tensor *g,
                const struct update *u)
{
    const int64_t n = tensor_count(w), pieces = rows_pieces(n);
    struct update_step s = { w->data, m->data, v ? v->data : NULL, g->data,
                             copy };

    if (!prepare_step(&s, u))
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t from = i * ROWS_PIECE, to = from + rows_piece(n, from);

        if (u->rule == UPDATE_ADAMW)
            step_piece(UPDATE_ADAMW, &s, from, to);
        else if (u->rule == UPDATE_LION)
            step_piece(UPDATE_LION, &s, from, to);
        else
            step_piece(UPDATE_SGD, &s, from, to);
    }
}

/* ---- Muon -------------------------------------------------------------- */

/*
 * By the products of gemm.h (ops.h has the formulas).  The products sum over
 * the long side of w, so y is as large as the short one: y = x x', or x' x
 * where w is tall.  y and its polynomials are symmetric and have the same
 * eigenvectors.
 */
struct muon {
    const struct tensor *g;
    struct tensor *w, *m, *v, *copy;
    const struct update *u;
    int64_t R, C, side; /* the short one */
    float factor;       /* of the gradient */
    float *x, *next;    /* (R,C) */
    float *y, *z;       /* (side,side) */
    const float *by;    /* a factor for each row of w, or NULL */
};

static void add_momentum(struct dev *dev, const struct muon *m)
{
    const float b1 = m->u->beta1, l2 = m->u->l2 ? m->u->decay : 0.0f;
    const bool nesterov = m->u->nesterov;
    const float *g = m->g->data, *w = m->w->data;
    float *state = m->m->data, *x = m->x;
    const int64_t n = m->R * m->C;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t i = 0; i < n; i++) {
        const float d = m->factor * g[i] + l2 * w[i];

        state[i] = b1 * state[i] + d;
        x[i] = nesterov ? d + b1 * state[i] : state[i];
    }
}

static void normalise(struct dev *dev, const struct muon *m)
{
    const int64_t n = m->R * m->C;
    const struct tensor x = tensor_vector(m->x, DT_F32, n);
    double square = 0.0;
    struct tensor sum = { .data = &square,
                          .type = DT_F64,
                          .overwrite = true,
                          .rank = 1,
                          .dim = { 1 } };
    float by;

    dev->ops->sumsq(dev, &sum, &x);
    by = (float)(1.0 /
                 ((double)muon_coefficients[m->u->muon].margin * sqrt(square) +
                  1e-7));
#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t i = 0; i < n; i++)
        m->x[i] *= by;
}

/* c(M,N) = a(M,K) b(K,N) */
static void multiply(struct dev *dev, float *c, int64_t M, int64_t N, int64_t K,
                     struct gemm_view a, struct gemm_view b, bool symmetric)
{
    gemm_run(
        dev,
        &(struct gemm){ M, N, K, a, b, c, DT_F32, N, .symmetric = symmetric },
        "muon");
}

/* c = a b, all symmetric with the same eigenvectors. */
static void multiply_square(struct dev *dev, const struct muon *m, float *c,
                            const float *a, const float *b)
{
    const int64_t n = m->side;

    multiply(dev, c, n, n, n, gemm_rows(a, DT_F32, n), gemm_rows(b, DT_F32, n),
             true);
}

static void square_x(struct dev *dev, const struct muon *m)
{
    const struct gemm_view x = gemm_rows(m->x, DT_F32, m->C);
    const bool tall = m->R > m->C;

    multiply(dev, m->y, m->side, m->side, tall ? m->R : m->C,
             tall ? gemm_turned(x) : x, tall ? x : gemm_turned(x), true);
}

/* x = p x, or x p where w is tall */
static void multiply_x(struct dev *dev, struct muon *m, const float *p)
{
    const struct gemm_view x = gemm_rows(m->x, DT_F32, m->C);
    const struct gemm_view by = gemm_rows(p, DT_F32, m->side);
    const bool tall = m->R > m->C;
    float *old = m->x;

    multiply(dev, m->next, m->R, m->C, m->side, tall ? x : by, tall ? by : x,
             false);
    m->x = m->next;
    m->next = old;
}

/* p = a + b y + c y y, of a round */
static void make_polynomial(struct dev *dev, const struct muon *m, float *p,
                            int i)
{
    const struct muon_round *r = &muon_coefficients[m->u->muon].round[i];
    const int64_t n = m->side;

    multiply_square(dev, m, p, m->y, m->y);
#pragma omp parallel for num_threads(cpu_threads(dev)) if (n * n > ROWS_PIECE)
    for (int64_t row = 0; row < n; row++) {
        for (int64_t j = row * n; j < (row + 1) * n; j++)
            p[j] = r->c * p[j] + r->b * m->y[j];
        p[row * n + row] += r->a;
    }
}

/*
 * The last two rounds multiply x once, by both polynomials: the second is that
 * of p y p.  More would lose small singular values, which y has squared: of six
 * matrices (192 by 768, singular values from 1 to 1e-6), the largest relative
 * error is 2e-4 with none, two or three rounds at once, and 3e-3 with five; but
 * with three the changes of a model differ from those in float64 by 1.3e-5
 * instead of 7e-6 (t/peers/t9050-options.t).
 */
static void iterate(struct dev *dev, struct muon *m)
{
    for (int i = 0; i < MUON_ROUNDS - 2; i++) {
        square_x(dev, m);
        make_polynomial(dev, m, m->z, i);
        multiply_x(dev, m, m->z);
    }
    square_x(dev, m);
    make_polynomial(dev, m, m->z, MUON_ROUNDS - 2);
    multiply_square(dev, m, m->next, m->z, m->y);
    multiply_square(dev, m, m->y, m->next, m->z);
    make_polynomial(dev, m, m->next, MUON_ROUNDS - 1);
    multiply_square(dev, m, m->y, m->next, m->z);
    multiply_x(dev, m, m->y);
}

/* Find the factors of the rows; their sums are where x was before. */
static void measure_rows(struct dev *dev, struct muon *m)
{
    const double b2 = (double)m->u->beta2;
    const int64_t n = m->R * m->C;
    float *by = m->next, *v = m->v->data;
    double before = 0.0, after = 0.0;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t r = 0; r < m->R; r++) {
        vf sum = vf_set(0.0f);

        for (int64_t i = 0; i < m->C; i += VW) {
            const vf x = vf_take(m->x, DT_F32, r * m->C + i, m->C - i);

            sum += x * x;
        }
        by[r] = vf_sum(sum);
    }
    for (int64_t r = 0; r < m->R; r++) {
        const double sum = (double)by[r];
        const double v1 = b2 * (double)v[r] + (1.0 - b2) * sum / (double)m->C;
        const double f = 1.0 / (sqrt(v1) + (double)m->u->eps);

        v[r] = (float)v1;
        by[r] = (float)f;
        before += sum;
        after += sum * f * f;
    }
    for (int64_t r = 0; after > 0.0 && r < m->R; r++)
        by[r] *= (float)sqrt(before / after);
    m->by = by;
}

static void apply_step(struct dev *dev, const struct muon *m)
{
    const float lr = m->u->lr, keep = m->u->l2 ? 1.0f : 1.0f - lr * m->u->decay;
    const float rate = lr * m->u->scale;
    const bool cautious = m->u->cautious;
    const int64_t C = m->C, n = m->R * C;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t r = 0; r < m->R; r++) {
        const float f = m->by ? m->by[r] : 1.0f, *x = m->x + r * C;
        float *w = (float *)m->w->data + r * C;

        for (int64_t i = 0; i < C; i++) {
            const float step = f * x[i];
            const float by = cautious && w[i] * step < 0 ? 1.0f : keep;

            w[i] = by * w[i] - rate * step;
        }
    }
    if (m->copy) {
        m->copy->overwrite = true;
        dev->ops->accum(dev, m->copy, m->w);
    }
}

void cpu_muon(struct dev *dev, struct tensor *w, struct tensor *m,
              struct tensor *v, struct tensor *copy, struct tensor *work,
              const struct tensor *g, const struct update *u)
{
    const int64_t R = w->dim[0], C = w->dim[1];
    struct muon s = { .g = g,
                      .w = w,
                      .m = m,
                      .v = v,
                      .copy = copy,
                      .u = u,
                      .R = R,
                      .C = C,
                      .side = R < C ? R : C,
                      .x = work->data };
    double factor;

    assert(tensor_count(work) >= muon_work(R, C));
    s.next = s.x + R * C;
    s.y = s.next + R * C;
    s.z = s.y + s.side * s.side;
    if (!update_factor(u, &factor))
        return;
    s.factor = (float)factor;
    add_momentum(dev, &s);
    normalise(dev, &s);
    iterate(dev, &s);
    if (dev->failed)
        return;
    if (v)
        measure_rows(dev, &s);
    apply_step(dev, &s);
}
