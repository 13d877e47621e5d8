/*
 * elementwise - one element at a time, on the CPU
 *
 * The cost is that of reading and writing memory.  Work is divided into pieces
 * of ROWS_PIECE elements, by position alone.
 */
#include "config.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/rows.h"

/* Elements at..at+n of y, and of a and b where the operation has them. */
struct piece {
    void *y;
    const void *a, *b;
    enum dtype a_type;
    int64_t at, n;
    float factor;
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
        vf v = vf_take(p->a, a_type, i, n);

        if (!p->overwrite)
            v += vf_take(p->y, type, i, n);
        vf_give(p->y, type, i, v, n);
    }
}

VEC_FN void accum_piece(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(p->a_type, accum_pair, type, p);
}

VEC_FN void scale_piece(enum dtype type, const struct piece *p)
{
    for (int64_t i = p->at; i < p->at + p->n; i += VW) {
        const int64_t n = p->at + p->n - i;

        vf_give(p->y, type, i, vf_take(p->y, type, i, n) * p->factor, n);
    }
}

VEC_FN void fill_piece(enum dtype type, const struct piece *p)
{
    for (int64_t i = p->at; i < p->at + p->n; i += VW)
        vf_give(p->y, type, i, vf_set(p->factor), p->at + p->n - i);
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
            vf v = vf_take(p->a, type, at + i, n) * vf_take(mask, DT_F32, i, n);

            if (!p->overwrite)
                v += vf_take(p->y, type, at + i, n);
            vf_give(p->y, type, at + i, v, n);
        }
    }
}

/* The same for any type. */
static void add_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, add_piece, p);
}

static void accum_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, accum_piece, p);
}

static void scale_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, scale_piece, p);
}

static void fill_any(enum dtype type, const struct piece *p)
{
    VEC_BY_TYPE(type, fill_piece, p);
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

void cpu_cast(struct dev *dev, struct tensor *y, const struct tensor *x)
{
    each_piece(
        dev, y,
        &(struct piece){ .a = x->data, .a_type = x->type, .overwrite = true },
        accum_any);
}

/* A block of random bits has the words of four neighbours. */
void cpu_cast_random(struct dev *dev, struct tensor *y, const struct tensor *x,
                     uint64_t seed, uint64_t stream, uint64_t first)
{
    const int64_t count = tensor_count(y), pieces = rows_pieces(count);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t at = p * ROWS_PIECE, end = at + rows_piece(count, at);
        const float *from = x->data;
        uint16_t *to = y->data;
        uint32_t w[4] = { 0 };

        for (int64_t i = at; i < end; i++) {
            const uint64_t word = first + (uint64_t)i;

            if (i == at || word % 4 == 0)
                rng_bits(seed, stream, word / 4, w);
            to[i] = bf16_from_float_random(from[i], w[word % 4]);
        }
    }
}

void cpu_scale(struct dev *dev, struct tensor *y, float factor)
{
    each_piece(dev, y, &(struct piece){ .factor = factor }, scale_any);
}

void cpu_fill(struct dev *dev, struct tensor *y, float value)
{
    each_piece(dev, y, &(struct piece){ .factor = value }, fill_any);
}

void cpu_dropout_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
                     const struct dropout *d)
{
    each_piece(dev, y,
               &(struct piece){ .a = x->data, .drop = d, .overwrite = true },
               dropout_any);
}

void cpu_dropout_bwd(struct dev *dev, struct tensor *dx,
                     const struct tensor *dy, const struct dropout *d)
{
    each_piece(
        dev, dx,
        &(struct piece){ .a = dy->data, .drop = d, .overwrite = dx->overwrite },
        dropout_any);
}
