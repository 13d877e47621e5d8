/*
 * heads - what is done to each head of queries, keys and values by itself, on
 * the CPU: rotary positions, RMSNorm, and attention to a cache of keys
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>
#include <omp.h>

/* ---- rotary positions --------------------------------------------------- */

/* turn(t, i, 0) = cos and turn(t, i, 1) = sin of the angle of pair i at t. */
static void make_angles(float *turn, int64_t T, int64_t D, int64_t from,
                        float theta)
{
    for (int64_t i = 0; i < D / 2; i++) {
        const double rate = pow((double)theta, -2.0 * (double)i / (double)D);

        for (int64_t t = 0; t < T; t++) {
            const double angle = (double)(from + t) * rate;

            turn[t * D + i] = (float)cos(angle);
            turn[t * D + D / 2 + i] = (float)sin(angle);
        }
    }
}

/* The table for these positions: kept, since every layer asks for the same. */
static const float *angle_table(struct dev *dev, int64_t T, int64_t D,
                                int64_t from, float theta)
{
    struct cpu *cpu = dev->state;
    const struct rope_angles want = {
        .T = T, .D = D, .from = from, .theta = theta
    };

    if (!cpu_reserve_rope(dev, T * D))
        return NULL;
    if (!rope_angles_equal(&cpu->rope, &want)) {
        make_angles(cpu->rope_table, T, D, from, theta);
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
              int64_t from, float theta, bool inverse)
{
    const int64_t N = tensor_rows(qkv), width = tensor_cols(qkv);
    const int64_t D = width / (H + 2 * K);
    const float *turn = angle_table(dev, T, D, from, theta);

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

/* ---- RMSNorm of each head ----------------------------------------------- */

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

            vf_give(part, DT_F32, d, vf_take(part, DT_F32, d, left) + t, left);
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
        if (!q->y->fresh)
            v += vf_take(q->y->data, type, at + d, left);
        vf_give(q->y->data, type, at + d, v, left);
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

/* ---- attention to a cache ----------------------------------------------- */

struct decode {
    const struct attn *a;
    const struct tensor *qkv;
    struct tensor *y, *keys, *values;
    int64_t at;
};

/* The new key and value of one key head go to their place. */
VEC_FN void append_key(enum dtype type, const struct decode *c, int64_t b,
                       int64_t kv)
{
    const struct attn *a = c->a;
    const int64_t from = (b * (a->H + 2 * a->K) + a->H + kv) * a->D;
    const int64_t to = ((b * a->T + c->at) * a->K + kv) * a->D;

    for (int64_t d = 0; d < a->D; d += VW) {
        const int64_t n = a->D - d;

        vf_give(c->keys->data, c->keys->type, to + d,
                vf_take(c->qkv->data, type, from + d, n), n);
        vf_give(c->values->data, c->values->type, to + d,
                vf_take(c->qkv->data, type, from + a->K * a->D + d, n), n);
    }
}

VEC_FN void score_keys(enum dtype type, const struct decode *c, const float *q,
                       int64_t first, float *s)
{
    const int64_t step = (int64_t)c->a->K * c->a->D, D = c->a->D;

    for (int64_t u = 0; u <= c->at; u++) {
        vf sum = vf_set(0.0f);

        for (int64_t d = 0; d < D; d += VW)
            sum += vf_take(q, DT_F32, d, D - d) *
                   vf_take(c->keys->data, type, first + u * step + d, D - d);
        s[u] = vf_sum(sum);
    }
}

/* Scores become exp(s - max); returns their sum. */
static float exponentiate(float *s, int64_t n)
{
    float max = s[0], sum = 0.0f;

    for (int64_t i = 1; i < n; i++)
        max = s[i] > max ? s[i] : max;
    for (int64_t i = 0; i < n; i += VW) {
        const vf p = vf_exp(vf_take(s, DT_F32, i, n - i) - max);

        vf_give(s, DT_F32, i, p, n - i);
    }
    for (int64_t i = 0; i < n; i++)
        sum += s[i];
    return sum;
}

VEC_FN void weigh_values(enum dtype type, const struct decode *c,
                         const float *p, int64_t first, float *o)
{
    const int64_t step = (int64_t)c->a->K * c->a->D, D = c->a->D;

    for (int64_t d = 0; d < D; d += VW) {
        vf sum = vf_set(0.0f);

        for (int64_t u = 0; u <= c->at; u++)
            sum += p[u] *
                   vf_take(c->values->data, type, first + u * step + d, D - d);
        vf_give(o, DT_F32, d, sum, D - d);
    }
}

static void decode_head(const struct decode *c, int64_t b, int64_t h, float *s)
{
    const struct attn *a = c->a;
    const int64_t D = a->D, kv = h * a->K / a->H;
    const int64_t first = (b * a->T * a->K + kv) * D;
    const int64_t from = (b * (a->H + 2 * a->K) + h) * D;
    float *q = s + a->T + VW, *o = q + D + VW, sum;

    for (int64_t d = 0; d < D; d++)
        q[d] = a->scale * num_get(c->qkv->data, c->qkv->type, from + d);
    VEC_BY_TYPE(c->keys->type, score_keys, c, q, first, s);
    sum = 1.0f / exponentiate(s, c->at + 1);
    VEC_BY_TYPE(c->values->type, weigh_values, c, s, first, o);
    for (int64_t d = 0; d < D; d++)
        num_put(c->y->data, c->y->type, (b * a->H + h) * D + d, o[d] * sum);
}

void cpu_attn_decode(struct dev *dev, struct tensor *y, struct tensor *keys,
                     struct tensor *values, const struct tensor *qkv,
                     int64_t at, const struct attn *a)
{
    const struct decode c = {
        .a = a, .qkv = qkv, .y = y, .keys = keys, .values = values, .at = at
    };
    const int64_t B = tensor_rows(y), each = a->T + 2 * a->D + 4 * VW;
    const int threads = cpu_threads(dev);
    float *room = cpu_scratch(dev, (size_t)(each * threads) * sizeof *room,
                              "attn_decode");

    assert(at >= 0 && at < a->T);
    if (!room)
        return;
    for (int64_t i = 0; i < B * a->K; i++)
        VEC_BY_TYPE(qkv->type, append_key, &c, i / a->K, i % a->K);
#pragma omp parallel for num_threads(threads) if (B * a->H * a->D * at >       \
                                                  ROWS_PIECE)
    for (int64_t i = 0; i < B * a->H; i++)
        decode_head(&c, i / a->H, i % a->H, room + omp_get_thread_num() * each);
}
