/*
 * head - classifier and cross-entropy, some rows at a time
 *
 * The logits of `rows` rows are computed in one buffer.  While a rectangle of
 * them is in the cache, the largest logit and the sum of exponentials of each
 * row are noted; together they give log(sum(exp)) and the loss.  Then the
 * gradient of the logits overwrites them, and two more products add its share
 * to dx and dw.
 *
 * Rows without a target are left out: where some lie between the rows of a
 * chunk, the others are gathered first, and their dx is scattered.
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"
#include "kernels/fp8.h"
#include "kernels/head_goals.h"
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
    const struct head_teacher *teacher;
    struct tensor *loss, *dx, *dw;
    int64_t V, C;
    float cap, scale;
    bool fp8;         /* x and w are rounded already; the gradient follows */
    int64_t *counted; /* the rows that have a target */
    int64_t n_counted;
    int64_t rows;    /* at a time */
    int64_t n_parts; /* of a row */
    float *logits, *dx_rows;
    void *x_rows;
    struct partial_lse *parts;
    void *scratch;
};

/* Some of the counted rows, and where their x and dx are together. */
struct chunk {
    int64_t from, rows;
    const void *x;
    float *dx;
    bool gathered;
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

/* l = cap tanh(l / cap), where tanh(x) = 1 - 2 / (exp(2 x) + 1) */
static void cap_logits(float *l, int64_t n, float cap)
{
    const float twice = 2.0f / cap;
    int64_t i = 0;

    for (; i + VW <= n; i += VW)
        vf_store(l + i,
                 cap - 2.0f * cap / (vf_exp(vf_load(l + i) * twice) + 1));
    for (; i < n; i++)
        l[i] = cap * tanhf(l[i] / cap);
}

static void note_partial_lse(void *arg, int64_t row, int64_t col, int64_t rows,
                             int64_t cols)
{
    const struct head *h = arg;

    for (int64_t i = row; i < row + rows; i++) {
        float *l = h->logits + i * h->V + col;

        if (h->cap > 0)
            cap_logits(l, cols, h->cap);
        h->parts[i * h->n_parts + col / GEMM_GROUP] = partial_lse(l, cols);
    }
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

/* l = scale (softmax(l) - goals) (1 - l^2 / cap^2) */
static void row_gradient(float *l, int64_t n, float lse, struct head_goals *g,
                         float cap, float scale)
{
    const float bend = cap > 0 ? 1.0f / (cap * cap) : 0.0f;
    int64_t i = 0;

    for (int64_t k = 0; k < g->n; k++)
        g->share[k] *=
            (double)(scale * (1.0f - l[g->id[k]] * l[g->id[k]] * bend));
    for (; i + VW <= n; i += VW) {
        const vf c = vf_load(l + i);

        vf_store(l + i, vf_exp(c - lse) * scale * (1.0f - c * c * bend));
    }
    for (; i < n; i++)
        l[i] = expf(l[i] - lse) * scale * (1.0f - l[i] * l[i] * bend);
    for (int64_t k = 0; k < g->n; k++)
        l[g->id[k]] -= (float)g->share[k];
}

static void finish_row(const struct head *h, int64_t from, int64_t i)
{
    const int64_t row = h->counted[from + i];
    const int32_t target = ((const int32_t *)h->target->data)[row];
    float *l = h->logits + i * h->V;
    const float lse = row_lse(h->parts + i * h->n_parts, h->n_parts);
    struct head_goals g;
    double loss = head_goals_set(&g, target, h->teacher, row);

    for (int64_t k = 0; k < g.n; k++) {
        assert(g.id[k] < h->V);
        loss += g.share[k] * (double)(lse - l[g.id[k]]);
    }
    ((float *)h->loss->data)[row] = (float)loss;
    if (!h->dx && !h->dw)
        return;
    row_gradient(l, h->V, lse, &g, h->cap, h->scale);
    if (h->fp8)
        fp8_round(l, h->V, h->scale, E5M2_MANTISSA);
}

/* ---- rows that have a target ------------------------------------------- */

static size_t row_bytes(const struct tensor *t)
{
    return (size_t)tensor_cols(t) * dtype_size(t->type);
}

static void *row_of(const struct tensor *t, int64_t n)
{
    return (char *)t->data + (size_t)n * row_bytes(t);
}

/* List the rows that have a target or, before there is a list, count them. */
static void count_rows(struct head *h)
{
    const int32_t *target = h->target->data;

    h->n_counted = 0;
    for (int64_t i = 0; i < tensor_rows(h->x); i++) {
        if (target[i] >= 0 && h->counted)
            h->counted[h->n_counted] = i;
        h->n_counted += target[i] >= 0;
    }
}

/* How many counted rows, from number i on and before `end`, are neighbours. */
static int64_t count_neighbours(const struct head *h, int64_t i, int64_t end)
{
    int64_t n = 1;

    while (i + n < end && h->counted[i + n] == h->counted[i] + n)
        n++;
    return n;
}

static void gather_x(const struct head *h, const struct chunk *c)
{
    const size_t bytes = row_bytes(h->x);
    int64_t n;

    for (int64_t i = 0; i < c->rows; i += n) {
        n = count_neighbours(h, c->from + i, c->from + c->rows);
        memcpy((char *)h->x_rows + (size_t)i * bytes,
               row_of(h->x, h->counted[c->from + i]), (size_t)n * bytes);
    }
}

/* Add the sums to dx.  A dx of 16 bits is rounded once. */
static void scatter_dx(struct dev *dev, const struct head *h,
                       const struct chunk *c)
{
    int64_t n;

    for (int64_t i = 0; i < c->rows; i += n) {
        const int64_t row = h->counted[c->from + i];
        struct tensor part, sum;

        n = count_neighbours(h, c->from + i, c->from + c->rows);
        part = tensor_matrix(row_of(h->dx, row), h->dx->type, n, h->C);
        part.overwrite = h->dx->overwrite;
        sum = tensor_matrix(c->dx + i * h->C, DT_F32, n, h->C);
        dev->ops->accum(dev, &part, &sum);
    }
}

/* Clear dx and the losses of rows without a target. */
static void clear_uncounted(const struct head *h)
{
    const int64_t padded = h->w->dim[0], from = h->n_counted > 0 ? h->V : 0;

    if (h->n_counted < tensor_rows(h->x)) {
        memset(h->loss->data, 0, tensor_bytes(h->loss));
        if (h->dx && h->dx->overwrite)
            memset(h->dx->data, 0, tensor_bytes(h->dx));
    }
    if (h->dw && h->dw->overwrite) /* the rows that pad the vocabulary, too */
        memset((float *)h->dw->data + from * h->C, 0,
               (size_t)((padded - from) * h->C) * sizeof(float));
}

static struct chunk make_chunk(const struct head *h, int64_t from)
{
    const int64_t left = h->n_counted - from;
    struct chunk c = { .from = from, .rows = left < h->rows ? left : h->rows };

    c.gathered = count_neighbours(h, from, from + c.rows) < c.rows;
    c.x = c.gathered ? h->x_rows : row_of(h->x, h->counted[from]);
    c.dx = h->dx_rows;
    if (c.gathered)
        gather_x(h, &c);
    else if (h->dx && h->dx->type == DT_F32)
        c.dx = row_of(h->dx, h->counted[from]);
    return c;
}

/* ---- products ----------------------------------------------------------- */

static struct gemm logits_gemm(struct head *h, const struct chunk *c)
{
    return (struct gemm){
        .M = c->rows,
        .N = h->V,
        .K = h->C,
        .a = { c->x, h->x->type, h->C, 1 },
        .b = { h->w->data, h->w->type, 1, h->C },
        .c = h->logits,
        .c_type = DT_F32,
        .c_down = h->V,
        .after = note_partial_lse,
        .arg = h,
    };
}

static struct gemm dx_gemm(const struct head *h, const struct chunk *c)
{
    return (struct gemm){
        .M = c->rows,
        .N = h->C,
        .K = h->V,
        .a = { h->logits, DT_F32, h->V, 1 },
        .b = { h->w->data, h->w->type, h->C, 1 },
        .c = c->dx,
        .c_type = DT_F32,
        .c_down = h->C,
        .add = c->dx != h->dx_rows && !h->dx->overwrite,
    };
}

static struct gemm dw_gemm(const struct head *h, const struct chunk *c)
{
    return (struct gemm){
        .M = h->V,
        .N = h->C,
        .K = c->rows,
        .a = { h->logits, DT_F32, 1, h->V },
        .b = { c->x, h->x->type, h->C, 1 },
        .c = h->dw->data,
        .c_type = h->dw->type,
        .c_down = h->C,
        .add = c->from > 0 || !h->dw->overwrite,
    };
}

static void compute_chunk(struct dev *dev, struct head *h,
                          const struct chunk *c)
{
    struct gemm g = logits_gemm(h, c);

    gemm(dev, &g, h->scratch);
#pragma omp parallel for num_threads(cpu_threads(dev))                         \
    schedule(dynamic, 4) if (c->rows * h->V > ROWS_PIECE)
    for (int64_t i = 0; i < c->rows; i++)
        finish_row(h, c->from, i);
    if (h->dx) {
        g = dx_gemm(h, c);
        gemm(dev, &g, h->scratch);
        if (c->dx == h->dx_rows)
            scatter_dx(dev, h, c);
    }
    if (h->dw) {
        g = dw_gemm(h, c);
        gemm(dev, &g, h->scratch);
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* What the products of so many rows need, in whole lines. */
static size_t products_scratch(struct dev *dev, struct head *h, int64_t rows)
{
    const struct chunk c = { .rows = rows };
    struct gemm g = logits_gemm(h, &c);
    size_t need;

    if (rows == 0)
        return 0;
    need = gemm_scratch(dev, &g);
    if (h->dx) {
        g = dx_gemm(h, &c);
        need = larger(need, gemm_scratch(dev, &g));
    }
    if (h->dw) {
        g = dw_gemm(h, &c);
        need = larger(need, gemm_scratch(dev, &g));
    }
    return whole_lines(need);
}

/* Divide one scratch block among all that chunks of up to `most` rows need;
 * false if there is none.  Products of fewer rows are divided otherwise, and
 * may need more than those of `most`. */
static bool divide_scratch(struct dev *dev, struct head *h, int64_t most)
{
    const size_t N = (size_t)tensor_rows(h->x), rows = (size_t)most;
    const int64_t last = h->rows > 0 ? h->n_counted % h->rows : 0;
    const size_t counted = whole_lines(N * sizeof *h->counted);
    const size_t logits = rows * (size_t)h->V * sizeof *h->logits;
    const size_t parts = rows * (size_t)h->n_parts * sizeof *h->parts;
    const size_t dx = rows * (size_t)h->C * sizeof *h->dx_rows;
    const size_t need = larger(products_scratch(dev, h, h->rows),
                               products_scratch(dev, h, last));
    char *p = cpu_scratch(
        dev, need + counted + logits + dx + parts + rows * row_bytes(h->x),
        "head");

    if (!p)
        return false;
    h->scratch = p;
    h->counted = (int64_t *)(void *)(p + need);
    h->logits = (float *)(void *)(p + need + counted);
    h->dx_rows = h->logits + most * h->V;
    h->parts = (struct partial_lse *)(void *)(h->dx_rows + most * h->C);
    h->x_rows = h->parts + most * h->n_parts;
    return true;
}

static void compute_head(struct dev *dev, struct head *h)
{
    const int64_t most = head_rows_cpu(tensor_rows(h->x), h->V);

    assert(h->w->dim[1] == h->C && h->V <= h->w->dim[0]);
    count_rows(h);
    h->rows = head_equal_rows(h->n_counted, most);
    if (!divide_scratch(dev, h, most))
        return;
    count_rows(h);
    clear_uncounted(h);
    for (int64_t from = 0; from < h->n_counted; from += h->rows) {
        const struct chunk c = make_chunk(h, from);

        compute_chunk(dev, h, &c);
    }
}

void cpu_head(struct dev *dev, struct tensor *loss, struct tensor *dx,
              struct tensor *dw, const struct tensor *x, const struct tensor *w,
              const struct tensor *target, const struct head_teacher *teacher,
              int64_t vocab, float cap, float scale)
{
    struct head h = {
        .x = x,
        .w = w,
        .target = target,
        .teacher = teacher,
        .loss = loss,
        .dx = dx,
        .dw = dw,
        .V = vocab,
        .C = tensor_cols(x),
        .cap = cap,
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
