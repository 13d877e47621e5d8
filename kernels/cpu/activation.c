/*
 * activation - activations on the CPU, plain and gated
 *
 * Numbers are taken in pieces of PIECE, which are floats while they are in the
 * first cache, whatever they are in memory.
 */
#include "config.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/rows.h"

enum { PIECE = 512 };

/* n numbers from `at` on as floats: in place, or converted into room. */
static const float *load_floats(const void *p, enum dtype type, int64_t at,
                                int64_t n, float *room)
{
    if (type == DT_F32)
        return (const float *)p + at;
    for (int64_t i = 0; i < n; i += VW)
        vf_store(room + i, vf_take(p, type, at + i, n - i));
    return room;
}

/* Set, or add to, n numbers from `at` on. */
static void store_floats(void *p, enum dtype type, int64_t at, int64_t n,
                         const float *v, bool add)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give_or_add(p, type, at + i, vf_take(v, DT_F32, i, n - i), n - i,
                       add);
}

/* ---- on floats ----------------------------------------------------------- */

VEC_FN void apply_value(enum act kind, float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(y, DT_F32, i,
                activation_value(kind, vf_take(x, DT_F32, i, n - i)), n - i);
}

VEC_FN void apply_slope(enum act kind, float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(y, DT_F32, i,
                activation_slope(kind, vf_take(x, DT_F32, i, n - i)), n - i);
}

static void apply_values(enum act kind, float *y, const float *x, int64_t n)
{
    ACTIVATION_BY_KIND(kind, apply_value, y, x, n);
}

static void apply_slopes(enum act kind, float *y, const float *x, int64_t n)
{
    ACTIVATION_BY_KIND(kind, apply_slope, y, x, n);
}

static void multiply_by(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= x[i];
}

/* ---- on any type --------------------------------------------------------- */

void rows_act(void *y, const void *x, enum dtype type, int64_t n, enum act kind)
{
    float in[PIECE], out[PIECE];

    if (type == DT_F32) {
        apply_values(kind, y, x, n);
        return;
    }
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t len = n - at < PIECE ? n - at : PIECE;

        apply_values(kind, out, load_floats(x, type, at, len, in), len);
        store_floats(y, type, at, len, out, false);
    }
}

void rows_slope(void *d, const void *x, enum dtype type, int64_t n,
                enum act kind)
{
    float in[PIECE], out[PIECE];

    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t len = n - at < PIECE ? n - at : PIECE;

        apply_slopes(kind, out, load_floats(x, type, at, len, in), len);
        multiply_by(out, load_floats(d, type, at, len, in), len);
        store_floats(d, type, at, len, out, false);
    }
}

/* y(at..) = act(x(gate..)) x(up..); up is < 0 for an activation without a gate.
 */
static void forward_piece(struct tensor *y, const struct tensor *x, int64_t at,
                          int64_t gate, int64_t up, int64_t n, enum act kind)
{
    float in[PIECE], out[PIECE];

    apply_values(kind, out, load_floats(x->data, x->type, gate, n, in), n);
    if (up >= 0)
        multiply_by(out, load_floats(x->data, x->type, up, n, in), n);
    store_floats(y->data, y->type, at, n, out, false);
}

/* Its gradient. */
static void back_piece(struct tensor *dx, const struct tensor *x,
                       const struct tensor *dy, int64_t at, int64_t gate,
                       int64_t up, int64_t n, enum act kind)
{
    float room[PIECE], d_room[PIECE], out[PIECE];
    const float *d = load_floats(dy->data, dy->type, at, n, d_room);
    const float *g = load_floats(x->data, x->type, gate, n, room);

    if (up >= 0) {
        apply_values(kind, out, g, n);
        multiply_by(out, d, n);
        store_floats(dx->data, dx->type, up, n, out, !dx->overwrite);
    }
    apply_slopes(kind, out, g, n);
    if (up >= 0)
        multiply_by(out, load_floats(x->data, x->type, up, n, room), n);
    multiply_by(out, d, n);
    store_floats(dx->data, dx->type, gate, n, out, !dx->overwrite);
}

/* ---- the operations ------------------------------------------------------ */

/* Forward, or back from dy to dx if there is a dy; pieces of a row are of what
 * has one number for each, y or dy. */
static void run_pieces(struct dev *dev, struct tensor *to,
                       const struct tensor *x, const struct tensor *dy,
                       enum act kind)
{
    const struct tensor *y = dy ? dy : to;
    const bool gated = tensor_cols(x) > tensor_cols(y);
    const int64_t n = tensor_count(y), F = gated ? tensor_cols(y) : n;
    const int64_t each = (F + PIECE - 1) / PIECE; /* pieces of a row */
    const int64_t pieces = n ? n / F * each : 0;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n > ROWS_PIECE)
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t row = i / each, f = i % each * PIECE, at = row * F + f;
        const int64_t gate = gated ? at + row * F : at;
        const int64_t up = gated ? gate + F : -1;
        const int64_t count = F - f < PIECE ? F - f : PIECE;

        if (dy)
            back_piece(to, x, dy, at, gate, up, count, kind);
        else
            forward_piece(to, x, at, gate, up, count, kind);
    }
}

void cpu_act_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
                 enum act kind)
{
    run_pieces(dev, y, x, NULL, kind);
}

void cpu_act_bwd(struct dev *dev, struct tensor *dx, const struct tensor *x,
                 const struct tensor *dy, enum act kind)
{
    run_pieces(dev, dx, x, dy, kind);
}
