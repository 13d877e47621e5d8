/*
 * int8 - 8-bit weights in each instruction set against the reference
 */
#include "config.h"
#include "kernels/dev.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 70 * 1030 + 16 };

static float w_data[MOST], x_data[MOST], b_data[1030], scale[2][1030];
static float y[2][MOST];
static int8_t q[2][MOST];

static const struct shape {
    int64_t N, C, M;
} shapes[] = { { 1, 1, 1 },  { 1, 7, 3 },     { 2, 129, 33 },  { 3, 64, 129 },
               { 7, 65, 1 }, { 9, 33, 1030 }, { 1, 1030, 70 }, { 4, 16, 16 } };

static void fill(float *p, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
}

static struct tensor matrix(void *data, enum dtype type, int64_t rows,
                            int64_t cols)
{
    return (struct tensor){
        .data = data, .type = type, .rank = 2, .dim = { rows, cols }
    };
}

static struct tensor vector(void *data, int64_t n)
{
    return (
        struct tensor){ .data = data, .type = DT_F32, .rank = 1, .dim = { n } };
}

/* How far apart the two quantisations are, in steps. */
static int quantize_both(struct dev *dev, const struct shape *s)
{
    const struct tensor w = matrix(w_data, DT_F32, s->M, s->C);
    int most = 0;

    for (int i = 0; i < 2; i++) {
        struct tensor out = matrix(q[i], DT_I8, s->M, s->C);
        struct tensor by = vector(scale[i], s->M);

        memset(q[i], 99, sizeof q[i]);
        (i ? dev->ops->quantize : ref_quantize)(dev, &out, &by, &w);
    }
    for (int64_t i = 0; i < s->M * s->C; i++)
        most = abs(q[0][i] - q[1][i]) > most ? abs(q[0][i] - q[1][i]) : most;
    if (q[1][s->M * s->C] != 99)
        return 255;
    return most;
}

/* The largest error of the product, in parts of the sum of absolute terms. */
static double multiply_both(struct dev *dev, const struct shape *s, bool bias)
{
    const struct tensor x = matrix(x_data, DT_F32, s->N, s->C);
    const struct tensor w = matrix(q[0], DT_I8, s->M, s->C);
    const struct tensor by = vector(scale[0], s->M), b = vector(b_data, s->M);
    double most = 0.0;

    for (int i = 0; i < 2; i++) {
        struct tensor out = matrix(y[i], DT_F32, s->N, s->M);

        (i ? dev->ops->linear_int8_fwd
           : ref_linear_int8_fwd)(dev, &out, &x, &w, &by, bias ? &b : NULL);
    }
    for (int64_t i = 0; i < s->N * s->M; i++)
        most = fmax(most, fabs((double)y[0][i] - (double)y[1][i]) /
                              (1.0 + sqrt((double)s->C)));
    return most;
}

/* What 8 bits cost: the error beside the product of the floats, relative. */
static double cost(struct dev *dev, const struct shape *s)
{
    const struct tensor x = matrix(x_data, DT_F32, s->N, s->C);
    const struct tensor w = matrix(w_data, DT_F32, s->M, s->C);
    const struct tensor small = matrix(q[1], DT_I8, s->M, s->C);
    const struct tensor by = vector(scale[1], s->M);
    struct tensor exact = matrix(y[0], DT_F32, s->N, s->M);
    struct tensor near = matrix(y[1], DT_F32, s->N, s->M);
    double off = 0.0, all = 0.0;

    ref_linear_fwd(dev, &exact, &x, &w, NULL);
    dev->ops->linear_int8_fwd(dev, &near, &x, &small, &by, NULL);
    for (int64_t i = 0; i < s->N * s->M; i++) {
        const double d = (double)y[0][i] - (double)y[1][i];

        off += d * d;
        all += (double)y[0][i] * (double)y[0][i];
    }
    return sqrt(off / all);
}

static void check(const char *isa)
{
    struct dev dev = { .threads = 2 };
    struct err e = ERR_INIT;

    setenv("GTRAIN_ISA", isa, 1);
    if (dev_open(&dev, "cpu", &e) < 0) {
        skip(e.text, "8-bit weights of %s agree with the reference", isa);
        return;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct shape *s = &shapes[i];
        double off;

        fill(w_data, s->M * s->C, 1 + (uint32_t)i);
        fill(x_data, s->N * s->C, 100 + (uint32_t)i);
        fill(b_data, s->M, 200 + (uint32_t)i);
        ok(quantize_both(&dev, s) <= 1 && scale[0][0] == scale[1][0],
           "%s quantises %lldx%lld to the reference's bytes, except ties", isa,
           (long long)s->M, (long long)s->C);
        off = fmax(multiply_both(&dev, s, true), multiply_both(&dev, s, false));
        if (!ok(off < 1e-6, "%s multiplies %lldx%lldx%lld as the reference",
                isa, (long long)s->N, (long long)s->C, (long long)s->M))
            diag("off by %g", off);
        off = cost(&dev, s);
        if (!ok(off < 0.01, "%s is within 1%% of the product of floats", isa))
            diag("off by %g", off);
    }
    dev_close(&dev);
}

int main(void)
{
    struct dev dev = { .threads = 1 };
    struct tensor none = matrix(w_data, DT_F32, 2, 5);
    struct tensor out = matrix(q[0], DT_I8, 2, 5), by = vector(scale[0], 2);
    struct err e = ERR_INIT;

    if (dev_open(&dev, "cpu", &e) < 0)
        return 1;
    dev.ops->quantize(&dev, &out, &by, &none);
    ok(q[0][0] == 0 && q[0][9] == 0 && scale[0][1] == 0.0f,
       "a row of zeros has scale 0");
    none.data = (float[]){ 1, -2, 0.5f, 2, 0, 254, 127, 1, -254, -1 };
    dev.ops->quantize(&dev, &out, &by, &none);
    ok(memcmp(q[0], (int8_t[]){ 64, -127, 32, 127, 0, 127, 64, 0, -127, 0 },
              10) == 0,
       "the largest of a row is 127, and halves go to even");
    dev_close(&dev);
    check("avx512");
    check("avx2");
    check("c");
    return done_testing();
}
