/*
 * head - the classifier and its cross-entropy
 *
 *      l = x w',   loss = log(sum(exp(l))) - l(target)
 *      dl = scale (softmax(l) - onehot(target)),   dx = dl w,   dw = dl' x
 *
 * With a cap, c = cap tanh(l / cap) takes the place of l in the loss, and dl is
 * multiplied by 1 - (c / cap)^2.
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/fp8.h"
#include "kernels/ref.h"

#include <math.h>
#include <stdlib.h>

/* Logits of row n to the gradient of its loss, in place; returns the loss. */
static double row_loss(double *l, const struct tensor *x,
                       const struct tensor *w, int64_t n, int32_t target,
                       int64_t V, double cap)
{
    const int64_t C = tensor_cols(x);
    double max = -INFINITY, sum = 0.0, loss;

    for (int64_t v = 0; v < V; v++) {
        l[v] = ref_dot(0.0, x, n * C, 1, w, v * C, 1, C);
        if (cap > 0)
            l[v] = cap * tanh(l[v] / cap);
        max = l[v] > max ? l[v] : max;
    }
    for (int64_t v = 0; v < V; v++)
        sum += exp(l[v] - max);
    loss = log(sum) + max - l[target];
    for (int64_t v = 0; v < V; v++) {
        const double slope = cap > 0 ? 1 - l[v] * l[v] / (cap * cap) : 1;

        l[v] = slope * (exp(l[v] - max) / sum - (v == target));
    }
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

void ref_head(struct dev *dev, struct tensor *loss, struct tensor *dx,
              struct tensor *dw, const struct tensor *x, const struct tensor *w,
              const struct tensor *target, int64_t vocab, float cap,
              float scale)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), V = w->dim[0];
    const bool fp8 = w->fp8;
    const struct tensor x8 = fp8 ? fp8_rounded(x, E4M3_MANTISSA) : *x;
    const struct tensor w8 = fp8 ? fp8_rounded(w, E4M3_MANTISSA) : *w;
    double *l = xcalloc((size_t)V, sizeof *l);
    double *dws = xcalloc((size_t)(V * C), sizeof *dws);

    (void)dev;
    assert(w->dim[1] == C && vocab <= V && tensor_count(loss) == N);
    for (int64_t n = 0; n < N; n++) {
        const int32_t t = ref_int(target, n);

        assert(t < vocab);
        ref_set(loss, n,
                t < 0 ? 0.0 : row_loss(l, &x8, &w8, n, t, vocab, (double)cap));
        for (int64_t c = 0; c < C; c++) {
            double sum = 0.0;

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
    if (fp8) {
        free(x8.data);
        free(w8.data);
    }
    free(l);
    free(dws);
}
