/*
 * fp8 - products of matrices rounded to fp8, on the host
 */
#include "config.h"
#include "kernels/fp8.h"

#include <assert.h>
#include <math.h>

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
    FREE(x8.data, w8.data);
}

void fp8_linear_bwd(linear_bwd_fn *op, struct dev *dev, struct tensor *dx,
                    struct tensor *dw, struct tensor *db,
                    const struct tensor *x, const struct tensor *w,
                    const struct tensor *dy)
{
    const struct tensor x8 = fp8_rounded(x, E4M3_MANTISSA);
    const struct tensor w8 = fp8_rounded(w, E4M3_MANTISSA);
    const struct tensor dy8 = fp8_rounded(dy, E5M2_MANTISSA);
    struct tensor plain = *w;

    plain.fp8 = false;
    op(dev, dx, dw, NULL, &x8, &w8, &dy8);
    if (db) /* column sums of dy, which is not rounded */
        op(dev, NULL, NULL, db, x, &plain, dy);
    FREE(x8.data, w8.data, dy8.data);
}
