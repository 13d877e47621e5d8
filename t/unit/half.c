/*
 * half - 16-bit numbers: every one of them, and every rounding between them
 */
#include "config.h"
#include "kernels/dev.h"
#include "kernels/half.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 1 << 16 };

/* A format, and its numbers by definition: sign, exponent, mantissa. */
struct format {
    const char *name;
    enum dtype type;
    int mantissa, bias;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
};

static float widen_bf16(uint16_t h)
{
    return float_from_bf16(h);
}

static uint16_t narrow_bf16(float f)
{
    return bf16_from_float(f);
}

static float widen_f16(uint16_t h)
{
    return float_from_f16(h);
}

static uint16_t narrow_f16(float f)
{
    return f16_from_float(f);
}

static const struct format formats[] = {
    { "bf16", DT_BF16, 7, 127, widen_bf16, narrow_bf16 },
    { "f16", DT_F16, 10, 15, widen_f16, narrow_f16 },
};

static double by_definition(const struct format *f, unsigned h)
{
    const int exponent = (int)(h & 0x7fff) >> f->mantissa;
    const int rest = (int)h & ((1 << f->mantissa) - 1);
    const double sign = h & 0x8000 ? -1.0 : 1.0;

    if (exponent == 0x7fff >> f->mantissa)
        return rest ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(rest, 1 - f->bias - f->mantissa);
    return sign *
           ldexp(rest + (1 << f->mantissa), exponent - f->bias - f->mantissa);
}

static bool is_nan(const struct format *f, unsigned h)
{
    return (h & 0x7fff) > (0x7fffu & ~((1u << f->mantissa) - 1));
}

static void check_values(const struct format *f)
{
    int wrong = 0, back = 0, quiet = 0;

    for (unsigned h = 0; h < ALL; h++) {
        const float x = f->widen((uint16_t)h);
        const unsigned again = f->narrow(x);

        if (is_nan(f, h)) {
            quiet += !isnan(x) || again != (h | 1u << (f->mantissa - 1));
            continue;
        }
        wrong += (double)x < by_definition(f, h) ||
                 (double)x > by_definition(f, h) || !signbit(x) != !(h >> 15);
        back += again != h;
    }
    ok(!wrong, "%s: every value is that of the format", f->name);
    ok(!back, "%s: every value survives the conversion to float and back",
       f->name);
    ok(!quiet, "%s: a NaN keeps its sign and payload and becomes quiet",
       f->name);
}

/* Between neighbours: a little below, at, and a little above the middle. */
static void check_rounding(const struct format *f)
{
    int wrong = 0;

    for (unsigned h = 0; h < 0x7fff; h++) {
        const unsigned even = h & 1 ? h + 1 : h;
        double low = by_definition(f, h), high = by_definition(f, h + 1);
        float middle;

        if (is_nan(f, h + 1))
            break;
        if (isinf(high)) /* the same step beyond the largest number */
            high = low + (low - by_definition(f, h - 1));
        middle = (float)((low + high) / 2.0);
        wrong += f->narrow(middle) != even;
        wrong += f->narrow(-middle) != (even | 0x8000);
        wrong += f->narrow(nextafterf(middle, 0.0f)) != h;
        wrong += f->narrow(nextafterf(middle, INFINITY)) != h + 1;
    }
    ok(!wrong, "%s: rounding is to nearest, ties to even", f->name);
    ok(f->narrow(INFINITY) == f->narrow(3.4e38f) + 0u ||
           f->narrow(INFINITY) - 1u == f->narrow(3.38e38f) + 0u,
       "%s: a number that is too large becomes infinite", f->name);
}

/* The CPU's conversions, through the operation that adds or copies. */
static void check_cast(const struct format *f, const char *isa)
{
    static uint16_t half[ALL], back[ALL];
    static float wide[ALL];
    struct tensor h = {
        .data = half, .type = f->type, .rank = 1, .dim = { ALL }
    };
    struct tensor w = {
        .data = wide, .type = DT_F32, .rank = 1, .dim = { ALL }
    };
    struct tensor b;
    struct err e = { 0 };
    struct dev dev = { .threads = 1 };
    int wrong = 0;

    setenv("GTRAIN_ISA", isa, 1);
    if (dev_open(&dev, "cpu", &e) < 0) {
        skip(e.text, "conversions by %s agree with half.h", isa);
        return;
    }
    h.overwrite = w.overwrite = true;
    b = h;
    b.data = back;
    for (unsigned i = 0; i < ALL; i++)
        half[i] = (uint16_t)i;
    dev.ops->accum(&dev, &w, &h);
    for (unsigned i = 0; i < ALL; i++)
        wrong += float_bits(wide[i]) != float_bits(f->widen(half[i]));
    ok(!wrong, "%s to float on %s has the same bits as half.h", f->name, isa);
    wrong = 0;
    for (unsigned round = 0; round < 64; round++) {
        for (unsigned i = 0; i < ALL; i++)
            wide[i] = float_from_bits((i << 16) ^ round * 0x041f2083u);
        dev.ops->accum(&dev, &b, &w);
        for (unsigned i = 0; i < ALL; i++)
            wrong += back[i] != f->narrow(wide[i]);
    }
    ok(!wrong, "float to %s on %s has the same bits as half.h", f->name, isa);
    dev_close(&dev);
}

/* Over all 65,536 noises the mean of the rounded numbers is the number itself;
 * numbers of bf16 stay, and so do infinities and NaNs. */
static void check_random(void)
{
    static const float tries[] = { 1.3f, -0.777f, 3e-38f, 1e-42f, 65503.9f };
    bool good = true;

    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        double sum = 0;

        for (uint32_t noise = 0; noise < 65536; noise++)
            sum += (double)float_from_bf16(
                bf16_from_float_random(tries[i], noise));
        good = good && fabs(sum / 65536 - (double)tries[i]) <=
                           1e-9 * fabs((double)tries[i]);
    }
    ok(good, "numbers that are rounded at random have the right mean");
    ok(bf16_from_float_random(1.5f, 65535) == bf16_from_float(1.5f) &&
           bf16_from_float_random(INFINITY, 65535) ==
               bf16_from_float(INFINITY) &&
           isnan(float_from_bf16(bf16_from_float_random(NAN, 65535))),
       "numbers that need no rounding are not rounded");
}

int main(void)
{
    check_random();
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        check_values(&formats[i]);
        check_rounding(&formats[i]);
        check_cast(&formats[i], "avx512");
        check_cast(&formats[i], "avx2");
        check_cast(&formats[i], "sve512");
        check_cast(&formats[i], "sve256");
        check_cast(&formats[i], "neon");
        check_cast(&formats[i], "c");
    }
    return done_testing();
}
