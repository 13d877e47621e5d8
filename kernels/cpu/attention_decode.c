/*
 * attention_decode - the cache of keys and values, and attention of new
 * positions to it, on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>
#include <omp.h>

/*
 * How many positions all heads attend to at once.  The keys of all heads at a
 * position lie together, and so do the values.  Reading them takes most of the
 * time, so each chunk is read in the order of memory, which the processor can
 * predict.  Threads take whole chunks, since two that read parts of the same
 * rows slow each other down; the results of the chunks are added in order.
 */
enum { CHUNK = 64 };

struct decode {
    const struct attn *a;
    const struct tensor *qkv;
    struct tensor *y, *keys, *values;
    int64_t at, fresh; /* the first new position; those of each sequence */
    int64_t chunks;    /* of the positions to attend to */
    int64_t step;      /* from a position of the cache to the next */
    int64_t wide;      /* D in whole vectors */
    float *part;  /* of each head in each chunk: `each` floats, which are */
    int64_t each; /* a sum of values, the largest score, the sum of exp */
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

/* Does the new position t see the one at place u of the cache? */
static bool sees(const struct decode *c, int64_t t, int64_t u)
{
    const int64_t T = c->a->T;

    return !c->a->window || attn_sees(c->a, (t % T - u + T) % T);
}

/* The positions that t attends to, but for windows. */
static int64_t attended(const struct attn *a, int64_t t)
{
    return t < a->T ? t + 1 : a->T;
}

VEC_FN void scale_queries(enum dtype type, const struct decode *c, int64_t row,
                          float *q)
{
    const struct attn *a = c->a;
    const int64_t D = a->D;

    for (int64_t h = 0; h < a->H; h++) {
        const int64_t from = (row * (a->H + 2 * a->K) + h) * D;

        for (int64_t d = 0; d < D; d += VW)
            vf_store(q + h * c->wide + d,
                     a->scale * vf_take(c->qkv->data, type, from + d, D - d));
    }
}

/* s(h) = q(h) k(h) of a position, whose keys begin at `at`. */
VEC_FN void score_keys(enum dtype type, const struct decode *c, const float *q,
                       int64_t at, float *s)
{
    const int64_t D = c->a->D, group = c->a->H / c->a->K;

    for (int64_t h = 0; h < c->a->H; at += D) {
        for (const int64_t end = h + group; h < end; h++) {
            vf sum = vf_set(0.0f);

            for (int64_t d = 0; d < D; d += VW)
                sum += vf_load(q + h * c->wide + d) *
                       vf_take(c->keys->data, type, at + d, D - d);
            s[h * CHUNK] = vf_sum(sum);
        }
    }
}

/* part(h) += s(h) v(h) of a position, whose values begin at `at`. */
VEC_FN void add_values(enum dtype type, const struct decode *c, const float *s,
                       int64_t at, float *part)
{
    const int64_t D = c->a->D, group = c->a->H / c->a->K;

    for (int64_t h = 0; h < c->a->H; at += D) {
        for (const int64_t end = h + group; h < end; h++) {
            const float p = s[h * CHUNK];
            float *o = part + h * c->each;

            for (int64_t d = 0; d < D; d += VW)
                vf_store(o + d,
                         vf_load(o + d) +
                             p * vf_take(c->values->data, type, at + d, D - d));
        }
    }
}

/* n scores become exp(s - max), or 0 if all are -inf; max and their sum go to
 * part. */
static void exponentiate(float *s, int64_t n, float *part)
{
    vf max = vf_set(-INFINITY), sum = vf_set(0.0f);

    for (int64_t i = n; i % VW > 0; i++)
        s[i] = -INFINITY;
    for (int64_t i = 0; i < n; i += VW)
        max = vf_max(max, vf_load(s + i));
    part[0] = vf_largest(max);
    for (int64_t i = 0; i < n; i += VW) {
        const vf p =
            vf_exp(vf_load(s + i) - (part[0] == -INFINITY ? 0.0f : part[0]));

        vf_store(s + i, p);
        sum += p;
    }
    part[1] = vf_sum(sum);
}

/* Chunk i of those of all rows; room is for queries and scores. */
VEC_FN void decode_chunk(enum dtype type, const struct decode *c, int64_t i,
                         float *room)
{
    const int64_t H = c->a->H, row = i / c->chunks, u = i % c->chunks * CHUNK;
    const int64_t t = c->at + row % c->fresh, left = attended(c->a, t) - u;
    const int64_t n = left < 0 ? 0 : left < CHUNK ? left : CHUNK;
    const int64_t first = (row / c->fresh * c->a->T + u) * c->step;
    float *q = room, *s = room + H * c->wide, *part = c->part + i * H * c->each;

    scale_queries(type, c, row, q);
    for (int64_t k = 0; k < n; k++) {
        if (sees(c, t, u + k))
            score_keys(type, c, q, first + k * c->step, s + k);
        for (int64_t h = 0; h < H && !sees(c, t, u + k); h++)
            s[h * CHUNK + k] = -INFINITY;
    }
    for (int64_t h = 0; h < H; h++) {
        memset(part + h * c->each, 0, (size_t)c->wide * sizeof *part);
        exponentiate(s + h * CHUNK, n, part + h * c->each + c->wide);
    }
    for (int64_t k = 0; k < n; k++)
        if (sees(c, t, u + k))
            add_values(type, c, s + k, first + k * c->step, part);
}

/* Head i of those of all rows, from its chunks. */
VEC_FN void join_chunks(enum dtype type, const struct decode *c, int64_t i)
{
    const int64_t H = c->a->H, D = c->a->D, next = H * c->each;
    float *part = c->part + (i / H * c->chunks * H + i % H) * c->each;
    float *most = part + c->wide, max = most[0], total = 0.0f;

    for (int64_t k = 1; k < c->chunks; k++)
        max = most[k * next] > max ? most[k * next] : max;
    for (int64_t k = 0; k < c->chunks; k++) {
        most[k * next] = expf(most[k * next] - max);
        total += most[k * next] * most[k * next + 1];
    }
    for (int64_t d = 0; d < D; d += VW) {
        vf sum = vf_set(0.0f);

        for (int64_t k = 0; k < c->chunks; k++)
            sum += most[k * next] * vf_load(part + k * next + d);
        vf_give(c->y->data, type, i * D + d, sum / total, D - d);
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
    const int64_t N = tensor_rows(y), fresh = N / keys->dim[0];
    const int64_t n = attended(a, at + fresh - 1);
    struct decode c = { .a = a,
                        .qkv = qkv,
                        .y = y,
                        .keys = keys,
                        .values = values,
                        .at = at,
                        .fresh = fresh,
                        .chunks = (n + CHUNK - 1) / CHUNK,
                        .step = (int64_t)a->K * a->D,
                        .wide = whole(a->D),
                        .each = whole(a->D) + whole(2) };
    const int64_t all = N * c.chunks * a->H * c.each;
    const int64_t room = a->H * (c.wide + CHUNK);
    const int threads = cpu_threads(dev);

    assert(at >= 0 && (fresh == 1 || at + fresh <= a->T));
    c.part = cpu_scratch(dev, (size_t)(all + threads * room) * sizeof *c.part,
                         "attn_decode");
    if (!c.part)
        return;
    for (int64_t row = 0; row < N; row++)
        VEC_BY_TYPE(qkv->type, store_row, keys, values, qkv, a, row,
                    row / fresh * a->T + (at + row % fresh) % a->T);
#pragma omp parallel num_threads(threads) if (N * a->H * a->D * n > ROWS_PIECE)
    {
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < N * c.chunks; i++)
            VEC_BY_TYPE(qkv->type, decode_chunk, &c, i,
                        c.part + all + omp_get_thread_num() * room);
#pragma omp for
        for (int64_t i = 0; i < N * a->H; i++)
            VEC_BY_TYPE(y->type, join_chunks, &c, i);
    }
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
