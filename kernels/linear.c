/*
 * linear - y = x w' + b and its gradients, with or without an activation
 */
#include "config.h"
#include "kernels/fp8.h"
#include "kernels/ref.h"

void ref_linear_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *b)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), M = w->dim[0];

    if (w->fp8) {
        fp8_linear_fwd(ref_linear_fwd, dev, y, x, w, b);
        return;
    }
    assert(w->dim[1] == C && tensor_rows(y) == N && tensor_cols(y) == M);
    for (int64_t n = 0; n < N; n++)
        for (int64_t m = 0; m < M; m++)
            ref_set(
                y, n * M + m,
                ref_dot(b ? ref_get(b, m) : 0.0, x, n * C, 1, w, m * C, 1, C));
}

void ref_linear_bwd(struct dev *dev, struct tensor *dx, struct tensor *dw,
                    struct tensor *db, const struct tensor *x,
                    const struct tensor *w, const struct tensor *dy)
{
    const int64_t N = tensor_rows(dy), M = tensor_cols(dy);
    const int64_t C = tensor_cols(dw ? x : w);

    if (w->fp8) {
        fp8_linear_bwd(ref_linear_bwd, dev, dx, dw, db, x, w, dy);
        return;
    }
    for (int64_t n = 0; dx && n < N; n++)
        for (int64_t c = 0; c < C; c++)
            ref_add(dx, n * C + c, ref_dot(0.0, dy, n * M, 1, w, c, C, M));
    for (int64_t m = 0; dw && m < M; m++)
        for (int64_t c = 0; c < C; c++)
            ref_add(dw, m * C + c, ref_dot(0.0, dy, m, M, x, c, C, N));
    for (int64_t m = 0; db && m < M; m++) {
        double sum = 0.0;

        for (int64_t n = 0; n < N; n++)
            sum += ref_get(dy, n * M + m);
        ref_add(db, m, sum);
    }
}

void ref_linear_act_fwd(struct dev *dev, struct tensor *y, struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *b, enum act kind)
{
    struct tensor *mid = pre ? pre : y;

    ref_linear_fwd(dev, mid, x, w, b);
    ref_act_fwd(dev, y, mid, kind);
}

void ref_act_linear_bwd(struct dev *dev, struct tensor *dpre, struct tensor *dw,
                        struct tensor *db, const struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *dy, enum act kind)
{
    dpre->overwrite = true;
    ref_linear_bwd(dev, dpre, dw, db, x, w, dy);
    ref_act_bwd(dev, dpre, pre, dpre, kind);
}
