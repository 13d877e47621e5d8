/*
 * elementwise - one element at a time, on the CPU
 *
 * The time goes into reading and writing memory.  Work is divided into pieces
 * of ROWS_PIECE elements, by position alone.
 */
#include "config.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/rows.h"

/* Elements at..at+n of y, and of a and b where the operation has them. */
struct piece {
    void *y;
    const void *a, *b;
    enum dtype a_type;
    int64_t at, n;
    bool overwrite;
    const struct dropout *drop;
};

VEC_FN void add_piece(enum dtype type, const struct piece *p)
{
    for (int64_t i = p->at; i < p->at + p->n; i += VW) {
        const int64_t n = p->at + p->n - i;

        vf_give(p->y, type, i,
                vf_take(p->a, type, i, n) + vf_take(p->b, type, i, n), n);
    }
}

VEC_FN void accum_pair(enum dtype a_type, enum dtype type,
                       const struct piece *p)
{
    for (int64_t i = p->at; i < p->at + p->n; i += VW) {
        const int64_t n = p->at + p->n - i;

        vf_give_or_add(p->y, type, i, vf_take(p->a, a_type, i, n), n,
                       !p->overwrite);
    }
}

VEC_FN void accum_piece(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(p->a_type, accum_pair, type, p);
}

VEC_FN void dropout_piece(enum dtype type, const struct piece *p)
{
    float mask[1024];

    for (int64_t from = 0; from < p->n; from += 1024) {
        const int64_t at = p->at + from;
        const int64_t len = p->n - from < 1024 ? p->n - from : 1024;

        dropout_mask(mask, p->drop, (uint64_t)at, len);
        for (int64_t i = 0; i < len; i += VW) {
            const int64_t n = len - i;

            vf_give_or_add(p->y, type, at + i,
                           vf_take(p->a, type, at + i, n) *
                               vf_take(mask, DT_F32, i, n),
                           n, !p->overwrite);
        }
    }
}

static void add_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, add_piece, p);
}

static void accum_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, accum_piece, p);
}

static void dropout_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, dropout_piece, p);
}

static void each_piece(struct dev *dev, const struct tensor *y,
                       const struct piece *all,
                       void (*fn)(enum dtype, const struct piece *))
{
    const int64_t count = tensor_count(y), pieces = rows_pieces(count);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++) {
        struct piece p = *all;

        p.y = y->data;
        p.at = i * ROWS_PIECE;
        p.n = rows_piece(count, p.at);
        fn(y->type, &p);
    }
}

void cpu_add_fwd(struct dev *dev, struct tensor *y, const struct tensor *a,
                 const struct tensor *b)
{
    each_piece(dev, y, &(struct piece){ .a = a->data, .b = b->data }, add_any);
}

void cpu_accum(struct dev *dev, struct tensor *y, const struct tensor *x)
{
    each_piece(dev, y,
               &(struct piece){
                   .a = x->data, .a_type = x->type, .overwrite = y->overwrite },
               accum_any);
}

/* to(n) = from(n) rounded up or down by words `at` .. of a stream; bits that
 * bf16 has no room for are 0 then, so that the conversion is exact. */
static void round_random(uint16_t *to, const float *from, int64_t n,
                         uint64_t seed, uint64_t stream, uint64_t at)
{
    int64_t i = 0;

    while (i < n) {
        float words[RANDOM_WORDS];
        const int64_t skip = (int64_t)(at & 3);
        const int64_t count =
            n - i < RANDOM_WORDS - skip ? n - i : RANDOM_WORDS - skip;

        random_words(seed, stream, at >> 2, words);
        for (int64_t j = 0; j < count; j += VW) {
            const vf x = vf_take(from, DT_F32, i + j, count - j);
            const vu w = (vu)vf_take(words + skip, DT_F32, j, count - j);
            const vi finite = (vi)(((vu)x & 0x7f800000u) != 0x7f800000u);
            const vf y = (vf)(((vu)x + (w & 0xffffu)) & 0xffff0000u);

            vf_give(to, DT_BF16, i + j, vf_select(finite, y, x), count - j);
        }
        i += count;
        at += (uint64_t)count;
    }
}

void cpu_cast_random(struct dev *dev, struct tensor *y, const struct tensor *x,
                     uint64_t seed, uint64_t stream, uint64_t first)
{
    const int64_t count = tensor_count(y), pieces = rows_pieces(count);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t at = p * ROWS_PIECE;

        round_random((uint16_t *)y->data + at, (const float *)x->data + at,
                     rows_piece(count, at), seed, stream, first + (uint64_t)at);
    }
}

void cpu_dropout(struct dev *dev, struct tensor *y, const struct tensor *x,
                 const struct dropout *d)
{
    each_piece(
        dev, y,
        &(struct piece){ .a = x->data, .drop = d, .overwrite = y->overwrite },
        dropout_any);
}
