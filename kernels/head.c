/*
 * head - the classifier and its cross-entropy
 *
 *      l = x w',   loss = log(sum(exp(l))) - l(target)
 *      dl = scale (softmax(l) - onehot(target)),   dx = dl w,   dw = dl' x
 *
 * With a teacher, the shares of head_goals.h take the place of onehot.
 *
 * With a cap, c = cap tanh(l / cap) takes the place of l in the loss, and dl is
 * multiplied by 1 - (c / cap)^2.
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/fp8.h"
#include "kernels/head_goals.h"
#include "kernels/ref.h"

static double slope_of(double l, double cap)
{
    return cap > 0 ? 1 - l * l / (cap * cap) : 1;
}

/* Logits of row n to the gradient of its loss, in place; returns the loss. */
static double row_loss(double *l, struct head_goals *g, const struct tensor *x,
                       const struct tensor *w, int64_t n, int64_t V, double cap)
{
    const int64_t C = tensor_cols(x);
    double max = -INFINITY, sum = 0.0, loss = 0.0;

    for (int64_t v = 0; v < V; v++) {
        l[v] = ref_dot(0.0, x, n * C, 1, w, v * C, 1, C);
        if (cap > 0)
            l[v] = cap * tanh(l[v] / cap);
        max = l[v] > max ? l[v] : max;
    }
    for (int64_t v = 0; v < V; v++)
        sum += exp(l[v] - max);
    for (int64_t k = 0; k < g->n; k++) {
        loss += g->share[k] * (log(sum) + max - l[g->id[k]]);
        g->share[k] *= slope_of(l[g->id[k]], cap);
    }
    for (int64_t v = 0; v < V; v++)
        l[v] = slope_of(l[v], cap) * exp(l[v] - max) / sum;
    for (int64_t k = 0; k < g->n; k++)
        l[g->id[k]] -= g->share[k];
    return loss;
}

/* An element of dl; slope: of softmax(l) - onehot(target) */
static double gradient_of(float scale, double slope, bool fp8)
{
    float d = (float)((double)scale * slope);

    if (!fp8)
        return (double)scale * slope;
    fp8_round(&d, 1, scale, E5M2_MANTISSA);
    return (double)d;
}

void ref_head(struct dev *dev UNUSED, struct tensor *loss, struct tensor *dx,
              struct tensor *dw, const struct tensor *x, const struct tensor *w,
              const struct tensor *target, const struct head_teacher *teacher,
              int64_t vocab, float cap, float scale)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), V = w->dim[0];
    const bool fp8 = w->fp8;
    const struct tensor x8 = fp8 ? fp8_rounded(x, E4M3_MANTISSA) : *x;
    const struct tensor w8 = fp8 ? fp8_rounded(w, E4M3_MANTISSA) : *w;
    AUTO_FREE double *l = xcalloc((size_t)V, sizeof *l);
    AUTO_FREE double *dws = xcalloc((size_t)(V * C), sizeof *dws);
    struct head_goals g;

    assert(w->dim[1] == C && vocab <= V && tensor_count(loss) == N);
    for (int64_t n = 0; n < N; n++) {
        const int32_t t = ref_int(target, n);
        double sum = 0.0;

        assert(t < vocab);
        if (t >= 0) {
            sum = head_goals_set(&g, t, teacher, n);
            sum += row_loss(l, &g, &x8, &w8, n, vocab, (double)cap);
        }
        ref_set(loss, n, sum);
        for (int64_t c = 0; c < C; c++) {
            sum = 0.0;
            for (int64_t v = 0; t >= 0 && v < vocab; v++) {
                const double d = gradient_of(scale, l[v], fp8);

                sum += d * ref_get(&w8, v * C + c);
                dws[v * C + c] += d * ref_get(&x8, n * C + c);
            }
            if (dx)
                ref_add(dx, n * C + c, sum);
        }
    }
    for (int64_t i = 0; dw && i < V * C; i++)
        ref_add(dw, i, dws[i]);
    if (fp8)
        FREE(x8.data, w8.data);
}
