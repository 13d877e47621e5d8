/*
 * muon - Muon on the CPU, by the products of gemm.h (ops.h has the formulas)
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rows.h"

#include <assert.h>
#include <math.h>

struct muon {
    const struct tensor *g;
    struct tensor *w, *m, *v, *copy;
    const struct update *u;
    int64_t R, C, r, c; /* r <= c: the sides, the short one first */
    float factor;       /* of the gradient */
    float *x, *next, *a, *b;
    const float *by; /* a factor for each row of w, or NULL */
    void *scratch;
};

/* The index in x, whose rows are the short side, of element i of w. */
static int64_t index_in_x(const struct muon *m, int64_t i)
{
    return m->R < m->C ? i : i % m->C * m->R + i / m->C;
}

static void add_momentum(struct dev *dev, const struct muon *m)
{
    const float b1 = m->u->beta1, l2 = m->u->l2 ? m->u->decay : 0.0f;
    const float *g = m->g->data, *w = m->w->data;
    float *state = m->m->data;
    const int64_t n = m->R * m->C;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t i = 0; i < n; i++) {
        const float d = m->factor * g[i] + l2 * w[i];

        state[i] = b1 * state[i] + d;
        m->x[index_in_x(m, i)] = m->u->nesterov ? d + b1 * state[i] : state[i];
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

/* c(r,n) [+]= a(r,k) b(k,n), or a b(n,k)'. */
static struct gemm product_gemm(float *c, const float *a, const float *b,
                                int64_t r, int64_t n, int64_t k, bool turned,
                                bool add)
{
    return (struct gemm){
        .M = r,
        .N = n,
        .K = k,
        .a = { a, DT_F32, k, 1 },
        .b = { b, DT_F32, turned ? 1 : n, turned ? k : 1 },
        .c = c,
        .c_type = DT_F32,
        .c_down = n,
        .add = add,
    };
}

static void iterate(struct dev *dev, struct muon *m,
                    const struct muon_round *round)
{
    const int64_t r = m->r, c = m->c;
    float *x = m->x;
    struct gemm g = product_gemm(m->a, m->x, m->x, r, r, c, true, false);

    gemm(dev, &g, m->scratch);
    g = product_gemm(m->b, m->a, m->a, r, r, r, false, false);
    gemm(dev, &g, m->scratch);
#pragma omp parallel for num_threads(cpu_threads(dev)) if (r * r > ROWS_PIECE)
    for (int64_t i = 0; i < r * r; i++)
        m->b[i] = round->c * m->b[i] + round->b * m->a[i];
#pragma omp parallel for num_threads(cpu_threads(dev)) if (r * c > ROWS_PIECE)
    for (int64_t i = 0; i < r * c; i++)
        m->next[i] = round->a * x[i];
    g = product_gemm(m->next, m->b, x, r, c, r, false, true);
    gemm(dev, &g, m->scratch);
    m->x = m->next;
    m->next = x;
}

/* Add up the squares of the rows of w from `from` to `end`, in x. */
static void square_rows(const struct muon *m, float *sum, int64_t from,
                        int64_t end)
{
    const int64_t C = m->C, R = m->R;

    for (int64_t r = from; r < end; r++)
        sum[r] = 0.0f;
    if (R < C)
        for (int64_t r = from; r < end; r++) {
            const float *x = m->x + r * C;
            float part[16] = { 0 };

            for (int64_t c = 0; c + 16 <= C; c += 16)
                for (int k = 0; k < 16; k++)
                    part[k] += x[c + k] * x[c + k];
            for (int64_t c = C / 16 * 16; c < C; c++)
                part[c % 16] += x[c] * x[c];
            for (int k = 0; k < 16; k++)
                sum[r] += part[k];
        }
    else
        for (int64_t c = 0; c < C; c++)
            for (int64_t r = from; r < end; r++)
                sum[r] += m->x[c * R + r] * m->x[c * R + r];
}

/* Find the factors of the rows; their sums are where x was before. */
static void measure_rows(struct dev *dev, struct muon *m)
{
    enum { ROWS = 64 };
    const int64_t pieces = (m->R + ROWS - 1) / ROWS;
    const double b2 = (double)m->u->beta2;
    float *by = m->next, *v = m->v->data;
    double before = 0.0, after = 0.0;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++)
        square_rows(m, by, i * ROWS, i + 1 < pieces ? (i + 1) * ROWS : m->R);
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
    const int64_t n = m->R * m->C;
    float *w = m->w->data;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t i = 0; i < n; i++) {
        const float f = m->by ? m->by[i / m->C] : 1.0f;
        const float step = f * m->x[index_in_x(m, i)];

        w[i] = (cautious && w[i] * step < 0 ? 1.0f : keep) * w[i] - rate * step;
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
                      .r = R < C ? R : C,
                      .c = R < C ? C : R,
                      .x = work->data };
    struct gemm wide, square;
    double factor;
    size_t need;

    assert(tensor_count(work) >= muon_work(R, C));
    s.next = s.x + R * C;
    s.a = s.next + R * C;
    s.b = s.a + s.r * s.r;
    wide = product_gemm(s.a, s.x, s.x, s.r, s.r, s.c, true, false);
    square = product_gemm(s.next, s.b, s.x, s.r, s.c, s.r, false, true);
    need = gemm_scratch(dev, &wide);
    need =
        need > gemm_scratch(dev, &square) ? need : gemm_scratch(dev, &square);
    if (!update_factor(u, &factor))
        return;
    s.factor = (float)factor;
    add_momentum(dev, &s);
    normalise(dev, &s);
    s.scratch = cpu_scratch(dev, need, "muon");
    for (int i = 0; s.scratch && i < MUON_ROUNDS; i++)
        iterate(dev, &s, &muon_coefficients[u->muon].round[i]);
    if (s.scratch && v)
        measure_rows(dev, &s);
    if (s.scratch)
        apply_step(dev, &s);
}
