/*
 * attention - on the CPU, without the T by T matrix of scores; rotary positions
 *
 * Queries are taken in strips of NR, the width of a tile, and the scores are
 * transposed: s(u,t) has a row for each key u and a column for each query t of
 * the strip.  So the operands of every product below lie as the tile reads
 * them, softmax works on all columns at once, and only keys up to the strip's
 * last query are used, from the first that its first query sees on:
 *
 *      s = k q'        packed keys      times packed queries
 *      o' = v' p       packed values    times s, which lies as a packed B does
 *
 * and backward, with p from s and lse, and g = v dy',
 *
 *      ds = p (g - delta),  delta(t) = dy(t).y(t)
 *      dq' = k' ds,   dk += ds q,   dv += p dy
 *
 * A thread takes all query heads of one key head of one sequence, so dk and dv
 * are summed in one place and in one order.
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/rows.h"

#include <assert.h>
#include <math.h>
#include <omp.h>

enum { NR = GEMM_NR };

/* A side of a product, packed in panels for the tile. */
struct attention_panels {
    float *data;
    int64_t rows, n, K;
};

/* One key head of one sequence, and the memory a thread works in. */
struct attention {
    const struct attn *a;
    const struct tensor *qkv, *dy;
    struct tensor *y, *lse, *dqkv;
    const struct tensor *y_in, *lse_in;
    int64_t seq, kv;
    struct attention_panels k, v, k_transposed;
    float *s, *g, *mask; /* (T, NR) */
    float *q, *q_rows, *d, *d_rows, *o, *o_rows;
    float *dk, *dv; /* (T, D) */
};

/* A strip: queries t..t+n of head h, and keys from..keys, where keys = t+n. */
struct attention_strip {
    int64_t h, t, n, from, keys;
};

/* Where the numbers of a strip begin in lse(B,H,T). */
static int64_t lse_offset(const struct attention *w,
                          const struct attention_strip *at)
{
    return (w->seq * w->a->H + at->h) * w->a->T + at->t;
}

/* Columns `from`.. of the sequence's rows, as (t, d) or transposed. */
static struct gemm_view view_of(const struct attention *w,
                                const struct tensor *t, int64_t from,
                                bool transpose)
{
    const int64_t width = tensor_cols(t), at = w->seq * w->a->T * width + from;
    const char *data =
        (const char *)t->data + at * (int64_t)dtype_size(t->type);

    return (struct gemm_view){ data, t->type, transpose ? 1 : width,
                               transpose ? width : 1 };
}

static void pack_panels(struct attention_panels *p, const struct gemm_view *v,
                        int64_t rows, int64_t K)
{
    p->rows = rows;
    p->n = gemm_panels(rows);
    p->K = K;
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t row = gemm_panel(rows, i, p->n);

        gemm_pack_a(p->data + row * K, v, row,
                    gemm_panel(rows, i + 1, p->n) - row, 0, K);
    }
}

/* c(rows, NR) = panels times b, for the panels with a row of the strip. */
static void multiply_keys(float *c, const struct attention_panels *p,
                          const float *b, const struct attention_strip *at)
{
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t row = gemm_panel(p->rows, i, p->n);
        const int64_t next = gemm_panel(p->rows, i + 1, p->n);

        if (row >= at->keys)
            break;
        if (next > at->from)
            gemm_tile(1, c + row * NR, NR, p->data + row * p->K, b, NULL,
                      next - row, NR, p->K, false);
    }
}

/* c(D, NR) = panels(D, keys) times b(keys, NR), over the keys of the strip. */
static void multiply_over_keys(float *c, const struct attention_panels *p,
                               const float *b, const struct attention_strip *at)
{
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t row = gemm_panel(p->rows, i, p->n);
        const int64_t n = gemm_panel(p->rows, i + 1, p->n) - row;

        gemm_tile(1, c + row * NR, NR, p->data + row * p->K + at->from * n,
                  b + at->from * NR, NULL, n, NR, at->keys - at->from, false);
    }
}

/* c(keys, D) [+]= s(keys, n) rows(n, D), rows packed by NR columns. */
static void add_product(float *c, const float *s, const float *rows,
                        const struct attention_strip *at, int64_t D, bool add)
{
    for (int64_t u = at->from; u < at->keys; u += GEMM_MR) {
        const int64_t n = at->keys - u < GEMM_MR ? at->keys - u : GEMM_MR;

        for (int64_t d = 0; d < D; d += NR)
            gemm_tile_rows(c + u * D + d, D, s + u * NR, rows + d * NR, n,
                           D - d < NR ? D - d : NR, at->n, add);
    }
}

/* A strip of rows t.., transposed as (D, NR), and, unless rows is NULL, packed
 * by NR columns. */
static void pack_strip(float *transposed, float *rows,
                       const struct attention *w, const struct tensor *t,
                       int64_t from, const struct attention_strip *at)
{
    const int64_t D = w->a->D;
    const struct gemm_view up = view_of(w, t, from, true);
    const struct gemm_view flat = view_of(w, t, from, false);

    gemm_pack_b(transposed, &up, at->t, at->n, 0, D);
    for (int64_t d = 0; rows && d < D; d += NR)
        gemm_pack_b(rows + d * NR, &flat, d, D - d < NR ? D - d : NR, at->t,
                    at->n);
}

/* The dropout mask of a strip, transposed as the scores are. */
static void make_mask(const struct attention *w,
                      const struct attention_strip *at)
{
    const struct attn *a = w->a;
    const int64_t first = ((w->seq * a->H + at->h) * a->T + at->t) * a->T;
    float line[64];

    for (int64_t t = 0; t < at->n; t++) {
        for (int64_t u = at->from; u < at->keys; u += 64) {
            const int64_t n = at->keys - u < 64 ? at->keys - u : 64;

            dropout_mask(line, &a->drop, (uint64_t)(first + t * a->T + u), n);
            for (int64_t i = 0; i < n; i++)
                w->mask[(u + i) * NR + t] = line[i];
        }
    }
}

/* Scores of keys that a query must not see become -inf: those after it, and
 * those before its window or its document. */
static void hide_keys(float *s, const struct attention *w,
                      const struct attention_strip *at)
{
    const int64_t row = w->seq * w->a->T + at->t;

    for (int64_t u = at->t; u < at->keys; u++) {
        for (int64_t t = 0; t < u - at->t; t++)
            s[u * NR + t] = -INFINITY;
    }
    for (int64_t t = 0; t < at->n; t++) {
        const int64_t first = attn_first(w->a, row + t);

        for (int64_t u = at->from; u < first; u++)
            s[u * NR + t] = -INFINITY;
    }
}

static struct attention_strip strip_of(const struct attention *w, int64_t h,
                                       int64_t t)
{
    const int64_t T = w->a->T, n = T - t < NR ? T - t : NR;

    return (struct attention_strip){ .h = h,
                                     .t = t,
                                     .n = n,
                                     .from = attn_first(w->a, w->seq * T + t),
                                     .keys = t + n };
}

/* ---- forward ----------------------------------------------------------- */

/* s = exp(s - max), column by column; sum and log(sum(exp)) of each. */
static void strip_softmax(float *s, const struct attention *w,
                          const struct attention_strip *at, float *sum,
                          float *lse)
{
    vf max0 = vf_set(-INFINITY), max1 = max0;
    vf sum0 = vf_set(0.0f), sum1 = sum0;

    hide_keys(s, w, at);
    for (int64_t u = at->from; u < at->keys; u++) {
        max0 = vf_max(vf_load(s + u * NR), max0);
        max1 = vf_max(vf_load(s + u * NR + VW), max1);
    }
    for (int64_t u = at->from; u < at->keys; u++) {
        const vf p0 = vf_exp(vf_load(s + u * NR) - max0);
        const vf p1 = vf_exp(vf_load(s + u * NR + VW) - max1);

        vf_store(s + u * NR, p0);
        vf_store(s + u * NR + VW, p1);
        sum0 += p0;
        sum1 += p1;
    }
    vf_store(sum, sum0);
    vf_store(sum + VW, sum1);
    vf_store(lse, max0);
    vf_store(lse + VW, max1);
    for (int64_t t = 0; t < at->n; t++)
        lse[t] += logf(sum[t]);
}

static void apply_mask(float *s, const float *mask,
                       const struct attention_strip *at)
{
    for (int64_t i = at->from * NR; i < at->keys * NR; i += VW)
        vf_store(s + i, vf_load(s + i) * vf_load(mask + i));
}

/* t(at..) = factor x(D), or += where add is set. */
VEC_FN void write_row(enum dtype type, struct tensor *t, int64_t at,
                      const float *x, int64_t D, float factor, bool add)
{
    for (int64_t d = 0; d < D; d += VW)
        vf_give_or_add(t->data, type, at + d,
                       vf_take(x, DT_F32, d, D - d) * factor, D - d, add);
}

/* Rows `row`.. of t, columns from..from+D, are the columns of o(D, NR), each
 * times its factor. */
static void write_transposed(const struct attention *w, struct tensor *t,
                             int64_t row, int64_t from, int64_t n,
                             const float *factor, bool add)
{
    const int64_t D = w->a->D, width = tensor_cols(t);
    const struct gemm_view o = { w->o, DT_F32, NR, 1 };

    gemm_pack_a(w->o_rows, &o, 0, D, 0, n);
    for (int64_t i = 0; i < n; i++)
        VEC_BY_TYPE(t->type, write_row, t, (row + i) * width + from,
                    w->o_rows + i * D, D, factor[i], add);
}

static void forward_strip(const struct attention *w,
                          const struct attention_strip *at)
{
    const struct attn *a = w->a;
    const int64_t D = a->D, row = w->seq * a->T + at->t;
    float sum[NR], lse[NR];

    pack_strip(w->q, NULL, w, w->qkv, at->h * D, at);
    for (int64_t i = 0; i < D * NR; i++)
        w->q[i] *= a->scale;
    multiply_keys(w->s, &w->k, w->q, at);
    strip_softmax(w->s, w, at, sum, lse);
    if (a->drop.p > 0.0f) {
        make_mask(w, at);
        apply_mask(w->s, w->mask, at);
    }
    multiply_over_keys(w->o, &w->v, w->s, at);
    for (int64_t t = 0; t < at->n; t++) {
        sum[t] = 1.0f / sum[t];
        ((float *)w->lse->data)[lse_offset(w, at) + t] = lse[t];
    }
    write_transposed(w, w->y, row, at->h * D, at->n, sum, false);
}

static void forward_head(struct attention *w)
{
    const struct attn *a = w->a;
    const int64_t D = a->D, group = a->H / a->K;
    const struct gemm_view k = view_of(w, w->qkv, (a->H + w->kv) * D, false);
    const struct gemm_view v =
        view_of(w, w->qkv, (a->H + a->K + w->kv) * D, true);

    pack_panels(&w->k, &k, a->T, D);
    pack_panels(&w->v, &v, D, a->T);
    for (int64_t h = w->kv * group; h < (w->kv + 1) * group; h++) {
        for (int64_t t = 0; t < a->T; t += NR) {
            const struct attention_strip at = strip_of(w, h, t);

            forward_strip(w, &at);
        }
    }
}

/* ---- backward ---------------------------------------------------------- */

VEC_FN void dot(enum dtype type, const void *x, const void *y, int64_t at,
                int64_t n, float *out)
{
    vf sum = vf_set(0.0f);

    for (int64_t i = 0; i < n; i += VW)
        sum +=
            vf_take(x, type, at + i, n - i) * vf_take(y, type, at + i, n - i);
    *out = vf_sum(sum);
}

/* delta(t) = dy(t).y(t) of the strip's rows. */
static void make_delta(const struct attention *w,
                       const struct attention_strip *at, float *delta)
{
    const struct attn *a = w->a;
    const int64_t row = w->seq * a->T + at->t;

    for (int64_t t = 0; t < at->n; t++)
        VEC_BY_TYPE(w->dy->type, dot, w->y_in->data, w->dy->data,
                    ((row + t) * a->H + at->h) * a->D, a->D, &delta[t]);
}

/* s, g to p, ds: p = exp(s - lse), ds = p (m g - delta), and p becomes m p. */
static void strip_gradient(const struct attention *w,
                           const struct attention_strip *at, const float *lse,
                           const float *delta)
{
    const bool dropout = w->a->drop.p > 0.0f;

    hide_keys(w->s, w, at);
    for (int64_t i = at->from * NR; i < at->keys * NR; i += VW) {
        const int64_t t = i % NR;
        vf p = vf_exp(vf_load(w->s + i) - vf_load(lse + t));
        vf g = vf_load(w->g + i);

        if (dropout)
            g *= vf_load(w->mask + i);
        vf_store(w->g + i, p * (g - vf_load(delta + t)));
        if (dropout)
            p *= vf_load(w->mask + i);
        vf_store(w->s + i, p);
    }
}

static void backward_strip(const struct attention *w,
                           const struct attention_strip *at, bool first)
{
    const struct attn *a = w->a;
    const int64_t D = a->D, row = w->seq * a->T + at->t;
    float lse[NR], delta[NR] = { 0 }, scale[NR];

    for (int64_t t = 0; t < NR; t++) {
        lse[t] = t < at->n
                     ? ((const float *)w->lse_in->data)[lse_offset(w, at) + t]
                     : INFINITY;
        scale[t] = a->scale;
    }
    make_delta(w, at, delta);
    pack_strip(w->q, w->q_rows, w, w->qkv, at->h * D, at);
    for (int64_t i = 0; i < D * NR; i++)
        w->q[i] *= a->scale;
    pack_strip(w->d, w->d_rows, w, w->dy, at->h * D, at);
    multiply_keys(w->s, &w->k, w->q, at);
    multiply_keys(w->g, &w->v, w->d, at);
    if (a->drop.p > 0.0f)
        make_mask(w, at);
    strip_gradient(w, at, lse, delta);
    multiply_over_keys(w->o, &w->k_transposed, w->g, at);
    write_transposed(w, w->dqkv, row, at->h * D, at->n, scale,
                     !w->dqkv->overwrite);
    add_product(w->dv, w->s, w->d_rows, at, D, !first);
    add_product(w->dk, w->g, w->q_rows, at, D, !first);
}

/* Columns `from`.. of the sequence's rows of dqkv += factor * x(T, D). */
static void write_rows(const struct attention *w, int64_t from, const float *x,
                       float factor)
{
    const int64_t D = w->a->D, width = (w->a->H + 2 * w->a->K) * D;
    const int64_t first = w->seq * w->a->T * width + from;

    for (int64_t i = 0; i < w->a->T; i++)
        VEC_BY_TYPE(w->dqkv->type, write_row, w->dqkv, first + i * width,
                    x + i * D, D, factor, !w->dqkv->overwrite);
}

static void backward_head(struct attention *w)
{
    const struct attn *a = w->a;
    const int64_t D = a->D, group = a->H / a->K, head = w->kv * group;
    const int64_t last = (a->T - 1) / NR * NR;
    const bool sees_all = strip_of(w, head, last).from == 0;
    const struct gemm_view k = view_of(w, w->qkv, (a->H + w->kv) * D, false);
    const struct gemm_view up = view_of(w, w->qkv, (a->H + w->kv) * D, true);
    const struct gemm_view v =
        view_of(w, w->qkv, (a->H + a->K + w->kv) * D, false);

    pack_panels(&w->k, &k, a->T, D);
    pack_panels(&w->v, &v, a->T, D);
    pack_panels(&w->k_transposed, &up, D, a->T);
    /* If the last strip sees every key, it sets what the others add to. */
    for (int64_t i = 0; !sees_all && i < a->T * D; i++)
        w->dk[i] = w->dv[i] = 0.0f;
    for (int64_t h = head; h < head + group; h++) {
        for (int64_t t = last; t >= 0; t -= NR) {
            const struct attention_strip at = strip_of(w, h, t);

            backward_strip(w, &at, sees_all && h == head && t == last);
        }
    }
    write_rows(w, (a->H + w->kv) * D, w->dk, a->scale);
    write_rows(w, (a->H + a->K + w->kv) * D, w->dv, 1.0f);
}

/* ---- forward and backward ---------------------------------------------- */

/* Divide a thread's memory; with a NULL base, only count it. */
static int64_t divide_memory(struct attention *w, float *base)
{
    const int64_t T = w->a->T, D = w->a->D;
    const int64_t keys = (T + GEMM_MR) * NR, wide = (D + NR - 1) / NR * NR;
    const struct {
        float **p;
        int64_t n;
    } parts[] = {
        { &w->k.data, T * D },
        { &w->v.data, T * D },
        { &w->k_transposed.data, T * D },
        { &w->s, keys },
        { &w->g, keys },
        { &w->mask, keys },
        { &w->q, D * NR },
        { &w->q_rows, wide * NR },
        { &w->d, D * NR },
        { &w->d_rows, wide * NR },
        { &w->o, (D + GEMM_MR) * NR },
        { &w->o_rows, D * NR },
        { &w->dk, T * D },
        { &w->dv, T * D },
    };
    int64_t used = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i].p = base ? base + used : NULL;
        used += (parts[i].n + 15) / 16 * 16;
    }
    return used;
}

static void for_each_head(struct dev *dev, const struct attention *all,
                          const char *op, void (*head)(struct attention *))
{
    const struct attn *a = all->a;
    const int64_t n = tensor_rows(all->qkv) / a->T * a->K;
    struct cpu_share share[CPU_SHARES] = { 0 };
    struct attention first = *all;
    const int64_t each = divide_memory(&first, NULL);
    float *scratch = cpu_scratch(
        dev, (size_t)(each * cpu_threads(dev)) * sizeof *scratch, op);

    assert(tensor_rows(all->qkv) % a->T == 0 && a->H % a->K == 0);
    if (!scratch)
        return;
#pragma omp parallel num_threads(cpu_threads(dev))
    for (int64_t i; (i = cpu_take(share, 0, n, 1)) >= 0;) {
        struct attention w = *all;

        divide_memory(&w, scratch + omp_get_thread_num() * each);
        w.seq = i / a->K;
        w.kv = i % a->K;
        head(&w);
    }
}

void cpu_attn_fwd(struct dev *dev, struct tensor *y, struct tensor *lse,
                  const struct tensor *qkv, const struct attn *a)
{
    for_each_head(dev,
                  &(struct attention){ .a = a, .qkv = qkv, .y = y, .lse = lse },
                  "attn_fwd", forward_head);
}

void cpu_attn_bwd(struct dev *dev, struct tensor *dqkv,
                  const struct tensor *qkv, const struct tensor *y,
                  const struct tensor *lse, const struct tensor *dy,
                  const struct attn *a)
{
    for_each_head(dev,
                  &(struct attention){ .a = a,
                                       .qkv = qkv,
                                       .dy = dy,
                                       .dqkv = dqkv,
                                       .y_in = y,
                                       .lse_in = lse },
                  "attn_bwd", backward_head);
}

/* ---- rotary positions -------------------------------------------------- */

/* turn(t, i, 0) = cos and turn(t, i, 1) = sin of the angle of pair i at t. */
static void make_angles(float *turn, int64_t T, int64_t D, int64_t from,
                        const struct rope *r)
{
    for (int64_t i = 0; i < D / 2; i++) {
        const double rate = rope_scaled(
            r, i, pow((double)r->theta, -2.0 * (double)i / (double)D));

        for (int64_t t = 0; t < T; t++) {
            const double angle = (double)(from + t) * rate;

            turn[t * D + i] = (float)(r->length * cos(angle));
            turn[t * D + D / 2 + i] = (float)(r->length * sin(angle));
        }
    }
}

/* The table for these positions, which is kept for the other layers. */
static const float *angle_table(struct dev *dev, int64_t T, int64_t D,
                                int64_t from, const struct rope *r)
{
    struct cpu *cpu = dev->state;
    const struct rope_angles want = {
        .T = T, .D = D, .from = from, .rope = *r
    };

    if (!cpu_reserve_rope(dev, T * D))
        return NULL;
    if (memcmp(&cpu->rope, &want, sizeof want) != 0) {
        make_angles(cpu->rope_table, T, D, from, r);
        cpu->rope = want;
    }
    return cpu->rope_table;
}

VEC_FN void rotate_head(enum dtype type, void *x, int64_t at, const float *turn,
                        int64_t D, bool inverse)
{
    const int64_t half = D / 2;

    for (int64_t i = 0; i < half; i += VW) {
        const int64_t n = half - i;
        const vf a = vf_take(x, type, at + i, n);
        const vf b = vf_take(x, type, at + half + i, n);
        const vf c = vf_take(turn, DT_F32, i, n);
        vf s = vf_take(turn, DT_F32, half + i, n);

        s = inverse ? -s : s;
        vf_give(x, type, at + i, a * c - b * s, n);
        vf_give(x, type, at + half + i, b * c + a * s, n);
    }
}

void cpu_rope(struct dev *dev, struct tensor *qkv, int H, int K, int64_t T,
              int64_t from, const struct rope *r, bool inverse)
{
    const int64_t N = tensor_rows(qkv), width = tensor_cols(qkv);
    const int64_t D = width / (H + 2 * K);
    const float *turn = angle_table(dev, T, D, from, r);

    assert(D % 2 == 0);
    if (!turn)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * width >         \
                                                           ROWS_PIECE)
    for (int64_t n = 0; n < N; n++) {
        for (int64_t h = 0; h < H + K; h++)
            VEC_BY_TYPE(qkv->type, rotate_head, qkv->data, n * width + h * D,
                        turn + n % T * D, D, inverse);
    }
}
