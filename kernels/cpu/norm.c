/*
 * norm - LayerNorm and RMSNorm on the CPU (kernels/norm.c has the formulas)
 *
 * A row is read twice while it is in the cache: once for its sums, once to
 * write.  The variance is computed from x - mean, since
 * mean(x^2) - mean^2 would cancel.
 */
#include "config.h"

#include <math.h>

#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

struct norm_args {
    const struct tensor *a, *b; /* b: to add first, or NULL */
    struct tensor *sum, *y, *stat;
    const struct tensor *w, *bias;
    enum norm kind;
    float eps;
};

/* n numbers of x from c on, at most a vector; a + b where there is a b. */
VEC_FN vf load_input(enum dtype type, const struct norm_args *r, int64_t at,
                     int64_t n)
{
    vf v = vf_take(r->a->data, type, at, n);

    if (r->b) {
        v += vf_take(r->b->data, type, at, n);
        vf_give(r->sum->data, type, at, v, n);
        v = vf_take(r->sum->data, type, at, n);
    }
    return v;
}

VEC_FN void store_output(enum dtype type, const struct norm_args *r,
                         const void *x, const float *stat, int64_t at,
                         int64_t c, int64_t n)
{
    vf v = (vf_take(x, type, at + c, n) - stat[0]) * stat[1];

    if (r->w)
        v *= vf_take(r->w->data, r->w->type, c, n);
    if (r->bias)
        v += vf_take(r->bias->data, r->bias->type, c, n);
    vf_give(r->y->data, type, at + c, v, n);
}

/* The mean, then the variance, then y.  Four sums at a time: an addition waits
 * for the one before. */
VEC_FN void forward_row(enum dtype type, const struct norm_args *r, int64_t row)
{
    const int64_t C = tensor_cols(r->a), at = row * C;
    const int64_t fours = C / (4 * VW) * (4 * VW), ones = C / VW * VW;
    const void *x = r->sum ? r->sum->data : r->a->data;
    float *stat = (float *)r->stat->data + 2 * row, mean = 0.0f, rstd;
    vf sum[4] = { { 0 } }, var[4] = { { 0 } };

    for (int64_t c = 0; c < fours; c += 4 * VW) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            sum[j] += load_input(type, r, at + c + j * VW, VW);
    }
    for (int64_t c = fours; c < C; c += VW)
        sum[0] += load_input(type, r, at + c, C - c);
    if (r->kind == NORM_LAYER)
        mean = vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)C;
    for (int64_t c = 0; c < fours; c += 4 * VW) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            const vf v = vf_get(x, type, at + c + j * VW) - mean;

            var[j] += v * v;
        }
    }
    for (int64_t c = fours; c < ones; c += VW) {
        const vf v = vf_get(x, type, at + c) - mean;

        var[0] += v * v;
    }
    rstd = vf_sum((var[0] + var[1]) + (var[2] + var[3]));
    for (int64_t c = ones; c < C; c++) {
        const float v = num_get(x, type, at + c) - mean;

        rstd += v * v;
    }
    stat[0] = mean;
    stat[1] = 1.0f / sqrtf(rstd / (float)C + r->eps);
    for (int64_t c = 0; c < ones; c += VW)
        store_output(type, r, x, stat, at, c, VW);
    if (ones < C)
        store_output(type, r, x, stat, at, ones, C - ones);
}

void cpu_norm_fwd(struct dev *dev, struct tensor *sum, struct tensor *y,
                  struct tensor *stat, const struct tensor *a,
                  const struct tensor *b, const struct tensor *w,
                  const struct tensor *bias, enum norm kind, float eps)
{
    const struct norm_args r = { .a = a,
                                 .b = b,
                                 .sum = sum,
                                 .y = y,
                                 .stat = stat,
                                 .w = w,
                                 .bias = bias,
                                 .kind = kind,
                                 .eps = eps };
    const int64_t N = tensor_rows(a);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(a) >   \
                                                           ROWS_PIECE)
    for (int64_t n = 0; n < N; n++)
        VEC_BY_TYPE(a->type, forward_row, &r, n);
}

/* ---- backward ---------------------------------------------------------- */

struct grad_args {
    struct tensor *dx;
    const struct tensor *x, *w, *stat, *dy;
    enum norm kind;
    float *part; /* of dw and, C further, of db; or NULL */
};

VEC_FN void backward_row(enum dtype type, const struct grad_args *r,
                         int64_t row, float *part)
{
    const int64_t C = tensor_cols(r->x), at = row * C;
    const float *stat = (const float *)r->stat->data + 2 * row;
    const float mean = stat[0], rstd = stat[1];
    float g_mean = 0.0f, gx_mean;
    vf g_sum = vf_set(0.0f), gx_sum = g_sum;

    for (int64_t c = 0; c < C; c += VW) {
        const int64_t n = C - c;
        const vf d = vf_take(r->dy->data, type, at + c, n);
        const vf xhat = (vf_take(r->x->data, type, at + c, n) - mean) * rstd;
        const vf g = r->w ? d * vf_take(r->w->data, r->w->type, c, n) : d;

        g_sum += g;
        gx_sum += g * xhat;
        if (part) {
            vf_give_or_add(part, DT_F32, c, d * xhat, n, true);
            vf_give_or_add(part, DT_F32, C + c, d, n, true);
        }
    }
    if (!r->dx)
        return;
    if (r->kind == NORM_LAYER)
        g_mean = vf_sum(g_sum) / (float)C;
    gx_mean = vf_sum(gx_sum) / (float)C;
    for (int64_t c = 0; c < C; c += VW) {
        const int64_t n = C - c;
        const vf d = vf_take(r->dy->data, type, at + c, n);
        const vf xhat = (vf_take(r->x->data, type, at + c, n) - mean) * rstd;
        const vf g = r->w ? d * vf_take(r->w->data, r->w->type, c, n) : d;

        vf_give_or_add(r->dx->data, type, at + c,
                       rstd * (g - g_mean - xhat * gx_mean), n,
                       !r->dx->overwrite);
    }
}

VEC_FN void backward_chunk(enum dtype type, const struct grad_args *r,
                           int64_t from, int64_t to, float *part)
{
    if (part)
        memset(part, 0, (size_t)(2 * tensor_cols(r->x)) * sizeof *part);
    for (int64_t n = from; n < to; n++)
        backward_row(type, r, n, part);
}

void cpu_norm_bwd(struct dev *dev, struct tensor *dx, struct tensor *dw,
                  struct tensor *db, const struct tensor *x,
                  const struct tensor *w, const struct tensor *stat,
                  const struct tensor *dy, enum norm kind)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), n = rows_chunks(N);
    struct grad_args r = {
        .dx = dx, .x = x, .w = w, .stat = stat, .dy = dy, .kind = kind
    };

    if (dw || db) {
        r.part =
            cpu_scratch(dev, (size_t)(n * 2 * C) * sizeof *r.part, "norm_bwd");
        if (!r.part)
            return;
    }
#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * C > ROWS_PIECE)
    for (int64_t i = 0; i < n; i++)
        VEC_BY_TYPE(x->type, backward_chunk, &r, rows_chunk(N, i, n),
                    rows_chunk(N, i + 1, n),
                    r.part ? r.part + i * 2 * C : NULL);
    if (dw)
        rows_reduce(dev, dw, r.part, 2 * C, n);
    if (db)
        rows_reduce(dev, db, r.part + C, 2 * C, n);
}

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
