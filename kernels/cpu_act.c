/*
 * act - activations on the CPU, plain and gated
 */
#include "config.h"
#include "kernels/bend.h"
#include "kernels/rows.h"

void CPU(act_fwd)(struct dev *dev, struct tensor *y, const struct tensor *x,
                  enum act kind)
{
    const int64_t n = tensor_count(x), size = (int64_t)dtype_size(x->type);
    const int64_t pieces = rows_pieces(n);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t from = i * ROWS_PIECE;

        rows_act((char *)y->data + from * size,
                 (const char *)x->data + from * size, x->type,
                 rows_piece(n, from), kind);
    }
}

/* Where a run reads and writes: row by row for the gated ones. */
struct run {
    void *out;
    const void *x, *dy;
    int64_t at, n;    /* of plain ones, and of dy, y of gated ones */
    int64_t gate, up; /* of gated ones: in x and dx */
    bool fresh;
};

/* out(at) += v, of which the first n count. */
VEC_FN void add_to(enum dtype type, const struct run *r, int64_t at, vf v,
                   int64_t n)
{
    if (!r->fresh)
        v += vf_take(r->out, type, at, n);
    vf_give(r->out, type, at, v, n);
}

VEC_FN void slope_run(enum dtype type, enum act kind, const struct run *r)
{
    for (int64_t i = r->at; i < r->at + r->n; i += VW) {
        const int64_t n = r->at + r->n - i;

        add_to(type, r, i,
               bend_slope(kind, vf_take(r->x, type, i, n)) *
                   vf_take(r->dy, type, i, n),
               n);
    }
}

VEC_FN void gate_run(enum dtype type, enum act kind, const struct run *r)
{
    for (int64_t i = 0; i < r->n; i += VW) {
        const int64_t n = r->n - i;
        const vf gate = vf_take(r->x, type, r->gate + i, n);

        add_to(type, r, r->at + i,
               bend_value(kind, gate) * vf_take(r->x, type, r->up + i, n), n);
    }
}

VEC_FN void gate_slope_run(enum dtype type, enum act kind, const struct run *r)
{
    for (int64_t i = 0; i < r->n; i += VW) {
        const int64_t n = r->n - i;
        const vf gate = vf_take(r->x, type, r->gate + i, n);
        const vf up = vf_take(r->x, type, r->up + i, n);
        const vf d = vf_take(r->dy, type, r->at + i, n);

        add_to(type, r, r->gate + i, bend_slope(kind, gate) * up * d, n);
        add_to(type, r, r->up + i, bend_value(kind, gate) * d, n);
    }
}

VEC_FN void slope_type(enum act kind, enum dtype type, const struct run *r)
{
    VEC_BY_TYPE(type, slope_run, kind, r);
}

VEC_FN void gate_type(enum act kind, enum dtype type, const struct run *r)
{
    VEC_BY_TYPE(type, gate_run, kind, r);
}

VEC_FN void gate_slope_type(enum act kind, enum dtype type, const struct run *r)
{
    VEC_BY_TYPE(type, gate_slope_run, kind, r);
}

void CPU(act_bwd)(struct dev *dev, struct tensor *dx, const struct tensor *x,
                  const struct tensor *dy, enum act kind)
{
    const int64_t n = tensor_count(x), pieces = rows_pieces(n);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (pieces > 1)
    for (int64_t i = 0; i < pieces; i++) {
        const struct run r = {
            .out = dx->data,
            .x = x->data,
            .dy = dy->data,
            .at = i * ROWS_PIECE,
            .n = rows_piece(n, i * ROWS_PIECE),
            .fresh = dx->fresh,
        };

        BEND_BY_KIND(kind, slope_type, x->type, &r);
    }
}

void CPU(glu_fwd)(struct dev *dev, struct tensor *y, const struct tensor *x,
                  enum act kind)
{
    const int64_t N = tensor_rows(y), F = tensor_cols(y);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * F > ROWS_PIECE)
    for (int64_t i = 0; i < N; i++) {
        const struct run r = {
            .out = y->data,
            .x = x->data,
            .at = i * F,
            .n = F,
            .gate = i * 2 * F,
            .up = i * 2 * F + F,
            .fresh = true,
        };

        BEND_BY_KIND(kind, gate_type, x->type, &r);
    }
}

void CPU(glu_bwd)(struct dev *dev, struct tensor *dx, const struct tensor *x,
                  const struct tensor *dy, enum act kind)
{
    const int64_t N = tensor_rows(dy), F = tensor_cols(dy);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * F > ROWS_PIECE)
    for (int64_t i = 0; i < N; i++) {
        const struct run r = {
            .out = dx->data,
            .x = x->data,
            .dy = dy->data,
            .at = i * F,
            .n = F,
            .gate = i * 2 * F,
            .up = i * 2 * F + F,
            .fresh = dx->fresh,
        };

        BEND_BY_KIND(kind, gate_slope_type, x->type, &r);
    }
}
