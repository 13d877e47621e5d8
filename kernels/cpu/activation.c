/*
 * act - activations on the CPU, plain and gated
 *
 * Runs are taken in pieces of PIECE numbers, which are floats while they are
 * in the first cache, whatever they are in memory.
 */
#include "config.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/rows.h"

enum { PIECE = 512 };

/* n numbers from `at` on as floats: where they are, or converted to room. */
static const float *floats(const void *p, enum dtype type, int64_t at,
                           int64_t n, float *room)
{
    if (type == DT_F32)
        return (const float *)p + at;
    for (int64_t i = 0; i < n; i += VW)
        vf_store(room + i, vf_take(p, type, at + i, n - i));
    return room;
}

/* Set, or add to, n numbers from `at` on. */
static void write_floats(void *p, enum dtype type, int64_t at, int64_t n,
                         const float *v, bool add)
{
    for (int64_t i = 0; i < n; i += VW) {
        vf x = vf_take(v, DT_F32, i, n - i);

        if (add)
            x += vf_take(p, type, at + i, n - i);
        vf_give(p, type, at + i, x, n - i);
    }
}

/* ---- on floats ----------------------------------------------------------- */

VEC_FN void value_run(enum act kind, float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(y, DT_F32, i, bend_value(kind, vf_take(x, DT_F32, i, n - i)),
                n - i);
}

VEC_FN void slope_run(enum act kind, float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(y, DT_F32, i, bend_slope(kind, vf_take(x, DT_F32, i, n - i)),
                n - i);
}

static void values(enum act kind, float *y, const float *x, int64_t n)
{
    BEND_BY_KIND(kind, value_run, y, x, n);
}

static void slopes(enum act kind, float *y, const float *x, int64_t n)
{
    BEND_BY_KIND(kind, slope_run, y, x, n);
}

static void multiply(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= x[i];
}

/* ---- on runs ------------------------------------------------------------- */

void rows_act(void *y, const void *x, enum dtype type, int64_t n, enum act kind)
{
    float in[PIECE], out[PIECE];

    if (type == DT_F32) {
        values(kind, y, x, n);
        return;
    }
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t len = n - at < PIECE ? n - at : PIECE;

        values(kind, out, floats(x, type, at, len, in), len);
        write_floats(y, type, at, len, out, false);
    }
}

void rows_slope(void *d, const void *x, enum dtype type, int64_t n,
                enum act kind)
{
    float in[PIECE], out[PIECE];

    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t len = n - at < PIECE ? n - at : PIECE;

        slopes(kind, out, floats(x, type, at, len, in), len);
        multiply(out, floats(d, type, at, len, in), len);
        write_floats(d, type, at, len, out, false);
    }
}

/* dx(at..) += act'(x) dy */
static void act_back(struct tensor *dx, const struct tensor *x,
                     const struct tensor *dy, int64_t at, int64_t n,
                     enum act kind)
{
    float in[PIECE], out[PIECE];

    slopes(kind, out, floats(x->data, x->type, at, n, in), n);
    multiply(out, floats(dy->data, dy->type, at, n, in), n);
    write_floats(dx->data, dx->type, at, n, out, !dx->fresh);
}

/* y(at..) = act(gate) up, which stand in x from `gate` and `up` on */
static void glu_run(struct tensor *y, const struct tensor *x, int64_t at,
                    int64_t gate, int64_t up, int64_t n, enum act kind)
{
    float in[PIECE], out[PIECE];

    values(kind, out, floats(x->data, x->type, gate, n, in), n);
    multiply(out, floats(x->data, x->type, up, n, in), n);
    write_floats(y->data, y->type, at, n, out, false);
}

static void glu_back(struct tensor *dx, const struct tensor *x,
                     const struct tensor *dy, int64_t at, int64_t gate,
                     int64_t up, int64_t n, enum act kind)
{
    float room[PIECE], d_room[PIECE], out[PIECE];
    const float *d = floats(dy->data, dy->type, at, n, d_room);
    const float *g = floats(x->data, x->type, gate, n, room);

    values(kind, out, g, n);
    multiply(out, d, n);
    write_floats(dx->data, dx->type, up, n, out, !dx->fresh);
    slopes(kind, out, g, n);
    multiply(out, floats(x->data, x->type, up, n, room), n);
    multiply(out, d, n);
    write_floats(dx->data, dx->type, gate, n, out, !dx->fresh);
}

/* ---- the operations ------------------------------------------------------ */

void cpu_act_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
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

void cpu_act_bwd(struct dev *dev, struct tensor *dx, const struct tensor *x,
                 const struct tensor *dy, enum act kind)
{
    const int64_t n = tensor_count(x);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t at = 0; at < n; at += PIECE)
        act_back(dx, x, dy, at, n - at < PIECE ? n - at : PIECE, kind);
}

void cpu_glu_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
                 enum act kind)
{
    const int64_t N = tensor_rows(y), F = tensor_cols(y);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * F > ROWS_PIECE)
    for (int64_t i = 0; i < N; i++) {
        for (int64_t f = 0; f < F; f += PIECE)
            glu_run(y, x, i * F + f, i * 2 * F + f, i * 2 * F + F + f,
                    F - f < PIECE ? F - f : PIECE, kind);
    }
}

void cpu_glu_bwd(struct dev *dev, struct tensor *dx, const struct tensor *x,
                 const struct tensor *dy, enum act kind)
{
    const int64_t N = tensor_rows(dy), F = tensor_cols(dy);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * F > ROWS_PIECE)
    for (int64_t i = 0; i < N; i++) {
        for (int64_t f = 0; f < F; f += PIECE)
            glu_back(dx, x, dy, i * F + f, i * 2 * F + f, i * 2 * F + F + f,
                     F - f < PIECE ? F - f : PIECE, kind);
    }
}
