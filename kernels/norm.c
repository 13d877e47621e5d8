/*
 * norm - LayerNorm, RMSNorm, and RMSNorm of each head
 *
 *      xhat = (x - mean) rstd,   y = xhat w + b
 *
 * With g = dy w, and means over the row,
 *
 *      dx = rstd (g - mean(g) - xhat mean(g xhat)),   dw = dy xhat,   db = dy
 *
 * where RMSNorm has no mean(g), because its mean is the constant 0.
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/ref.h"

#include <math.h>

void ref_norm_fwd(struct dev *dev, struct tensor *sum, struct tensor *y,
                  struct tensor *stat, const struct tensor *a,
                  const struct tensor *b, const struct tensor *w,
                  const struct tensor *bias, enum norm kind, float eps)
{
    const int64_t N = tensor_rows(a), C = tensor_cols(a);
    const struct tensor *x = b ? sum : a;

    if (b)
        ref_add_fwd(dev, sum, a, b);
    assert(tensor_count(y) == N * C && tensor_count(stat) == 2 * N);
    for (int64_t n = 0; n < N; n++) {
        double mean = 0.0, var = 0.0, rstd;

        for (int64_t c = 0; kind == NORM_LAYER && c < C; c++)
            mean += ref_get(x, n * C + c) / (double)C;
        for (int64_t c = 0; c < C; c++) {
            const double d = ref_get(x, n * C + c) - mean;

            var += d * d / (double)C;
        }
        rstd = 1.0 / sqrt(var + (double)eps);
        ref_set(stat, 2 * n, mean);
        ref_set(stat, 2 * n + 1, rstd);
        for (int64_t c = 0; c < C; c++) {
            const double xhat = (ref_get(x, n * C + c) - mean) * rstd;

            ref_set(y, n * C + c,
                    xhat * (w ? ref_get(w, c) : 1.0) +
                        (bias ? ref_get(bias, c) : 0.0));
        }
    }
}

void ref_norm_bwd(struct dev *dev UNUSED, struct tensor *dx, struct tensor *dw,
                  struct tensor *db, const struct tensor *x,
                  const struct tensor *w, const struct tensor *stat,
                  const struct tensor *dy, enum norm kind)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x);

    for (int64_t n = 0; dx && n < N; n++) {
        const double mean = ref_get(stat, 2 * n);
        const double rstd = ref_get(stat, 2 * n + 1);
        double g_mean = 0.0, gx_mean = 0.0;

        for (int64_t c = 0; c < C; c++) {
            const double g = ref_get(dy, n * C + c) * (w ? ref_get(w, c) : 1.0);
            const double xhat = (ref_get(x, n * C + c) - mean) * rstd;

            g_mean += kind == NORM_LAYER ? g / (double)C : 0.0;
            gx_mean += g * xhat / (double)C;
        }
        for (int64_t c = 0; c < C; c++) {
            const double g = ref_get(dy, n * C + c) * (w ? ref_get(w, c) : 1.0);
            const double xhat = (ref_get(x, n * C + c) - mean) * rstd;

            ref_add(dx, n * C + c, rstd * (g - g_mean - xhat * gx_mean));
        }
    }
    for (int64_t c = 0; c < C; c++) {
        double w_sum = 0.0, b_sum = 0.0;

        for (int64_t n = 0; n < N; n++) {
            const double d = ref_get(dy, n * C + c);

            w_sum += d * (ref_get(x, n * C + c) - ref_get(stat, 2 * n)) *
                     ref_get(stat, 2 * n + 1);
            b_sum += d;
        }
        if (dw)
            ref_add(dw, c, w_sum);
        if (db)
            ref_add(db, c, b_sum);
    }
}

void ref_qknorm_fwd(struct dev *dev UNUSED, struct tensor *y,
                    struct tensor *stat, const struct tensor *x,
                    const struct tensor *wq, const struct tensor *wk, int H,
                    int K, float eps)
{
    const int64_t N = tensor_rows(x), D = tensor_cols(wq);

    assert(tensor_cols(x) == (H + 2 * K) * D);
    for (int64_t i = 0; i < N * (H + 2 * K); i++) {
        const int64_t n = i / (H + 2 * K), h = i % (H + 2 * K);
        const struct tensor *w = h < H ? wq : wk;
        double square = 0.0, rstd;

        for (int64_t d = 0; d < D; d++)
            square += ref_get(x, i * D + d) * ref_get(x, i * D + d) / (double)D;
        rstd = 1.0 / sqrt(square + (double)eps);
        for (int64_t d = 0; d < D; d++) {
            const double v = ref_get(x, i * D + d);

            ref_set(y, i * D + d, h < H + K ? v * rstd * ref_get(w, d) : v);
        }
        if (h < H + K)
            ref_set(stat, n * (H + K) + h, rstd);
    }
}

void ref_qknorm_bwd(struct dev *dev UNUSED, struct tensor *dx,
                    struct tensor *dwq, struct tensor *dwk,
                    const struct tensor *x, const struct tensor *wq,
                    const struct tensor *wk, const struct tensor *stat,
                    const struct tensor *dy, int H, int K)
{
    const int64_t N = tensor_rows(x), D = tensor_cols(wq);
    AUTO_FREE double *sum = xcalloc((size_t)(2 * D), sizeof *sum);

    for (int64_t i = 0; i < N * (H + 2 * K); i++) {
        const int64_t n = i / (H + 2 * K), h = i % (H + 2 * K);
        const struct tensor *w = h < H ? wq : wk;
        double rstd, gx_mean = 0.0;

        if (h >= H + K) {
            for (int64_t d = 0; d < D; d++)
                ref_add(dx, i * D + d, ref_get(dy, i * D + d));
            continue;
        }
        rstd = ref_get(stat, n * (H + K) + h);
        for (int64_t d = 0; d < D; d++) {
            const double t = ref_get(dy, i * D + d) * ref_get(x, i * D + d);

            sum[h < H ? d : D + d] += t * rstd;
            gx_mean += t * rstd * ref_get(w, d) / (double)D;
        }
        for (int64_t d = 0; d < D; d++) {
            const double g = ref_get(dy, i * D + d) * ref_get(w, d);

            ref_add(dx, i * D + d,
                    rstd * (g - ref_get(x, i * D + d) * rstd * gx_mean));
        }
    }
    for (int64_t d = 0; d < D; d++) {
        if (dwq)
            ref_add(dwq, d, sum[d]);
        if (dwk)
            ref_add(dwk, d, sum[D + d]);
    }
}
