/*
 * vec - the errors of the vector functions
 *
 * Compiled without FMA, which has the largest error of the three instruction
 * sets; the bounds are those that the headers state.
 */
#include "config.h"
#include "kernels/cpu/activation.h"
#include "t/lib/tap.h"

#include <math.h>

/* Largest |got - want| / scale(want) seen, and where. */
struct worst {
    double off, at;
};

static void note(struct worst *w, double x, double got, double want,
                 double scale)
{
    const double off = fabs(got - want) / scale;

    if (!(off <= w->off)) {
        w->off = off;
        w->at = x;
    }
}

static void check_exp(void)
{
    struct worst w = { 0, 0 };
    vf x = vf_set(-87.0f);

    for (double v = -87.3; v < 88.7; v += 1.7e-4) {
        x[0] = (float)v;
        note(&w, v, (double)vf_exp(x)[0], exp((double)x[0]), exp((double)x[0]));
    }
    diag("exp: relative error %.3g at %g", w.off, w.at);
    ok(w.off < 1.5e-7, "exp is right to 1.5e-7");
    ok(isinf(vf_exp(vf_set(89.0f))[0]) && isinf(vf_exp(vf_set(INFINITY))[0]),
       "exp above 88.72 is infinite");
    ok(vf_exp(vf_set(-88.0f))[0] <= 0.0f &&
           vf_exp(vf_set(-INFINITY))[0] <= 0.0f,
       "exp below -87.33 is 0");
    ok(isnan(vf_exp(vf_set(NAN))[0]), "exp of a NaN is a NaN");
}

static void check_phi(void)
{
    struct worst w = { 0, 0 };

    for (double v = -12.0; v < 12.0; v += 1.3e-5) {
        const float x = (float)v;
        vf bell;
        const vf got = activation_phi(vf_set(x), &bell);

        note(&w, v, (double)(x * got[0]),
             0.5 * (double)x * erfc(-(double)x * M_SQRT1_2),
             fmax(1.0, fabs((double)x)));
    }
    diag("x Phi(x): error %.3g of max(1, |x|) at %g", w.off, w.at);
    ok(w.off < 1.5e-7, "x Phi(x) is right to 1.5e-7 of max(1, |x|)");
}

static void check_sigmoid(void)
{
    struct worst w = { 0, 0 }, s = { 0, 0 };

    for (double v = -60.0; v < 60.0; v += 6.1e-5) {
        const float x = (float)v;
        vf slope;
        const vf got = activation_sigmoid(vf_set(x), &slope);
        const double want = 1.0 / (1.0 + exp(-(double)x));
        const double rest = 1.0 / (1.0 + exp((double)x));

        note(&w, v, (double)got[0], want, want);
        note(&s, v, (double)slope[0], want * rest, want * rest);
    }
    diag("sigmoid: relative error %.3g at %g; its slope %.3g at %g", w.off,
         w.at, s.off, s.at);
    ok(w.off < 4e-7, "sigmoid is right to 4e-7");
    ok(s.off < 6e-7, "the slope of sigmoid is right to 6e-7");
}

int main(void)
{
    check_exp();
    check_phi();
    check_sigmoid();
    return done_testing();
}
