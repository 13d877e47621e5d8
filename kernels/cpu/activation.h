#pragma once

#include "kernels/cpu/vec.h"
#include "kernels/ops.h"

/*
 * activation - the activations and their slopes, on a vector
 *
 * The formulas are in kernels/activation.c.  The kind is a constant where these
 * are inlined.
 */

/*
 * s = 1 / (1 + e^-x), and s (1 - s) for the slopes.  From e^-|x|, so nothing
 * overflows and 1 - s loses no digits.
 */
VEC_FN vf activation_sigmoid(vf x, vf *slope)
{
    const vf e = vf_exp(vf_select((vi)(x < 0.0f), x, -x));
    const vf r = 1.0f / (1.0f + e);

    *slope = e * r * r;
    return vf_select((vi)(x < 0.0f), e * r, r);
}

/*
 * Phi(x), the normal distribution, and e^(-x^2/2), which the slope needs too.
 * For z = |x|, Phi(-z) = e^(-z^2/2) q(t), t = 1 / (1 + 0.3 z), q a polynomial
 * of degree 7 fitted to an error below 3e-10 / z on [0, 8].
 */
VEC_FN vf activation_phi(vf x, vf *bell)
{
    const vf z = vf_select((vi)(x < 0.0f), -x, x);
    const vf t = 1.0f / (1.0f + 0.3f * z);
    vf q = t * 0.0511280234f - 0.320550754f;

    q = q * t + 0.700471545f;
    q = q * t - 0.53993052f;
    q = q * t + 0.475939839f;
    q = q * t - 0.0104145432f;
    q = q * t + 0.145589718f;
    q = q * t - 0.00223330867f;
    *bell = vf_exp(-0.5f * x * x);
    q = q * *bell;
    return vf_select((vi)(x < 0.0f), q, 1.0f - q);
}

/* 2 c (x + a x^3), so that (1 + tanh(u)) / 2 = sigmoid of it. */
VEC_FN vf activation_tanh_arg(vf x)
{
    return x * (1.5957691216057308f + 0.0713548162726009f * x * x);
}

VEC_FN vf activation_value(enum act kind, vf x)
{
    const vf zero = vf_set(0.0f);
    vf slope;

    switch (kind) {
    case ACT_GELU:
        return x * activation_phi(x, &slope);
    case ACT_GELU_TANH:
        return x * activation_sigmoid(activation_tanh_arg(x), &slope);
    case ACT_RELU:
        return vf_max(x, zero);
    case ACT_RELU2:
        return x * vf_max(x, zero);
    case ACT_SILU:
        return x * activation_sigmoid(x, &slope);
    }
    return x;
}

VEC_FN vf activation_slope(enum act kind, vf x)
{
    const vf zero = vf_set(0.0f);
    vf s, slope;

    switch (kind) {
    case ACT_GELU:
        s = activation_phi(x, &slope);
        return s + x * slope * 0.3989422804014327f;
    case ACT_GELU_TANH:
        s = activation_sigmoid(activation_tanh_arg(x), &slope);
        return s +
               x * slope * (1.5957691216057308f + 0.2140644488178027f * x * x);
    case ACT_RELU:
        return vf_select((vi)(x <= 0.0f), zero,
                         vf_select((vi)(x == x), vf_set(1.0f), x));
    case ACT_RELU2:
        return 2.0f * vf_max(x, zero);
    case ACT_SILU:
        s = activation_sigmoid(x, &slope);
        return s + x * slope;
    }
    return x;
}

/* Call fn(KIND, ...) with the kind as a constant. */
#define ACTIVATION_CASE(KIND, fn, ...)                                         \
    case KIND:                                                                 \
        fn(KIND, __VA_ARGS__);                                                 \
        break;
#define ACTIVATION_BY_KIND(kind, fn, ...)                                      \
    do {                                                                       \
        switch (kind) {                                                        \
            ACTIVATION_CASE(ACT_GELU, fn, __VA_ARGS__)                         \
            ACTIVATION_CASE(ACT_GELU_TANH, fn, __VA_ARGS__)                    \
            ACTIVATION_CASE(ACT_RELU, fn, __VA_ARGS__)                         \
            ACTIVATION_CASE(ACT_RELU2, fn, __VA_ARGS__)                        \
            ACTIVATION_CASE(ACT_SILU, fn, __VA_ARGS__)                         \
        }                                                                      \
    } while (0)
