/*
 * attention_decode - the cache of keys and values, and attention of one new
 * position to it, on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <omp.h>

struct decode {
    const struct attn *a;
    const struct tensor *qkv;
    struct tensor *y, *keys, *values;
    int64_t place, n; /* of the new position; positions to attend to */
};

/* The keys and values of one row of qkv go to their place. */
VEC_FN void store_row(enum dtype type, struct tensor *keys,
                      struct tensor *values, const struct tensor *qkv,
                      const struct attn *a, int64_t row, int64_t place)
{
    const int64_t C = (int64_t)a->K * a->D;
    const int64_t from = row * (a->H + 2 * a->K) * a->D + a->H * a->D;
    const int64_t to = place * C;

    for (int64_t c = 0; c < C; c += VW) {
        const int64_t n = C - c;

        vf_give(keys->data, type, to + c, vf_take(qkv->data, type, from + c, n),
                n);
        vf_give(values->data, type, to + c,
                vf_take(qkv->data, type, from + C + c, n), n);
    }
}

VEC_FN void score_keys(enum dtype type, const struct decode *c, const float *q,
                       int64_t first, float *s)
{
    const int64_t step = (int64_t)c->a->K * c->a->D, D = c->a->D;

    for (int64_t u = 0; u < c->n; u++) {
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

/* o(d..) = the sum over keys u of p(u) v(u, d..), n vectors of it. */
VEC_FN void weigh_columns(enum dtype type, const int n, const struct decode *c,
                          const float *p, int64_t first, int64_t d, float *o)
{
    const int64_t step = (int64_t)c->a->K * c->a->D, left = c->a->D - d;
    vf sum[4] = { 0 };

    for (int64_t u = 0; u < c->n; u++) {
#pragma GCC unroll 4
        for (int k = 0; k < n; k++)
            sum[k] +=
                p[u] * vf_take(c->values->data, type,
                               first + u * step + d + k * VW, left - k * VW);
    }
#pragma GCC unroll 4
    for (int k = 0; k < n; k++)
        vf_give(o, DT_F32, d + k * VW, sum[k], left - k * VW);
}

/* Four vectors at a time share a reading of the values, which lie in order. */
VEC_FN void weigh_values(enum dtype type, const struct decode *c,
                         const float *p, int64_t first, float *o)
{
    const int64_t D = c->a->D;
    int64_t d = 0;

    for (; d + 4 * VW <= D; d += 4 * VW)
        weigh_columns(type, 4, c, p, first, d, o);
    for (; d < D; d += VW)
        weigh_columns(type, 1, c, p, first, d, o);
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
    sum = 1.0f / exponentiate(s, c->n);
    VEC_BY_TYPE(c->values->type, weigh_values, c, s, first, o);
    for (int64_t d = 0; d < D; d++)
        num_put(c->y->data, c->y->type, (b * a->H + h) * D + d, o[d] * sum);
}

void cpu_attn_decode(struct dev *dev, struct tensor *y, struct tensor *keys,
                     struct tensor *values, const struct tensor *qkv,
                     int64_t at, const struct attn *a)
{
    const struct decode c = { .a = a,
                              .qkv = qkv,
                              .y = y,
                              .keys = keys,
                              .values = values,
                              .place = at % a->T,
                              .n = at < a->T ? at + 1 : a->T };
    const int64_t B = tensor_rows(y);
    const int64_t each = (a->T + 2 * a->D + 4 * VW + 15) / 16 * 16;
    const int threads = cpu_threads(dev);
    float *room = cpu_scratch(dev, (size_t)(each * threads) * sizeof *room,
                              "attn_decode");

    assert(at >= 0);
    if (!room)
        return;
    for (int64_t b = 0; b < B; b++)
        VEC_BY_TYPE(qkv->type, store_row, keys, values, qkv, a, b,
                    b * a->T + c.place);
#pragma omp parallel for num_threads(threads) if (B * a->H * a->D * c.n >      \
                                                  ROWS_PIECE)
    for (int64_t i = 0; i < B * a->H; i++)
        decode_head(&c, i / a->H, i % a->H, room + omp_get_thread_num() * each);
}

void cpu_attn_store(struct dev *dev, struct tensor *keys, struct tensor *values,
                    const struct tensor *qkv, const struct attn *a)
{
    const int64_t N = tensor_rows(qkv), T = a->T;

    assert(T <= keys->dim[1] && N == keys->dim[0] * T);
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(qkv) > \
                                                           ROWS_PIECE)
    for (int64_t n = 0; n < N; n++)
        VEC_BY_TYPE(qkv->type, store_row, keys, values, qkv, a, n,
                    n / T * keys->dim[1] + n % T);
}
