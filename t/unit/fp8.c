/*
 * fp8 - 8-bit numbers: every one of them, every rounding between them, and the
 * scales of matrices.  PyTorch's numbers are in t/reference/fp8.txt, made by
 * t/reference/fp8.py.
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/fp8.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct format {
    const char *name;
    int mantissa;
    float largest;
} formats[] = {
    { "e4m3", E4M3_MANTISSA, 448.0f },
    { "e5m2", E5M2_MANTISSA, 57344.0f },
};

static float value_of(const struct format *f, unsigned code)
{
    return float_from_fp8((uint8_t)code, f->mantissa);
}

static unsigned code_of(const struct format *f, float x)
{
    return fp8_from_float(x, f->mantissa);
}

/* ---- PyTorch ------------------------------------------------------------ */

struct counts {
    int values, codes, wrong;
};

static void compare_line(const char *line, struct counts *n)
{
    char what[8], name[8];
    unsigned from, to;

    if (sscanf(line, "%7s %7s %x %x", what, name, &from, &to) != 4)
        return;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *f = &formats[i];

        if (strcmp(name, f->name) != 0)
            continue;
        if (strcmp(what, "value") == 0) {
            const float is = value_of(f, from), want = float_from_bits(to);

            n->values++;
            n->wrong += isnan(want) ? !isnan(is) : float_bits(is) != to;
        } else {
            n->codes++;
            n->wrong += code_of(f, float_from_bits(from)) != to;
        }
    }
}

static void check_pytorch(void)
{
    const char *top = getenv("top_srcdir");
    char *path = xasprintf("%s/t/reference/fp8.txt", top ? top : "..");
    FILE *fp = fopen(path, "r");
    struct counts n = { 0 };
    char line[80];

    while (fp && fgets(line, sizeof line, fp))
        compare_line(line, &n);
    if (fp)
        fclose(fp);
    ok(n.values == 512 && n.codes == 800 && n.wrong == 0,
       "all codes have PyTorch's values, and numbers get PyTorch's codes");
    free(path);
}

/* ---- rounding ----------------------------------------------------------- */

static void check_rounding(const struct format *f)
{
    const unsigned last = code_of(f, f->largest);
    int back = 0, wrong = 0;

    for (unsigned c = 0; c <= last; c++)
        back += code_of(f, value_of(f, c)) != c ||
                code_of(f, -value_of(f, c)) != (c | 0x80);
    ok(!back, "%s: every number survives the conversion to float and back",
       f->name);
    for (unsigned c = 0; c < last; c++) {
        const float middle = (value_of(f, c) + value_of(f, c + 1)) / 2;

        wrong += code_of(f, middle) != (c & 1 ? c + 1 : c);
        wrong += code_of(f, nextafterf(middle, 0.0f)) != c;
        wrong += code_of(f, nextafterf(middle, INFINITY)) != c + 1;
    }
    ok(!wrong, "%s: rounding is to nearest, ties to even", f->name);
    ok(code_of(f, 1e30f) == last && code_of(f, -1e30f) == (last | 0x80) &&
           code_of(f, INFINITY) == last && isnan(value_of(f, code_of(f, NAN))),
       "%s: a number that is too large becomes the largest, and a NaN a NaN",
       f->name);
}

/* ---- scales ------------------------------------------------------------- */

static void check_scale(const struct format *f)
{
    int wrong = 0, exponent;

    for (float most = 1e-20f; most < 1e20f; most *= 1.01f) {
        const float scale = fp8_scale(most, f->mantissa);

        wrong += frexpf(scale, &exponent) > 0.5f || most / scale > f->largest ||
                 most * 2 / scale <= f->largest;
    }
    ok(!wrong, "%s: the scale is the least power of two that makes all fit",
       f->name);
    ok(isnan(fp8_scale(INFINITY, f->mantissa)) &&
           isnan(fp8_scale(NAN, f->mantissa)) &&
           isfinite(fp8_scale(0.0f, f->mantissa)) &&
           isfinite(fp8_scale(3e38f, f->mantissa)),
       "%s: the scale of numbers that are not finite is NaN", f->name);
}

/* A matrix of BF16, rounded: each element is within half a step of E4M3, and an
 * infinite one makes all of them NaN. */
static void check_matrix(void)
{
    enum { N = 1000 };
    uint16_t x[N];
    const struct tensor t = tensor_vector(x, DT_BF16, N);
    struct tensor y;
    int far = 0, numbers = 0;

    for (int i = 0; i < N; i++)
        x[i] = bf16_from_float(sinf((float)i) * 3e-5f);
    y = fp8_rounded(&t, E4M3_MANTISSA);
    for (int i = 0; i < N; i++) {
        const float from = float_from_bf16(x[i]);
        const float to = float_from_bf16(((uint16_t *)y.data)[i]);

        far += fabsf(to - from) > fabsf(from) / 16 + 3e-5f * 0x1p-17f;
    }
    free(y.data);
    ok(!far, "a rounded matrix has the numbers of the matrix, to half a step");
    x[7] = bf16_from_float(-INFINITY);
    y = fp8_rounded(&t, E4M3_MANTISSA);
    for (int i = 0; i < N; i++)
        numbers += !isnan(float_from_bf16(((uint16_t *)y.data)[i]));
    free(y.data);
    ok(!numbers, "a matrix with an infinite element becomes NaN");
}

int main(void)
{
    check_pytorch();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        check_rounding(&formats[i]);
        check_scale(&formats[i]);
    }
    check_matrix();
    return done_testing();
}
