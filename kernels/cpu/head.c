/*
 * head - classifier and cross-entropy, some rows at a time
 *
 * The logits of `rows` rows are computed in one buffer.  While a rectangle of
 * them is in the cache, the largest logit and the sum of exponentials of each
 * row are noted; together they give log(sum(exp)) and the loss.  Then the
 * gradient of the logits overwrites them, and two more products add its share
 * to dx and dw.
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"
#include "kernels/fp8.h"
#include "kernels/head_rows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* log(sum(exp)) of a part of a row is max + log(sum). */
struct partial_lse {
    float max, sum;
};

struct head {
    const struct tensor *x, *w, *target;
    struct tensor *loss, *dx, *dw;
    int64_t V, C;
    float scale;
    bool fp8;        /* x and w are rounded already; the gradient follows */
    int64_t rows;    /* at a time */
    int64_t n_parts; /* of a row */
    float *logits, *dx_rows;
    struct partial_lse *parts;
    void *scratch;
};

static struct partial_lse partial_lse(const float *l, int64_t n)
{
    vf max = vf_set(-INFINITY), sum = vf_set(0.0f);
    struct partial_lse p = { -INFINITY, 0.0f };
    int64_t i = 0;

    for (; i + VW <= n; i += VW)
        max = vf_max(max, vf_load(l + i));
    p.max = vf_largest(max);
    for (; i < n; i++)
        p.max = l[i] > p.max ? l[i] : p.max;
    for (i = 0; i + VW <= n; i += VW)
        sum += vf_exp(vf_load(l + i) - p.max);
    p.sum = vf_sum(sum);
    for (; i < n; i++)
        p.sum += expf(l[i] - p.max);
    return p;
}

static void note_partial_lse(void *arg, int64_t row, int64_t col, int64_t rows,
                             int64_t cols)
{
    const struct head *h = arg;

    for (int64_t i = row; i < row + rows; i++)
        h->parts[i * h->n_parts + col / GEMM_GROUP] =
            partial_lse(h->logits + i * h->V + col, cols);
}

/* log(sum(exp)) of a whole row. */
static float row_lse(const struct partial_lse *p, int64_t n)
{
    float max = p[0].max, sum = 0.0f;

    for (int64_t i = 1; i < n; i++)
        max = p[i].max > max ? p[i].max : max;
    for (int64_t i = 0; i < n; i++)
        sum += p[i].sum * expf(p[i].max - max);
    return max + logf(sum);
}

/* l = scale (softmax(l) - onehot(target)) */
static void row_gradient(float *l, int64_t n, float lse, int32_t target,
                         float scale)
{
    int64_t i = 0;

    for (; i + VW <= n; i += VW)
        vf_store(l + i, vf_exp(vf_load(l + i) - lse) * scale);
    for (; i < n; i++)
        l[i] = expf(l[i] - lse) * scale;
    l[target] -= scale;
}

static void finish_row(const struct head *h, int64_t from, int64_t i)
{
    const int32_t target = ((const int32_t *)h->target->data)[from + i];
    float *loss = (float *)h->loss->data + from + i;
    float *l = h->logits + i * h->V;
    float lse;

    if (target < 0) {
        *loss = 0.0f;
        if (h->dx || h->dw)
            memset(l, 0, (size_t)h->V * sizeof *l);
        return;
    }
    assert(target < h->V);
    lse = row_lse(h->parts + i * h->n_parts, h->n_parts);
    *loss = lse - l[target];
    if (!h->dx && !h->dw)
        return;
    row_gradient(l, h->V, lse, target, h->scale);
    if (h->fp8)
        fp8_round(l, h->V, h->scale, E5M2_MANTISSA);
}

static const void *row_of(const struct tensor *t, int64_t n)
{
    return (const char *)t->data +
           n * tensor_cols(t) * (int64_t)dtype_size(t->type);
}

/* The three products of the rows from `from` on. */
static struct gemm logits_gemm(struct head *h, int64_t from, int64_t rows)
{
    return (struct gemm){
        .M = rows,
        .N = h->V,
        .K = h->C,
        .a = { row_of(h->x, from), h->x->type, h->C, 1 },
        .b = { h->w->data, h->w->type, 1, h->C },
        .c = h->logits,
        .c_type = DT_F32,
        .c_down = h->V,
        .after = note_partial_lse,
        .arg = h,
    };
}

static struct gemm dx_gemm(const struct head *h, int64_t from, int64_t rows)
{
    const bool direct = h->dx->type == DT_F32;

    return (struct gemm){
        .M = rows,
        .N = h->C,
        .K = h->V,
        .a = { h->logits, DT_F32, h->V, 1 },
        .b = { h->w->data, h->w->type, h->C, 1 },
        .c = direct ? (float *)h->dx->data + from * h->C : h->dx_rows,
        .c_type = DT_F32,
        .c_down = h->C,
        .add = direct && !h->dx->overwrite,
    };
}

static struct gemm dw_gemm(const struct head *h, int64_t from, int64_t rows)
{
    return (struct gemm){
        .M = h->V,
        .N = h->C,
        .K = rows,
        .a = { h->logits, DT_F32, 1, h->V },
        .b = { row_of(h->x, from), h->x->type, h->C, 1 },
        .c = h->dw->data,
        .c_type = h->dw->type,
        .c_down = h->C,
        .add = from > 0 || !h->dw->overwrite,
    };
}

/* A dx of 16 bits: its sum is rounded once. */
static void convert_dx(struct dev *dev, const struct head *h, int64_t from,
                       int64_t rows)
{
    struct tensor part = *h->dx;
    const struct tensor sum = {
        .data = h->dx_rows, .type = DT_F32, .rank = 2, .dim = { rows, h->C }
    };

    part.data = (char *)h->dx->data + from * h->C * 2;
    part.rank = 2;
    part.dim[0] = rows;
    part.dim[1] = h->C;
    dev->ops->accum(dev, &part, &sum);
}

static void compute_rows(struct dev *dev, struct head *h, int64_t from,
                         int64_t rows)
{
    struct gemm g = logits_gemm(h, from, rows);

    gemm(dev, &g, h->scratch);
#pragma omp parallel for num_threads(cpu_threads(dev))                         \
    schedule(dynamic, 4) if (rows * h->V > ROWS_PIECE)
    for (int64_t i = 0; i < rows; i++)
        finish_row(h, from, i);
    if (h->dx) {
        g = dx_gemm(h, from, rows);
        gemm(dev, &g, h->scratch);
        if (h->dx->type != DT_F32)
            convert_dx(dev, h, from, rows);
    }
    if (h->dw) {
        g = dw_gemm(h, from, rows);
        gemm(dev, &g, h->scratch);
    }
}

/* Divide one scratch block among all that the head needs; false if there is
 * none. */
static bool divide_scratch(struct dev *dev, struct head *h)
{
    const size_t logits = (size_t)(h->rows * h->V) * sizeof *h->logits;
    const size_t parts = (size_t)(h->rows * h->n_parts) * sizeof *h->parts;
    const size_t dx = (size_t)(h->rows * h->C) * sizeof *h->dx_rows;
    struct gemm g = logits_gemm(h, 0, h->rows);
    size_t need = gemm_scratch(dev, &g);
    char *p;

    if (h->dx) {
        g = dx_gemm(h, 0, h->rows);
        need = need > gemm_scratch(dev, &g) ? need : gemm_scratch(dev, &g);
    }
    if (h->dw) {
        g = dw_gemm(h, 0, h->rows);
        need = need > gemm_scratch(dev, &g) ? need : gemm_scratch(dev, &g);
    }
    need = (need + 63) & ~(size_t)63;
    p = cpu_scratch(dev, need + logits + dx + parts, "head");
    if (!p)
        return false;
    h->scratch = p;
    h->logits = (float *)(void *)(p + need);
    h->dx_rows = h->logits + h->rows * h->V;
    h->parts = (struct partial_lse *)(void *)(h->dx_rows + h->rows * h->C);
    return true;
}

static void compute_head(struct dev *dev, struct head *h)
{
    const int64_t N = tensor_rows(h->x), padded = h->w->dim[0];

    assert(h->w->dim[1] == h->C && h->V <= padded);
    h->rows = head_rows_cpu(N, h->V);
    if (!divide_scratch(dev, h))
        return;
    for (int64_t from = 0; from < N; from += h->rows)
        compute_rows(dev, h, from, N - from < h->rows ? N - from : h->rows);
    if (h->dw && h->dw->overwrite) /* the rows that pad the vocabulary */
        memset((float *)h->dw->data + h->V * h->C, 0,
               (size_t)((padded - h->V) * h->C) * sizeof(float));
}

void cpu_head(struct dev *dev, struct tensor *loss, struct tensor *dx,
              struct tensor *dw, const struct tensor *x, const struct tensor *w,
              const struct tensor *target, int64_t vocab, float scale)
{
    struct head h = {
        .x = x,
        .w = w,
        .target = target,
        .loss = loss,
        .dx = dx,
        .dw = dw,
        .V = vocab,
        .C = tensor_cols(x),
        .scale = scale,
        .fp8 = w->fp8,
        .n_parts = (vocab + GEMM_GROUP - 1) / GEMM_GROUP,
    };
    struct tensor x8, w8;

    if (!h.fp8) {
        compute_head(dev, &h);
        return;
    }
    x8 = fp8_rounded(x, E4M3_MANTISSA);
    w8 = fp8_rounded(w, E4M3_MANTISSA);
    h.x = &x8;
    h.w = &w8;
    compute_head(dev, &h);
    free(x8.data);
    free(w8.data);
}
