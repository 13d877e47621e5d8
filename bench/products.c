/*
 * products - multiply what a step of training multiplies, and do nothing else
 *
 *      products LAYERS WIDTH VOCAB BATCH TOKENS [THREADS [STEPS]]
 *
 * For bench-cpu's table: the limit of a machine as a loop that one would write
 * by hand.  A tile of the result stays in registers, and its operands lie in
 * the order in which it reads them, so that nothing is packed, turned or
 * converted.  There are three products for each matrix of a GPT-2 and its head:
 * of the forward pass, for the gradient of the input, and for that of the
 * matrix; and seven of the causal half of attention, of which the backward pass
 * has five.  Prints the median of a few steps: milliseconds by the clock and of
 * processor time, and GFLOP/s.  GTRAIN_ISA=avx2 holds it to AVX2.
 */
#include "config.h"
#include "common/clock.h"

#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEEP = 384,
    WIDE = 1024
}; /* of the right operand, in the second cache */

/* c(ROWS,two vectors) += a' b of depth K */
/* clang-format off */
#define TILE(name, isa, bytes, ROWS)                                           \
    __attribute__((target(isa), noinline)) static void name(                   \
        int64_t K, const float *a, const float *b, float *c, int64_t down)     \
    {                                                                          \
        typedef float v __attribute__((vector_size(bytes), aligned(4)));       \
        const int64_t W = (bytes) / 4;                                         \
        v sum[ROWS][2];                                                        \
                                                                               \
        _Pragma("GCC unroll 16")                                               \
        for (int i = 0; i < ROWS; i++) {                                       \
            sum[i][0] = *(const v *)(c + i * down);                            \
            sum[i][1] = *(const v *)(c + i * down + W);                        \
        }                                                                      \
        for (int64_t k = 0; k < K; k++) {                                      \
            const v b0 = *(const v *)(b + 2 * k * W);                          \
            const v b1 = *(const v *)(b + 2 * k * W + W);                      \
            _Pragma("GCC unroll 16")                                           \
            for (int i = 0; i < ROWS; i++) {                                   \
                sum[i][0] += a[k * ROWS + i] * b0;                             \
                sum[i][1] += a[k * ROWS + i] * b1;                             \
            }                                                                  \
        }                                                                      \
        _Pragma("GCC unroll 16")                                               \
        for (int i = 0; i < ROWS; i++) {                                       \
            *(v *)(c + i * down) = sum[i][0];                                  \
            *(v *)(c + i * down + W) = sum[i][1];                              \
        }                                                                      \
    }
/* clang-format on */

static struct kind {
    void (*tile)(int64_t, const float *, const float *, float *, int64_t);
    int64_t rows, cols;
} kind;

#if defined(__x86_64__)
TILE(tile_512, "avx512f,fma", 64, 14)
TILE(tile_256, "avx2,fma", 32, 6)

static bool choose(void)
{
    const char *isa = getenv("GTRAIN_ISA");

    if (__builtin_cpu_supports("avx512f") && !(isa && strcmp(isa, "avx2") == 0))
        kind = (struct kind){ tile_512, 14, 32 };
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        kind = (struct kind){ tile_256, 6, 16 };
    return kind.tile;
}
#else
static bool choose(void)
{
    return false;
}
#endif

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static float *numbers(int64_t n)
{
    float *out = aligned_alloc(64, (size_t)round_up(n * 4, 64));

    if (!out)
        abort();
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(i % 7) * 1e-3f;
    return out;
}

/* A product: M rows, N columns, each the sum of K. */
struct product {
    int64_t M, N, K;
    float *a, *b, *c;
};

static struct product prepare(int64_t M, int64_t N, int64_t K)
{
    const int64_t rows = round_up(M, kind.rows), cols = round_up(N, kind.cols);

    return (struct product){ rows,
                             cols,
                             K,
                             numbers(rows * K),
                             numbers(cols * K),
                             numbers(rows * cols) };
}

static void multiply(const struct product *p)
{
    const int64_t R = kind.rows, W = kind.cols;

#pragma omp parallel
    for (int64_t k = 0; k < p->K; k += DEEP) {
        const int64_t deep = least(p->K - k, DEEP);

        for (int64_t from = 0; from < p->N; from += WIDE) {
            const int64_t to = least(p->N, from + WIDE);

#pragma omp for
            for (int64_t i = 0; i < p->M; i += R)
                for (int64_t j = from; j < to; j += W)
                    kind.tile(deep, p->a + k * p->M + i * deep,
                              p->b + k * p->N + j * deep, p->c + i * p->N + j,
                              p->N);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int64_t n[7] = { 0, 0, 0, 0, 0, omp_get_max_threads(), 5 };
    struct product p[16]; /* three of each matrix, and one of attention */
    double wall[99], cpu[99], flops = 0;

    if (argc < 6 || argc > 8 || !choose()) {
        fprintf(stderr, "usage: products LAYERS WIDTH VOCAB BATCH TOKENS "
                        "[THREADS [STEPS]]\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        n[i - 1] = strtol(argv[i], NULL, 10);
    omp_set_num_threads((int)n[5]);
    n[6] = least(n[6], 99);

    const int64_t L = n[0], C = n[1], N = n[3] * n[4], T = n[4];
    const int64_t size[5][2] = {
        { C, 3 * C }, { C, C }, { C, 4 * C }, { 4 * C, C }, { C, n[2] }
    };

    for (int i = 0; i < 5; i++) {
        p[3 * i] = prepare(N, size[i][1], size[i][0]);
        p[3 * i + 1] = prepare(N, size[i][0], size[i][1]);
        p[3 * i + 2] = prepare(size[i][1], size[i][0], N);
    }
    p[15] = prepare(N, T / 2, C);
    for (int64_t s = 0; s < n[6]; s++) {
        const double began = clock_mono();
        const clock_t used = clock();

        flops = 0;
        for (int64_t layer = 0; layer <= L; layer++) {
            const int first = layer < L ? 0 : 12, end = layer < L ? 12 : 15;

            for (int i = first; i < end; i++)
                multiply(&p[i]);
            for (int i = 0; i < 7 && layer < L; i++)
                multiply(&p[15]);
            flops += layer < L ? 6.0 * 12 * (double)(N * C * C) +
                                     14.0 * (double)(N * C * (T / 2))
                               : 6.0 * (double)(N * C * n[2]);
        }
        wall[s] = 1e3 * (clock_mono() - began);
        cpu[s] = 1e3 * (double)(clock() - used) / CLOCKS_PER_SEC;
    }
    qsort(wall, (size_t)n[6], sizeof *wall, by_size);
    qsort(cpu, (size_t)n[6], sizeof *cpu, by_size);
    printf("ms=%.2f cpu_ms=%.2f gflops=%.1f\n", wall[n[6] / 2], cpu[n[6] / 2],
           flops / wall[n[6] / 2] * 1e-6);
    return 0;
}
