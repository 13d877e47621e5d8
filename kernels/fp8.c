/*
 * fp8 - products of matrices rounded to fp8, on the host
 */
#include "config.h"
#include "kernels/fp8.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/mem.h"

static float rounded(float x, float scale, int mantissa)
{
    return float_from_fp8(fp8_from_float(x / scale, mantissa), mantissa) *
           scale;
}

void fp8_round(float *x, int64_t n, float most, int mantissa)
{
    const float scale = fp8_scale(most, mantissa);

    for (int64_t i = 0; i < n; i++)
        x[i] = rounded(x[i], scale, mantissa);
}

/* The largest magnitude; infinite if an element is not finite. */
static float largest(const uint16_t *x, int64_t n)
{
    uint16_t most = 0;

    for (int64_t i = 0; i < n; i++) {
        const uint16_t a = x[i] & 0x7fff;

        most = a > most ? a : most;
    }
    return most >= 0x7f80 ? INFINITY : float_from_bf16(most);
}

struct tensor fp8_rounded(const struct tensor *x, int mantissa)
{
    const int64_t n = tensor_count(x);
    const uint16_t *from = (const uint16_t *)x->data;
    const float scale = fp8_scale(largest(from, n), mantissa);
    struct tensor y = *x;
    uint16_t *to = xcalloc((size_t)n, sizeof *to);

    assert(x->type == DT_BF16);
    for (int64_t i = 0; i < n; i++)
        to[i] =
            bf16_from_float(rounded(float_from_bf16(from[i]), scale, mantissa));
    y.data = to;
    y.fp8 = false;
    return y;
}

void fp8_linear_fwd(linear_fwd_fn *op, struct dev *dev, struct tensor *y,
                    const struct tensor *x, const struct tensor *w,
                    const struct tensor *b)
{
    const struct tensor x8 = fp8_rounded(x, E4M3_MANTISSA);
    const struct tensor w8 = fp8_rounded(w, E4M3_MANTISSA);

    op(dev, y, &x8, &w8, b);
    free(x8.data);
    free(w8.data);
}

void fp8_linear_act_fwd(linear_act_fwd_fn *op, struct dev *dev,
                        struct tensor *y, struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *b, enum act kind)
{
    const struct tensor x8 = fp8_rounded(x, E4M3_MANTISSA);
    const struct tensor w8 = fp8_rounded(w, E4M3_MANTISSA);

    op(dev, y, pre, &x8, &w8, b, kind);
    free(x8.data);
    free(w8.data);
}

/* What the products of the backward pass read. */
struct fp8_operands {
    struct tensor x, w, dy;
};

static struct fp8_operands round_operands(const struct tensor *x,
                                          const struct tensor *w,
                                          const struct tensor *dy)
{
    return (struct fp8_operands){ .x = fp8_rounded(x, E4M3_MANTISSA),
                                  .w = fp8_rounded(w, E4M3_MANTISSA),
                                  .dy = fp8_rounded(dy, E5M2_MANTISSA) };
}

static void free_operands(struct fp8_operands *q)
{
    free(q->x.data);
    free(q->w.data);
    free(q->dy.data);
}

/* db += column sums of dy, which is not rounded. */
static void add_bias_gradient(linear_bwd_fn *op, struct dev *dev,
                              struct tensor *db, const struct tensor *x,
                              const struct tensor *w, const struct tensor *dy)
{
    struct tensor plain = *w;

    plain.fp8 = false;
    if (db)
        op(dev, NULL, NULL, db, x, &plain, dy);
}

void fp8_linear_bwd(linear_bwd_fn *op, struct dev *dev, struct tensor *dx,
                    struct tensor *dw, struct tensor *db,
                    const struct tensor *x, const struct tensor *w,
                    const struct tensor *dy)
{
    struct fp8_operands q = round_operands(x, w, dy);

    op(dev, dx, dw, NULL, &q.x, &q.w, &q.dy);
    add_bias_gradient(op, dev, db, x, w, dy);
    free_operands(&q);
}

void fp8_act_linear_bwd(act_linear_bwd_fn *op, linear_bwd_fn *bias,
                        struct dev *dev, struct tensor *dpre, struct tensor *dw,
                        struct tensor *db, const struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *dy, enum act kind)
{
    struct fp8_operands q = round_operands(x, w, dy);

    op(dev, dpre, dw, NULL, pre, &q.x, &q.w, &q.dy, kind);
    add_bias_gradient(bias, dev, db, x, w, dy);
    free_operands(&q);
}
