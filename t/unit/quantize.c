/*
 * quantize - quantized weights in each instruction set against the reference
 */
#include "config.h"
#include "kernels/dev.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 80 * 1088 + 16 };

static float w_data[MOST], x_data[MOST], b_data[1030], scale[2][MOST];
static float y[2][MOST];
static uint8_t q[2][MOST];

static const struct shape {
    int64_t N, C, M;
} shapes[] = {
    { 1, 1, 1 },  { 1, 7, 3 },     { 2, 129, 33 },  { 3, 64, 129 },
    { 7, 65, 1 }, { 9, 33, 1030 }, { 1, 1030, 70 }, { 13, 128, 64 }
};

static void fill(float *p, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
}

static struct tensor matrix(void *data, int64_t rows, int64_t cols)
{
    return (struct tensor){
        .data = data, .type = DT_F32, .rank = 2, .dim = { rows, cols }
    };
}

static struct tensor packed(void *data, enum dtype type, const struct shape *s,
                            int64_t last)
{
    return (struct tensor){
        .data = data,
        .type = type,
        .rank = 3,
        .dim = { (s->M + QUANT_ROWS - 1) / QUANT_ROWS,
                 (s->C + QUANT_GROUP - 1) / QUANT_GROUP, last },
    };
}

static struct tensor packed_numbers(int i, const struct shape *s, int bits)
{
    return packed(q[i], DT_I8, s, QUANT_ROWS * QUANT_GROUP * bits / 8);
}

static struct tensor packed_scales(int i, const struct shape *s)
{
    return packed(scale[i], DT_F32, s, QUANT_ROWS);
}

static void quantize(struct dev *dev, int i, const struct shape *s, int bits)
{
    const struct tensor w = matrix(w_data, s->M, s->C);
    struct tensor out = packed_numbers(i, s, bits), by = packed_scales(i, s);

    memset(q[i], 99, sizeof q[i]);
    (i ? dev->ops->quantize : ref_quantize)(dev, &out, &by, &w);
}

static bool same_bytes(const struct shape *s, int bits)
{
    const struct tensor n = packed_numbers(0, s, bits);
    const struct tensor by = packed_scales(0, s);
    const size_t bytes = tensor_bytes(&n);

    return memcmp(q[0], q[1], bytes) == 0 && q[1][bytes] == 99 &&
           memcmp(scale[0], scale[1], tensor_bytes(&by)) == 0;
}

/* The largest difference of the products, in parts of their usual size. */
static double multiply(struct dev *dev, const struct shape *s, int bits,
                       bool bias)
{
    const struct tensor x = matrix(x_data, s->N, s->C);
    const struct tensor w = packed_numbers(0, s, bits);
    const struct tensor by = packed_scales(0, s);
    const struct tensor b = tensor_vector(b_data, DT_F32, s->M);
    double most = 0.0;

    for (int i = 0; i < 2; i++) {
        struct tensor out = matrix(y[i], s->N, s->M);

        (i ? dev->ops->linear_quantized_fwd : ref_linear_quantized_fwd)(
            dev, &out, &x, &w, &by, bias ? &b : NULL);
    }
    for (int64_t i = 0; i < s->N * s->M; i++)
        most = fmax(most, fabs((double)y[0][i] - (double)y[1][i]) /
                              (1.0 + sqrt((double)s->C)));
    return most;
}

/* How far the product is from that of the floats, relative to its size. */
static double rounding(struct dev *dev, const struct shape *s, int bits)
{
    const struct tensor x = matrix(x_data, s->N, s->C);
    const struct tensor w = matrix(w_data, s->M, s->C);
    const struct tensor small = packed_numbers(1, s, bits);
    const struct tensor by = packed_scales(1, s);
    struct tensor exact = matrix(y[0], s->N, s->M);
    struct tensor near = matrix(y[1], s->N, s->M);
    double off = 0.0, all = 0.0;

    ref_linear_fwd(dev, &exact, &x, &w, NULL);
    dev->ops->linear_quantized_fwd(dev, &near, &x, &small, &by, NULL);
    for (int64_t i = 0; i < s->N * s->M; i++) {
        const double d = (double)y[0][i] - (double)y[1][i];

        off += d * d;
        all += (double)y[0][i] * (double)y[0][i];
    }
    return sqrt(off / all);
}

static void check_shape(struct dev *dev, const char *isa, int i, int bits)
{
    const struct shape *s = &shapes[i];
    double off;

    fill(w_data, s->M * s->C, 1 + (uint32_t)i);
    fill(x_data, s->N * s->C, 100 + (uint32_t)i);
    fill(b_data, s->M, 200 + (uint32_t)i);
    quantize(dev, 0, s, bits);
    quantize(dev, 1, s, bits);
    ok(same_bytes(s, bits), "%s stores %lldx%lld in %d bits as the reference",
       isa, (long long)s->M, (long long)s->C, bits);
    off = fmax(multiply(dev, s, bits, true), multiply(dev, s, bits, false));
    if (!ok(off < 1e-6, "%s multiplies %lldx%lldx%lld of %d bits correctly",
            isa, (long long)s->N, (long long)s->C, (long long)s->M, bits))
        diag("off by %g", off);
    off = rounding(dev, s, bits);
    if (!ok(off < (bits == 8 ? 0.01 : 0.12),
            "%s: a product of %d bits is near that of floats", isa, bits))
        diag("off by %g", off);
}

static void check(const char *isa)
{
    struct dev dev = { .threads = 2 };
    struct err e = { 0 };

    setenv("GTRAIN_ISA", isa, 1);
    if (dev_open(&dev, "cpu", &e) < 0) {
        skip(e.text, "quantized weights of %s agree with the reference", isa);
        return;
    }
    for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); i++) {
        check_shape(&dev, isa, i, 8);
        check_shape(&dev, isa, i, 4);
    }
    dev_close(&dev);
}

int main(void)
{
    const struct shape row = { 1, 4, 1 };

    memcpy(w_data, (float[]){ 1, -254, 127, 3 }, 4 * sizeof *w_data);
    quantize(NULL, 0, &row, 8);
    ok(scale[0][0] == 2.0f &&
           memcmp(q[0], (uint8_t[]){ 128, 1, 192, 130 }, 4) == 0,
       "with 8 bits the largest number is 127, and halves go to even");
    memcpy(w_data, (float[]){ 16, -12, 15, 1 }, 4 * sizeof *w_data);
    quantize(NULL, 0, &row, 4);
    ok(scale[0][0] == -2.0f && (q[0][0] & 15) == 0 && (q[0][1] & 15) == 14 &&
           (q[0][2] & 15) == 0 && (q[0][3] & 15) == 8,
       "with 4 bits the largest number is -8 times the scale");
    memset(w_data, 0, sizeof w_data);
    quantize(NULL, 0, &row, 4);
    ok(scale[0][0] == 0.0f && q[0][0] == 0x88, "a group of zeros has scale 0");
    check("avx512");
    check("avx2");
    check("sve512");
    check("sve256");
    check("neon");
    check("c");
    return done_testing();
}
