/*
 * activation - GELU, ReLU, SiLU and their variants, plain and gated
 *
 *      gelu(x)      x Phi(x),  Phi(x) = (1 + erf(x / sqrt 2)) / 2
 *      gelu_tanh(x) x/2 (1 + tanh(u)),  u = c (x + a x^3),  c = sqrt(2 / pi)
 *      silu(x)      x s,  s = 1 / (1 + e^-x)
 */
#include "config.h"
#include "kernels/ref.h"

#include <math.h>

static const double GELU_C = 0.7978845608028654, GELU_A = 0.044715;

static double act_value(enum act kind, double x)
{
    switch (kind) {
    case ACT_GELU:
        return 0.5 * x * erfc(-x * M_SQRT1_2);
    case ACT_GELU_TANH:
        return 0.5 * x * (1.0 + tanh(GELU_C * (x + GELU_A * x * x * x)));
    case ACT_RELU:
        return x > 0.0 ? x : x != x ? x : 0.0;
    case ACT_RELU2:
        return x > 0.0 ? x * x : x != x ? x : 0.0;
    case ACT_SILU:
        return x / (1.0 + exp(-x));
    }
    assert(!"an activation");
    return 0.0;
}

static double act_slope(enum act kind, double x)
{
    double s;

    switch (kind) {
    case ACT_GELU:
        return 0.5 * erfc(-x * M_SQRT1_2) +
               x * exp(-0.5 * x * x) * 0.5 * M_2_SQRTPI * M_SQRT1_2;
    case ACT_GELU_TANH:
        s = tanh(GELU_C * (x + GELU_A * x * x * x));
        return 0.5 * (1.0 + s) +
               0.5 * x * (1.0 - s * s) * GELU_C * (1.0 + 3.0 * GELU_A * x * x);
    case ACT_RELU:
        return x > 0.0 ? 1.0 : x != x ? x : 0.0;
    case ACT_RELU2:
        return x > 0.0 ? 2.0 * x : x != x ? x : 0.0;
    case ACT_SILU:
        s = 1.0 / (1.0 + exp(-x));
        return s * (1.0 + x * (1.0 - s));
    }
    assert(!"an activation");
    return 0.0;
}

/* Where the number is that makes element i of F columns: gated, of 2F. */
static int64_t gate_at(bool gated, int64_t i, int64_t F)
{
    return gated ? i / F * F + i : i;
}

void ref_act_fwd(struct dev *dev UNUSED, struct tensor *y,
                 const struct tensor *x, enum act kind)
{
    const int64_t F = tensor_cols(y), n = tensor_count(y);
    const bool gated = tensor_cols(x) == 2 * F;

    assert(tensor_count(x) == (gated ? 2 : 1) * n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = gate_at(gated, i, F);
        const double v = act_value(kind, ref_get(x, at));

        ref_set(y, i, gated ? v * ref_get(x, at + F) : v);
    }
}

void ref_act_bwd(struct dev *dev UNUSED, struct tensor *dx,
                 const struct tensor *x, const struct tensor *dy, enum act kind)
{
    const int64_t F = tensor_cols(dy);
    const bool gated = tensor_cols(x) == 2 * F;

    for (int64_t i = 0; i < tensor_count(dy); i++) {
        const int64_t at = gate_at(gated, i, F);
        const double gate = ref_get(x, at), d = ref_get(dy, i);
        const double up = gated ? ref_get(x, at + F) : 1.0;

        ref_add(dx, at, act_slope(kind, gate) * up * d);
        if (gated)
            ref_add(dx, at + F, act_value(kind, gate) * d);
    }
}
