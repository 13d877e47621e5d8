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

/* ---- normal numbers ---------------------------------------------------- */

/* A vector of pairs at a time.  The polynomials are from Moshier's Cephes
 * library (logf, sinf, cosf). */

/* Words as floats; the conversion is of signed numbers. */
VEC_FN vf floats_of(vi x)
{
    return __builtin_convertvector(x, vf);
}

/*
 * sqrt(-2 ln u) of u = (w + 1/2) / 2^32.  Near 1, the logarithm of
 * 1 - (~w + 1/2) / 2^32 is taken, which loses no digits; below, u = 2^e (1 + f)
 * with 1 + f from sqrt(1/2) to sqrt(2).
 */
VEC_FN vf radius_of(vu w)
{
    const vi near = (vi)(w >= 0xb504f334u); /* 2^32 sqrt(1/2) */
    /* w + 1/2 without its sign: both halves are exact, the sum rounds once */
    const vf u = (floats_of((vi)(w >> 16)) * 65536.0f +
                  (floats_of((vi)(w & 0xffffu)) + 0.5f)) *
                 0x1p-32f;
    const vu bits = (vu)u + (0x3f800000u - 0x3f3504f3u);
    const vi exponent = (vi)(bits >> 23) - 127;
    const vf m = (vf)((bits & 0x7fffffu) + 0x3f3504f3u);
    const vf rest = (floats_of((vi)(~w)) + 0.5f) * -0x1p-32f;
    const vf f = vf_select(near, rest, m - 1.0f);
    const vf e = vf_select(near, vf_set(0.0f), floats_of(exponent));
    const vf z = f * f;
    vf p = f * 7.0376836292e-2f - 1.1514610310e-1f;

    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    p = p * f * z - 2.12194440e-4f * e - 0.5f * z;
    return vf_sqrt(-2.0f * (f + p + 0.693359375f * e));
}

/* Cosine and sine of 2 pi (w + 1/2) / 2^32: the nearest quarter of a turn, and
 * the rest, at most an eighth. */
VEC_FN vf cosine_and_sine(vu w, vf *sine)
{
    const vu turn = (w + 0x20000000u) >> 30;
    const vf x = (floats_of((vi)(w - (turn << 30))) + 0.5f) * 0x1.921fb6p-30f;
    const vf z = x * x;
    const vf s = x + x * z *
                         (z * (8.3321608736e-3f - z * 1.9515295891e-4f) -
                          1.6666654611e-1f);
    const vf c = 1.0f - 0.5f * z +
                 z * z *
                     (4.166664568298827e-2f +
                      z * (z * 2.443315711809948e-5f - 1.388731625493765e-3f));
    const vi odd = (vi)((turn & 1u) == 1u);
    const vu low = (turn & 2u) << 30, left = ((turn + 1u) & 2u) << 30;

    *sine = (vf)((vu)vf_select(odd, c, s) ^ low);
    return (vf)((vu)vf_select(odd, s, c) ^ left);
}

/* Numbers from..from+n; from is even. */
static void draw_pairs(float *out, int64_t from, int64_t n, uint64_t seed,
                       uint64_t stream, float std)
{
    for (int64_t i = 0; i < n; i += 2 * VW) {
        vu word[4];
        vf radius, c, s, pair[2];

        random_blocks(seed, stream, (uint64_t)((from + i) / 2), word);
        radius = radius_of(word[0]) * std;
        c = cosine_and_sine(word[1], &s) * radius;
        s *= radius;
        pair[0] = vf_zip_low(c, s);
        pair[1] = vf_zip_high(c, s);
        for (int j = 0; j < 2 && i + j * VW < n; j++)
            vf_give(out, DT_F32, i + j * VW, pair[j], n - i - j * VW);
    }
}

void cpu_normal(struct dev *dev, struct tensor *y, uint64_t seed,
                uint64_t stream, int64_t first, float std)
{
    const int64_t n = tensor_count(y), count = rows_pieces(n);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (count > 1)
    for (int64_t i = 0; i < count; i++) {
        const int64_t from = i * ROWS_PIECE;

        draw_pairs((float *)y->data + from, first + from, rows_piece(n, from),
                   seed, stream, std);
    }
}
