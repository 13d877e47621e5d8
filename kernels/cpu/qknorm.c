/*
 * qknorm - RMSNorm of each query and key head on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <math.h>

struct qknorm {
    const struct tensor *x, *wq, *wk, *dy;
    struct tensor *y, *stat; /* y is dx backwards */
    const struct tensor *stat_in;
    int64_t H, K, D;
    float eps;
};

VEC_FN void normalise_head(enum dtype type, const struct qknorm *q, int64_t n,
                           int64_t h)
{
    const int64_t at = (n * (q->H + 2 * q->K) + h) * q->D;
    const struct tensor *w = h < q->H ? q->wq : q->wk;
    vf sum = vf_set(0.0f);
    float rstd;

    for (int64_t d = 0; d < q->D; d += VW) {
        const vf v = vf_take(q->x->data, type, at + d, q->D - d);

        sum += v * v;
    }
    rstd = 1.0f / sqrtf(vf_sum(sum) / (float)q->D + q->eps);
    for (int64_t d = 0; d < q->D; d += VW) {
        const int64_t left = q->D - d;
        vf v = vf_take(q->x->data, type, at + d, left);

        if (h < q->H + q->K)
            v *= rstd * vf_take(w->data, w->type, d, left);
        vf_give(q->y->data, type, at + d, v, left);
    }
    if (h < q->H + q->K)
        ((float *)q->stat->data)[n * (q->H + q->K) + h] = rstd;
}

void cpu_qknorm_fwd(struct dev *dev, struct tensor *y, struct tensor *stat,
                    const struct tensor *x, const struct tensor *wq,
                    const struct tensor *wk, int H, int K, float eps)
{
    const struct qknorm q = { .x = x,
                              .wq = wq,
                              .wk = wk,
                              .y = y,
                              .stat = stat,
                              .H = H,
                              .K = K,
                              .D = tensor_cols(wq),
                              .eps = eps };
    const int64_t N = tensor_rows(x);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(x) >   \
                                                           ROWS_PIECE)
    for (int64_t n = 0; n < N; n++) {
        for (int64_t h = 0; h < H + 2 * K; h++)
            VEC_BY_TYPE(x->type, normalise_head, &q, n, h);
    }
}

/* part(D) of dw of this head's kind gets its share too. */
VEC_FN void backward_head(enum dtype type, const struct qknorm *q, int64_t n,
                          int64_t h, float *part)
{
    const int64_t at = (n * (q->H + 2 * q->K) + h) * q->D;
    const struct tensor *w = h < q->H ? q->wq : q->wk;
    const bool copied = h >= q->H + q->K;
    float rstd = 1.0f, mean = 0.0f;
    vf sum = vf_set(0.0f);

    if (!copied) {
        rstd = ((const float *)q->stat_in->data)[n * (q->H + q->K) + h];
        for (int64_t d = 0; d < q->D; d += VW) {
            const int64_t left = q->D - d;
            const vf t = vf_take(q->x->data, type, at + d, left) * rstd *
                         vf_take(q->dy->data, type, at + d, left);

            vf_give_or_add(part, DT_F32, d, t, left, true);
            sum += t * vf_take(w->data, w->type, d, left);
        }
        mean = vf_sum(sum) / (float)q->D;
    }
    for (int64_t d = 0; d < q->D; d += VW) {
        const int64_t left = q->D - d;
        vf v = vf_take(q->dy->data, type, at + d, left);

        if (!copied)
            v = rstd * (v * vf_take(w->data, w->type, d, left) -
                        vf_take(q->x->data, type, at + d, left) * rstd * mean);
        vf_give_or_add(q->y->data, type, at + d, v, left, !q->y->overwrite);
    }
}

void cpu_qknorm_bwd(struct dev *dev, struct tensor *dx, struct tensor *dwq,
                    struct tensor *dwk, const struct tensor *x,
                    const struct tensor *wq, const struct tensor *wk,
                    const struct tensor *stat, const struct tensor *dy, int H,
                    int K)
{
    const struct qknorm q = { .x = x,
                              .wq = wq,
                              .wk = wk,
                              .y = dx,
                              .dy = dy,
                              .stat_in = stat,
                              .H = H,
                              .K = K,
                              .D = tensor_cols(wq) };
    const int64_t N = tensor_rows(x), D = q.D, chunks = rows_chunks(N);
    float *part =
        cpu_scratch(dev, (size_t)(chunks * 2 * D) * sizeof *part, "qknorm_bwd");

    if (!part)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(x) >   \
                                                           ROWS_PIECE)
    for (int64_t i = 0; i < chunks; i++) {
        float *mine = part + i * 2 * D;

        memset(mine, 0, (size_t)(2 * D) * sizeof *mine);
        for (int64_t n = rows_chunk(N, i, chunks);
             n < rows_chunk(N, i + 1, chunks); n++) {
            for (int64_t h = 0; h < H + 2 * K; h++)
                VEC_BY_TYPE(x->type, backward_head, &q, n, h,
                            h < H ? mine : mine + D);
        }
    }
    if (dwq)
        rows_reduce(dev, dwq, part, 2 * D, chunks);
    if (dwk)
        rows_reduce(dev, dwk, part + D, 2 * D, chunks);
}
