/*
 * mix - sums with trained weights
 *
 * The gate of a value embedding is g = 2 sigmoid(s), so that
 *
 *      dg/ds = g (1 - g / 2)
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/ref.h"

#include <math.h>

void ref_mix_fwd(struct dev *dev UNUSED, struct tensor *y,
                 const struct tensor *a, const struct tensor *b,
                 const struct tensor *wa, const struct tensor *wb)
{
    assert(tensor_count(y) == tensor_count(a));
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_set(y, i,
                ref_get(wa, 0) * ref_get(a, i) +
                    ref_get(wb, 0) * ref_get(b, i));
}

void ref_mix_bwd(struct dev *dev UNUSED, struct tensor *da, struct tensor *db,
                 struct tensor *dwa, struct tensor *dwb, const struct tensor *a,
                 const struct tensor *b, const struct tensor *wa,
                 const struct tensor *wb, const struct tensor *dy)
{
    double a_sum = 0.0, b_sum = 0.0;

    for (int64_t i = 0; i < tensor_count(dy); i++) {
        const double d = ref_get(dy, i);

        a_sum += d * ref_get(a, i);
        b_sum += d * ref_get(b, i);
        if (da)
            ref_add(da, i, d * ref_get(wa, 0));
        if (db)
            ref_add(db, i, d * ref_get(wb, 0));
    }
    if (dwa)
        ref_add(dwa, 0, a_sum);
    if (dwb)
        ref_add(dwb, 0, b_sum);
}

void ref_value_fwd(struct dev *dev UNUSED, struct tensor *qkv,
                   struct tensor *gate, const struct tensor *x,
                   const struct tensor *w, const struct tensor *e)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), G = tensor_cols(w);
    const int64_t K = tensor_rows(w), D = tensor_cols(e) / K;
    const int64_t width = tensor_cols(qkv);

    assert(G <= C && tensor_count(gate) == N * K);
    for (int64_t i = 0; i < N * K; i++) {
        const int64_t n = i / K, k = i % K;
        const double sum = ref_dot(0.0, x, n * C, 1, w, k * G, 1, G);

        ref_set(gate, i, 2.0 / (1.0 + exp(-sum)));
        for (int64_t d = 0; d < D; d++) {
            const int64_t at = (n + 1) * width - (K - k) * D + d;

            ref_set(qkv, at,
                    ref_get(qkv, at) +
                        ref_get(gate, i) * ref_get(e, i * D + d));
        }
    }
}

void ref_value_bwd(struct dev *dev UNUSED, struct tensor *dx, struct tensor *dw,
                   struct tensor *de, const struct tensor *x,
                   const struct tensor *w, const struct tensor *e,
                   const struct tensor *gate, const struct tensor *dqkv)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), G = tensor_cols(w);
    const int64_t K = tensor_rows(w), D = tensor_cols(e) / K;
    const int64_t width = tensor_cols(dqkv);
    AUTO_FREE double *slope = xcalloc((size_t)(N * K), sizeof *slope);

    for (int64_t i = 0; i < N * K; i++) {
        const int64_t at = (i / K + 1) * width - (K - i % K) * D;
        const double g = ref_get(gate, i);

        for (int64_t d = 0; d < D; d++) {
            slope[i] += ref_get(dqkv, at + d) * ref_get(e, i * D + d);
            if (de)
                ref_add(de, i * D + d, g * ref_get(dqkv, at + d));
        }
        slope[i] *= g * (1.0 - g / 2.0);
    }
    for (int64_t i = 0; dx && i < N * C; i++) {
        double sum = 0.0;

        for (int64_t k = 0; k < K && i % C < G; k++)
            sum += slope[i / C * K + k] * ref_get(w, k * G + i % C);
        ref_add(dx, i, sum);
    }
    for (int64_t i = 0; dw && i < K * G; i++) {
        double sum = 0.0;

        for (int64_t n = 0; n < N; n++)
            sum += slope[n * K + i / G] * ref_get(x, n * C + i % G);
        ref_add(dw, i, sum);
    }
}
