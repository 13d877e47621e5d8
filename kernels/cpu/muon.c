/*
 * muon - Muon on the CPU, by the products of gemm.h (ops.h has the formulas)
 *
 * The products sum over the long side of w, so y is as large as the short one:
 * y = x x', or x' x where w is tall.  y and its polynomials are symmetric and
 * have the same eigenvectors.
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>

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
