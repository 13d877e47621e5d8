/*
 * update - one step of each optimiser, element by element; sums
 */
#include "config.h"
#include "kernels/ref.h"

#include <math.h>

void ref_sumsq(struct dev *dev UNUSED, struct tensor *out,
               const struct tensor *g)
{
    const int64_t n = tensor_count(g);
    double total = 0.0;

    assert(out->type == DT_F64);
    for (int64_t from = 0; from < n; from += SUMSQ_CHUNK) {
        double sum = 0.0;

        for (int64_t i = from; i < n && i < from + SUMSQ_CHUNK; i++)
            sum += ref_get(g, i) * ref_get(g, i);
        total += sum;
    }
    ref_add(out, 0, total);
}

void ref_sum(struct dev *dev UNUSED, struct tensor *out, const struct tensor *x)
{
    double total = out->overwrite ? 0.0 : ref_get(out, 0);

    assert(out->type == DT_F64);
    for (int64_t i = 0; i < tensor_count(x); i++)
        total += ref_get(x, i);
    ref_set(out, 0, total);
}

bool update_factor(const struct update *u, double *out)
{
    *out = (double)u->g_scale;
    if (u->loss && !isfinite(ref_get(u->loss, 0)))
        return false;
    if (u->sumsq) {
        const double sum = ref_get(u->sumsq, 0);
        const double norm = (double)u->g_scale * sqrt(sum);

        if (!isfinite(sum))
            return false;
        if (u->clip > 0.0f && norm > (double)u->clip)
            *out *= (double)u->clip / norm;
    }
    return true;
}

/* The gradient with l2 decay, and the weight with decoupled decay. */
static double decayed_gradient(const struct update *u, double f, double g,
                               double w)
{
    return f * g + (u->l2 ? (double)u->decay * w : 0.0);
}

static double decayed_weight(const struct update *u, double w)
{
    return u->l2 ? w : w - (double)u->lr * (double)u->decay * w;
}

static void store_weight(struct tensor *w, struct tensor *copy, int64_t i,
                         double v)
{
    ref_set(w, i, v);
    if (copy)
        ref_set(copy, i, ref_get(w, i));
}

void ref_update(struct dev *dev UNUSED, struct tensor *w, struct tensor *m,
                struct tensor *v, struct tensor *copy, const struct tensor *g,
                const struct update *u)
{
    const double b1 = (double)u->beta1, b2 = (double)u->beta2;
    const double fix1 = 1.0 - pow(b1, (double)u->step);
    const double fix2 = 1.0 - pow(b2, (double)u->step);
    double f;

    if (!update_factor(u, &f))
        return;
    for (int64_t i = 0; i < tensor_count(w); i++) {
        const double old = ref_get(w, i), m0 = ref_get(m, i);
        const double d = decayed_gradient(u, f, ref_get(g, i), old);
        const double mean = b1 * m0 + (1.0 - b1) * d;
        double m1, step;

        if (u->rule == UPDATE_ADAMW) {
            const double v1 = b2 * ref_get(v, i) + (1.0 - b2) * d * d;

            ref_set(v, i, v1);
            m1 = mean;
            step = m1 / fix1 / (sqrt(v1 / fix2) + (double)u->eps);
        } else if (u->rule == UPDATE_LION) {
            m1 = b2 * m0 + (1.0 - b2) * d;
            step = mean > 0.0 ? 1.0 : mean < 0.0 ? -1.0 : mean;
        } else {
            m1 = b1 * m0 + d;
            step = u->nesterov ? d + b1 * m1 : m1;
        }
        ref_set(m, i, m1);
        store_weight(w, copy, i, decayed_weight(u, old) - (double)u->lr * step);
    }
}

/* clang-format off */
const struct muon_coefficients muon_coefficients[MUON_KINDS] = {
    /* K. Jordan, "Muon: an optimizer for hidden layers" (2024) */
    [MUON_ORIGINAL] = { 1, {
        { 3.4445f, -4.7750f, 2.0315f }, { 3.4445f, -4.7750f, 2.0315f },
        { 3.4445f, -4.7750f, 2.0315f }, { 3.4445f, -4.7750f, 2.0315f },
        { 3.4445f, -4.7750f, 2.0315f } } },
    /* N. Amsel and others, "The Polar Express" (2025), for five rounds */
    [MUON_POLAR] = { 1.02f, {
        { 8.156554524902461f, -22.48329292557795f, 15.878769915207462f },
        { 4.042929935166739f, -2.808917465908714f, 0.5000178451051316f },
        { 3.8916678022926607f, -2.772484153217685f, 0.5060648178503393f },
        { 3.285753657755655f, -2.3681294933425376f, 0.46449024233003106f },
        { 2.3465413258596377f, -1.7097828382687081f, 0.42323551169305323f } } },
};
/* clang-format on */

/* c(R,S) = alpha a(R,K) b(K,S) + beta c, or a b(S,K)' if b is transposed. */
static void multiply(float *c, const float *a, const float *b, bool transposed,
                     int64_t R, int64_t S, int64_t K, double alpha, double beta)
{
    for (int64_t i = 0; i < R; i++) {
        for (int64_t j = 0; j < S; j++) {
            double sum = 0.0;

            for (int64_t k = 0; k < K; k++)
                sum += (double)a[i * K + k] *
                       (double)b[transposed ? j * K + k : k * S + j];
            sum *= alpha;
            if (beta < 0.0 || beta > 0.0) /* else c is not set yet */
                sum += beta * (double)c[i * S + j];
            c[i * S + j] = (float)sum;
        }
    }
}

/* Divide each row of w by its second moment; step[from(i)] is element i. */
static void divide_rows(float *x, struct tensor *v, int64_t R, int64_t C,
                        const struct update *u)
{
    const int64_t down = R < C ? C : 1, right = R < C ? 1 : R;
    const double b2 = (double)u->beta2;
    double before = 0.0, after = 0.0;

    for (int64_t r = 0; r < R; r++) {
        double sum = 0.0, v1, by;

        for (int64_t c = 0; c < C; c++)
            sum += (double)x[r * down + c * right] *
                   (double)x[r * down + c * right];
        v1 = b2 * ref_get(v, r) + (1.0 - b2) * sum / (double)C;
        by = sqrt(v1) + (double)u->eps;
        ref_set(v, r, v1);
        for (int64_t c = 0; c < C; c++)
            x[r * down + c * right] =
                (float)((double)x[r * down + c * right] / by);
        before += sum;
        after += sum / (by * by);
    }
    for (int64_t i = 0; after > 0.0 && i < R * C; i++)
        x[i] = (float)((double)x[i] * sqrt(before / after));
}

void ref_muon(struct dev *dev UNUSED, struct tensor *w, struct tensor *m,
              struct tensor *v, struct tensor *copy, struct tensor *work,
              const struct tensor *g, const struct update *u)
{
    const int64_t R = w->dim[0], C = w->dim[1], n = R * C;
    const int64_t r = R < C ? R : C, c = R < C ? C : R;
    float *x = work->data, *next = x + n, *a = next + n, *b = a + r * r;
    const struct muon_coefficients *how = &muon_coefficients[u->muon];
    const double rate = (double)u->lr * (double)u->scale;
    double f, sum = 0.0;

    assert(tensor_count(work) >= muon_work(R, C));
    if (!update_factor(u, &f))
        return;
    for (int64_t i = 0; i < n; i++) {
        const double d = decayed_gradient(u, f, ref_get(g, i), ref_get(w, i));
        const double m1 = (double)u->beta1 * ref_get(m, i) + d;
        const double step = u->nesterov ? d + (double)u->beta1 * m1 : m1;
        /* The side that is summed over in x x' is the long one. */
        const int64_t to = R < C ? i : i % C * R + i / C;

        ref_set(m, i, m1);
        x[to] = (float)step;
        sum += step * step;
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] / ((double)how->margin * sqrt(sum) + 1e-7));
    for (int i = 0; i < MUON_ROUNDS; i++) {
        const struct muon_round *round = &how->round[i];
        float *swap = x;

        multiply(a, x, x, true, r, r, c, 1.0, 0.0);
        for (int64_t k = 0; k < r * r; k++)
            b[k] = a[k];
        multiply(b, a, a, false, r, r, r, (double)round->c, (double)round->b);
        for (int64_t k = 0; k < n; k++)
            next[k] = x[k];
        multiply(next, b, x, false, r, c, r, 1.0, (double)round->a);
        x = next;
        next = swap;
    }
    if (v)
        divide_rows(x, v, R, C, u);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = R < C ? i : i % C * R + i / C;
        const double old = ref_get(w, i), step = (double)x[from];
        const bool decays = !u->cautious || old * step >= 0;

        store_weight(w, copy, i,
                     (decays ? decayed_weight(u, old) : old) - rate * step);
    }
}
