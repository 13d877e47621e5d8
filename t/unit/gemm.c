/*
 * gemm - products of bf16 by numbers and by pairs
 *
 * The elements are eighths, few enough that every sum is exact, so it must be
 * the same number however and in whatever order it is computed.
 */
#define CPU_ISA avx512
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "t/lib/tap.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"
#include "kernels/half.h"

enum { ROUNDS = 60 };

static uint64_t drawn;

static int64_t draw(int64_t below)
{
    return (int64_t)(rng_word(3, 0, drawn++) % (uint64_t)below);
}

/* n eighths from -1 to 1. */
static void *numbers(enum dtype type, int64_t n)
{
    void *data = xmalloc((size_t)n * dtype_size(type));

    for (int64_t i = 0; i < n; i++) {
        const float f = (float)(draw(17) - 8) / 8.0f;

        if (type == DT_F32)
            ((float *)data)[i] = f;
        else
            ((uint16_t *)data)[i] = bf16_from_float(f);
    }
    return data;
}

static float number(const void *data, enum dtype type, int64_t i)
{
    return type == DT_F32 ? ((const float *)data)[i]
                          : float_from_bf16(((const uint16_t *)data)[i]);
}

static struct gemm_view random_view(const void *data, enum dtype type,
                                    int64_t rows, int64_t cols)
{
    return draw(2) ? (struct gemm_view){ data, type, cols, 1 }
                   : (struct gemm_view){ data, type, 1, rows };
}

static float element(const struct gemm *g, const void *c, int64_t i, int64_t j)
{
    float sum = g->add ? number(c, g->c_type, i * g->N + j) : 0.0f;

    for (int64_t k = 0; k < g->K; k++)
        sum += number(g->a.data, g->a.type, i * g->a.down + k * g->a.right) *
               number(g->b.data, g->b.type, k * g->b.down + j * g->b.right);
    return g->c_type == DT_F32 ? sum : float_from_bf16(bf16_from_float(sum));
}

/* One product of a random shape, for a second cache that is small or large; its
 * scratch memory holds NaNs before. */
static bool is_right(struct dev *dev)
{
    const enum dtype a = draw(3) ? DT_BF16 : DT_F32;
    struct gemm g = {
        .M = 1 + draw(90),
        .N = 1 + draw(draw(4) ? 130 : 500),
        .K = 1 + draw(draw(4) ? 200 : 1800),
        .c_type = draw(3) ? DT_F32 : DT_BF16,
        .add = draw(2),
    };
    const int64_t size = g.M * g.N;
    void *a_data = numbers(a, g.M * g.K), *b_data = numbers(DT_BF16, g.K * g.N);
    void *before = numbers(g.c_type, size), *scratch;
    size_t room;
    bool right = true;

    g.a = random_view(a_data, a, g.M, g.K);
    g.b = random_view(b_data, DT_BF16, g.K, g.N);
    g.c_down = g.N;
    g.c = xmalloc((size_t)size * dtype_size(g.c_type));
    memcpy(g.c, before, (size_t)size * dtype_size(g.c_type));
    ((struct cpu *)dev->state)->near = draw(2) ? 100 : 160 << 10;
    room = (gemm_scratch(dev, &g) + 63) / 64 * 64;
    scratch = aligned_alloc(64, room);
    if (!scratch)
        abort();
    memset(scratch, 0xFF, room);
    gemm(dev, &g, scratch);
    for (int64_t i = 0; i < g.M && right; i++)
        for (int64_t j = 0; j < g.N && right; j++) {
            const float want = element(&g, before, i, j);
            const float got = number(g.c, g.c_type, i * g.N + j);

            right = want >= got && want <= got;
            if (!right)
                diag("%lld x %lld x %lld, at %lld, %lld: %g, not %g",
                     (long long)g.M, (long long)g.N, (long long)g.K,
                     (long long)i, (long long)j, (double)got, (double)want);
        }
    free(a_data);
    free(b_data);
    free(before);
    free(g.c);
    free(scratch);
    return right;
}

int main(void)
{
    static const char *const isas[] = { "avx512bf16", "avx512" };

    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        struct dev dev = { .threads = 2 };
        struct err e = { 0 };
        int right = 0;

        setenv("GTRAIN_ISA", isas[i], 1);
        if (dev_open(&dev, "cpu", &e) < 0) {
            skip(e.text, "%s: all products of bf16 are exact", isas[i]);
            continue;
        }
        for (int round = 0; round < ROUNDS; round++)
            right += is_right(&dev);
        ok(right == ROUNDS, "%s computes %d of %d products exactly", isas[i],
           right, ROUNDS);
        dev_close(&dev);
    }
    return done_testing();
}
