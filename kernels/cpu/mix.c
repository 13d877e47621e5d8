/*
 * mix - sums with trained weights, on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <math.h>

/* ---- two streams ------------------------------------------------------- */

struct mix {
    const struct tensor *a, *b, *dy;
    struct tensor *y, *da, *db;
    float wa, wb;
};

VEC_FN void mix_piece(enum dtype type, const struct mix *m, int64_t from)
{
    const int64_t to = from + rows_piece(tensor_count(m->y), from);

    for (int64_t i = from; i < to; i += VW)
        vf_give(m->y->data, type, i,
                m->wa * vf_take(m->a->data, type, i, to - i) +
                    m->wb * vf_take(m->b->data, type, i, to - i),
                to - i);
}

void cpu_mix_fwd(struct dev *dev, struct tensor *y, const struct tensor *a,
                 const struct tensor *b, const struct tensor *wa,
                 const struct tensor *wb)
{
    const struct mix m = { .a = a,
                           .b = b,
                           .y = y,
                           .wa = num_get(wa->data, wa->type, 0),
                           .wb = num_get(wb->data, wb->type, 0) };
    const int64_t pieces = rows_pieces(tensor_count(y));

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++)
        VEC_BY_TYPE(y->type, mix_piece, &m, i * ROWS_PIECE);
}

/* part: the piece's sums for dwa and dwb. */
VEC_FN void unmix_piece(enum dtype type, const struct mix *m, int64_t from,
                        float *part)
{
    const int64_t to = from + rows_piece(tensor_count(m->dy), from);
    vf a = vf_set(0.0f), b = a;

    for (int64_t i = from; i < to; i += VW) {
        const int64_t n = to - i;
        const vf d = vf_take(m->dy->data, type, i, n);

        a += d * vf_take(m->a->data, type, i, n);
        b += d * vf_take(m->b->data, type, i, n);
        if (m->da)
            vf_give_or_add(m->da->data, type, i, m->wa * d, n,
                           !m->da->overwrite);
        if (m->db)
            vf_give_or_add(m->db->data, type, i, m->wb * d, n,
                           !m->db->overwrite);
    }
    part[0] = vf_sum(a);
    part[1] = vf_sum(b);
}

void cpu_mix_bwd(struct dev *dev, struct tensor *da, struct tensor *db,
                 struct tensor *dwa, struct tensor *dwb, const struct tensor *a,
                 const struct tensor *b, const struct tensor *wa,
                 const struct tensor *wb, const struct tensor *dy)
{
    const struct mix m = { .a = a,
                           .b = b,
                           .dy = dy,
                           .da = da,
                           .db = db,
                           .wa = num_get(wa->data, wa->type, 0),
                           .wb = num_get(wb->data, wb->type, 0) };
    const int64_t pieces = rows_pieces(tensor_count(dy));
    float *part =
        cpu_scratch(dev, (size_t)(2 * pieces) * sizeof *part, "mix_bwd");

    if (!part)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++)
        VEC_BY_TYPE(dy->type, unmix_piece, &m, i * ROWS_PIECE, part + 2 * i);
    rows_reduce(dev, dwa, part, 2, pieces);
    rows_reduce(dev, dwb, part + 1, 2, pieces);
}

/* ---- value embeddings -------------------------------------------------- */

struct value {
    const struct tensor *x, *w, *e, *dqkv;
    struct tensor *qkv, *dx, *de;
    float *gate;
    int64_t C, G, K, D, width;
};

static struct value value_of(const struct tensor *x, const struct tensor *w,
                             const struct tensor *e, const struct tensor *gate,
                             const struct tensor *qkv)
{
    const int64_t K = tensor_rows(w);

    return (struct value){ .x = x,
                           .w = w,
                           .e = e,
                           .gate = gate->data,
                           .C = tensor_cols(x),
                           .G = tensor_cols(w),
                           .K = K,
                           .D = tensor_cols(e) / K,
                           .width = tensor_cols(qkv) };
}

VEC_FN void add_embedding(enum dtype type, const struct value *v, int64_t i)
{
    const int64_t n = i / v->K, k = i % v->K, D = v->D;
    const int64_t at = (n + 1) * v->width - (v->K - k) * D;
    vf sum = vf_set(0.0f);

    for (int64_t c = 0; c < v->G; c += VW)
        sum += vf_take(v->x->data, type, n * v->C + c, v->G - c) *
               vf_take(v->w->data, type, k * v->G + c, v->G - c);
    v->gate[i] = 2.0f / (1.0f + expf(-vf_sum(sum)));
    for (int64_t d = 0; d < D; d += VW)
        vf_give(v->qkv->data, type, at + d,
                vf_take(v->qkv->data, type, at + d, D - d) +
                    v->gate[i] * vf_take(v->e->data, type, i * D + d, D - d),
                D - d);
}

void cpu_value_fwd(struct dev *dev, struct tensor *qkv, struct tensor *gate,
                   const struct tensor *x, const struct tensor *w,
                   const struct tensor *e)
{
    struct value v = value_of(x, w, e, gate, qkv);

    v.qkv = qkv;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(e) >   \
                                                           ROWS_PIECE)
    for (int64_t i = 0; i < tensor_count(gate); i++)
        VEC_BY_TYPE(x->type, add_embedding, &v, i);
}

/* part(K,G) gets the share of dw, and slope(G) is the gradient of x. */
VEC_FN void backward_row(enum dtype type, const struct value *v, int64_t n,
                         float *part, float *slope)
{
    const int64_t G = v->G, D = v->D;

    memset(slope, 0, (size_t)G * sizeof *slope);
    for (int64_t k = 0; k < v->K; k++) {
        const int64_t i = n * v->K + k;
        const int64_t at = (n + 1) * v->width - (v->K - k) * D;
        const float g = v->gate[i];
        vf sum = vf_set(0.0f);
        float s;

        for (int64_t d = 0; d < D; d += VW) {
            const vf dy = vf_take(v->dqkv->data, type, at + d, D - d);

            sum += dy * vf_take(v->e->data, type, i * D + d, D - d);
            if (v->de)
                vf_give_or_add(v->de->data, type, i * D + d, g * dy, D - d,
                               !v->de->overwrite);
        }
        s = vf_sum(sum) * g * (1.0f - 0.5f * g);
        for (int64_t c = 0; c < G; c += VW) {
            vf_give_or_add(slope, DT_F32, c,
                           s * vf_take(v->w->data, type, k * G + c, G - c),
                           G - c, true);
            vf_give_or_add(part, DT_F32, k * G + c,
                           s * vf_take(v->x->data, type, n * v->C + c, G - c),
                           G - c, true);
        }
    }
    if (!v->dx)
        return;
    for (int64_t c = 0; c < G; c += VW)
        vf_give_or_add(v->dx->data, type, n * v->C + c,
                       vf_take(slope, DT_F32, c, G - c), G - c,
                       !v->dx->overwrite);
    for (int64_t c = G; v->dx->overwrite && c < v->C; c += VW)
        vf_give(v->dx->data, type, n * v->C + c, vf_set(0.0f), v->C - c);
}

void cpu_value_bwd(struct dev *dev, struct tensor *dx, struct tensor *dw,
                   struct tensor *de, const struct tensor *x,
                   const struct tensor *w, const struct tensor *e,
                   const struct tensor *gate, const struct tensor *dqkv)
{
    struct value v = value_of(x, w, e, gate, dqkv);
    const int64_t N = tensor_rows(x), chunks = rows_chunks(N);
    const int64_t count = v.K * v.G, each = count + v.G;
    float *part =
        cpu_scratch(dev, (size_t)(chunks * each) * sizeof *part, "value_bwd");

    v.dqkv = dqkv;
    v.dx = dx;
    v.de = de;
    if (!part)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(e) >   \
                                                           ROWS_PIECE)
    for (int64_t i = 0; i < chunks; i++) {
        float *mine = part + i * each;

        memset(mine, 0, (size_t)count * sizeof *mine);
        for (int64_t n = rows_chunk(N, i, chunks);
             n < rows_chunk(N, i + 1, chunks); n++)
            VEC_BY_TYPE(x->type, backward_row, &v, n, mine, mine + count);
    }
    rows_reduce(dev, dw, part, each, chunks);
}
