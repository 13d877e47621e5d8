/*
 * attention_decode - the cache of keys and values, and attention of one new
 * position to it, on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>
#include <omp.h>

/* A query head of a sequence.  q and o are padded with zeros to whole vectors,
 * and s has a vector after its n numbers.  No other thread's heads are in its
 * lines of the cache. */
struct head {
    _Alignas(64) int64_t at; /* of its keys and values, at position 0 */
    float *s, *q, *o, sum;
};

struct decode {
    const struct attn *a;
    const struct tensor *qkv;
    struct tensor *y, *keys, *values;
    int64_t place, n;  /* of the new position; positions to attend to */
    int64_t step;      /* from a position of the cache to the next */
    int64_t wide;      /* of q and of o, floats */
    struct head *head; /* a->H of them for each thread */
    float *room;       /* `each` floats for q, o and s of each head */
    int64_t each;
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

/*
 * Scores, and then sums of values, of n neighbouring heads.  The keys of all
 * heads at a position lie together, and so do the values.  Most of the time is
 * that of reading them, so this is done position by position, in the order of
 * memory, which the processor can predict.
 */
VEC_FN void score_keys(enum dtype type, const struct decode *c,
                       const struct head *head, int64_t n)
{
    const int64_t D = c->a->D;

    for (int64_t u = 0; u < c->n; u++) {
        for (const struct head *h = head; h < head + n; h++) {
            const int64_t at = h->at + u * c->step;
            vf sum = vf_set(0.0f);

            for (int64_t d = 0; d < D; d += VW)
                sum += vf_load(h->q + d) *
                       vf_take(c->keys->data, type, at + d, D - d);
            h->s[u] = vf_sum(sum);
        }
    }
}

VEC_FN void weigh_values(enum dtype type, const struct decode *c,
                         const struct head *head, int64_t n)
{
    const int64_t D = c->a->D;

    for (int64_t u = 0; u < c->n; u++) {
        for (const struct head *h = head; h < head + n; h++) {
            const int64_t at = h->at + u * c->step;
            const float p = h->s[u];
            float *o = h->o;

            for (int64_t d = 0; d < D; d += VW)
                vf_store(o + d,
                         vf_load(o + d) +
                             p * vf_take(c->values->data, type, at + d, D - d));
        }
    }
}

/* n scores become exp(s - max); returns their sum. */
static float exponentiate(float *s, int64_t n)
{
    vf max = vf_set(-INFINITY), sum = vf_set(0.0f);

    vf_store(s + n, max);
    for (int64_t i = 0; i < n; i += VW)
        max = vf_max(max, vf_load(s + i));
    max = vf_set(vf_largest(max));
    for (int64_t i = 0; i < n; i += VW) {
        const vf p = vf_exp(vf_load(s + i) - max);

        vf_store(s + i, p);
        sum += p;
    }
    return vf_sum(sum);
}

/* The query of head h of sequence b; no values yet. */
static void begin_head(const struct decode *c, struct head *head, int64_t b,
                       int64_t h)
{
    const struct attn *a = c->a;
    const int64_t D = a->D, from = (b * (a->H + 2 * a->K) + h) * D;

    head->at = (b * a->T * a->K + h * a->K / a->H) * D;
    head->q = c->room + (head - c->head) * c->each;
    head->o = head->q + c->wide;
    head->s = head->o + c->wide;
    memset(head->q, 0, (size_t)(2 * c->wide) * sizeof *head->q);
    for (int64_t d = 0; d < D; d++)
        head->q[d] = a->scale * num_get(c->qkv->data, c->qkv->type, from + d);
}

/* n heads of one sequence, from the i-th of those of all sequences on. */
static void decode_heads(const struct decode *c, struct head *head, int64_t i,
                         int64_t n)
{
    const int64_t H = c->a->H, D = c->a->D;

    for (int64_t k = 0; k < n; k++)
        begin_head(c, &head[k], i / H, i % H + k);
    VEC_BY_TYPE(c->keys->type, score_keys, c, head, n);
    for (int64_t k = 0; k < n; k++)
        head[k].sum = exponentiate(head[k].s, c->n);
    VEC_BY_TYPE(c->values->type, weigh_values, c, head, n);
    for (int64_t k = 0; k < n; k++)
        for (int64_t d = 0; d < D; d++)
            num_put(c->y->data, c->y->type, (i + k) * D + d,
                    head[k].o[d] / head[k].sum);
}
/* A thread's share of the heads of all sequences. */
static void decode_share(const struct decode *c, int64_t heads, int64_t thread,
                         int64_t threads)
{
    const int64_t end = rows_chunk(heads, thread + 1, threads), H = c->a->H;
    int64_t i = rows_chunk(heads, thread, threads), n;

    for (; i < end; i += n) {
        n = H - i % H < end - i ? H - i % H : end - i;
        decode_heads(c, c->head + thread * H, i, n);
    }
}

/* n floats in whole lines of the cache, which are whole vectors */
static int64_t whole(int64_t n)
{
    return (n + 15) / 16 * 16;
}

void cpu_attn_decode(struct dev *dev, struct tensor *y, struct tensor *keys,
                     struct tensor *values, const struct tensor *qkv,
                     int64_t at, const struct attn *a)
{
    struct decode c = { .a = a,
                        .qkv = qkv,
                        .y = y,
                        .keys = keys,
                        .values = values,
                        .place = at % a->T,
                        .n = at < a->T ? at + 1 : a->T,
                        .step = (int64_t)a->K * a->D,
                        .wide = whole(a->D),
                        .each = 2 * whole(a->D) + whole(a->T + VW) };
    const int64_t B = tensor_rows(y), heads = B * a->H;
    const int threads = cpu_threads(dev);
    const int64_t rooms = (int64_t)threads * a->H;

    assert(at >= 0);
    c.room = cpu_scratch(
        dev, (size_t)rooms * ((size_t)c.each * sizeof *c.room + sizeof *c.head),
        "attn_decode");
    if (!c.room)
        return;
    c.head = (struct head *)(void *)(c.room + rooms * c.each);
    for (int64_t b = 0; b < B; b++)
        VEC_BY_TYPE(qkv->type, store_row, keys, values, qkv, a, b,
                    b * a->T + c.place);
#pragma omp parallel num_threads(threads) if (heads * a->D * c.n > ROWS_PIECE)
    decode_share(&c, heads, omp_get_thread_num(), omp_get_num_threads());
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
