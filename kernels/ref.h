#pragma once

#include <assert.h>

#include "kernels/half.h"
#include "kernels/ops.h"

/*
 * ref - how the references read and write numbers
 *
 * A reference computes in double whatever the type of its tensors, and rounds
 * once, when it stores.  ref_add() does what "adds into" means in ops.h: call
 * it once for each element, with the whole sum.
 */
static inline double ref_get(const struct tensor *t, int64_t i)
{
    switch (t->type) {
    case DT_F32:
        return (double)((const float *)t->data)[i];
    case DT_BF16:
        return (double)float_from_bf16(((const uint16_t *)t->data)[i]);
    case DT_F16:
        return (double)float_from_f16(((const uint16_t *)t->data)[i]);
    case DT_F64:
        return ((const double *)t->data)[i];
    case DT_I32:
        return (double)((const int32_t *)t->data)[i];
    case DT_I8:
        return (double)((const int8_t *)t->data)[i];
    case DT_E4M3: /* only products have these, and convert them themselves */
    case DT_E5M2:
    case DT_COUNT:
        break;
    }
    assert(!"a type");
    return 0.0;
}

static inline void ref_set(struct tensor *t, int64_t i, double v)
{
    switch (t->type) {
    case DT_F32:
        ((float *)t->data)[i] = (float)v;
        return;
    case DT_BF16:
        ((uint16_t *)t->data)[i] = bf16_from_float((float)v);
        return;
    case DT_F16:
        ((uint16_t *)t->data)[i] = f16_from_float((float)v);
        return;
    case DT_F64:
        ((double *)t->data)[i] = v;
        return;
    case DT_I32:
        ((int32_t *)t->data)[i] = (int32_t)v;
        return;
    case DT_I8:
        ((int8_t *)t->data)[i] = (int8_t)v;
        return;
    case DT_E4M3:
    case DT_E5M2:
    case DT_COUNT:
        break;
    }
    assert(!"a type");
}

static inline void ref_add(struct tensor *t, int64_t i, double v)
{
    ref_set(t, i, t->overwrite ? v : ref_get(t, i) + v);
}

/* start + the sum of x(i + k by) y(j + k step), of n products in this order. */
static inline double ref_dot(double start, const struct tensor *x, int64_t i,
                             int64_t by, const struct tensor *y, int64_t j,
                             int64_t step, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        start += ref_get(x, i + k * by) * ref_get(y, j + k * step);
    return start;
}

static inline int32_t ref_int(const struct tensor *t, int64_t i)
{
    assert(t->type == DT_I32);
    return ((const int32_t *)t->data)[i];
}
