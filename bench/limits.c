/*
 * limits - measure the highest rates of this machine, for bench-cpu's table
 *
 *      limits [THREADS]
 *
 * Prints one line: fused multiply-adds of floats, and products of pairs of bf16
 * (0 without AVX512_BF16), in GFLOP/s; memory traffic of a = b + s c in GB/s,
 * with 16 bytes per element, since the write allocates; and of reading alone,
 * from huge pages.  All threads run at once.  The values are the best of many
 * short tries, except for reading, which is compared with means over a second:
 * it is the median.  GTRAIN_ISA=avx2 measures the multiply-adds of AVX2 where
 * there is AVX-512.
 */
#include "config.h"
#include "common/clock.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 1 << 18, TRIES = 40 };

static const int64_t COUNT = 32 << 20; /* floats of each array: 128 MiB */

/* Independent sums in vectors of `bytes`, enough to keep the units full. */
/* clang-format off */
#define STEP_FMA sum[i] = sum[i] * m + a
#define STEP_PAIRS                                                             \
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum[i]) : "v"(m), "v"(a))
#define LOOP(name, isa, bytes, SUMS, STEP)                                     \
    __attribute__((target(isa), noinline)) static float name(float x)          \
    {                                                                          \
        typedef float v __attribute__((vector_size(bytes)));                   \
        v sum[SUMS], m = { 0 }, a = { 0 };                                     \
        float out = 0.0f;                                                      \
                                                                               \
        m += x;                                                                \
        a += 1.0f - x;                                                         \
        _Pragma("GCC unroll 24")                                               \
        for (int i = 0; i < SUMS; i++)                                         \
            sum[i] = m + (float)i; /* equal ones are merged */                 \
        for (int r = 0; r < ROUNDS; r++) {                                     \
            _Pragma("GCC unroll 24")                                           \
            for (int i = 0; i < SUMS; i++)                                     \
                STEP;                                                          \
        }                                                                      \
        _Pragma("GCC unroll 24")                                               \
        for (int i = 0; i < SUMS; i++)                                         \
            out += sum[i][0];                                                  \
        return out;                                                            \
    }
/* clang-format on */

#if defined(__x86_64__)
LOOP(fma_512, "avx512f,fma", 64, 12, STEP_FMA)
LOOP(fma_256, "avx2,fma", 32, 12, STEP_FMA)
LOOP(fma_128, "sse2", 16, 12, STEP_FMA)
#if defined(HAVE_AVX512BF16)
LOOP(pairs_512, "avx512f", 64, 24, STEP_PAIRS)
#endif
#endif

struct width {
    const char *name;
    int products; /* of a round, of one thread */
    float (*run)(float);
};

static struct width pairs(void)
{
#if defined(__x86_64__) && defined(HAVE_AVX512BF16)
    if (__builtin_cpu_supports("avx512bf16"))
        return (struct width){ "pairs", 24 * 32, pairs_512 };
#endif
    return (struct width){ "none", 0, NULL };
}

static struct width widest(void)
{
#if defined(__x86_64__)
    const char *isa = getenv("GTRAIN_ISA");

    if (__builtin_cpu_supports("avx512f") && !(isa && strcmp(isa, "avx2") == 0))
        return (struct width){ "avx512", 12 * 16, fma_512 };
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct width){ "avx2", 12 * 8, fma_256 };
    return (struct width){ "sse2", 12 * 4, fma_128 };
#else
    return (struct width){ "none", 0, NULL };
#endif
}

/* The processor time of this thread, which excludes other work. */
static double thread_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double fma_rate(struct width w, int threads)
{
    const double work = 2.0 * ROUNDS * w.products * threads;
    volatile float keep = 0.0f;
    double best = 1e9;

    for (int i = 0; w.run && i < TRIES; i++) {
        double took = 0.0;
        float sum = 0.0f;

#pragma omp parallel num_threads(threads) reduction(+ : sum) \
    reduction(max : took)
        {
            const double start = thread_seconds();

            sum += w.run(0.5f);
            took = thread_seconds() - start;
        }
        keep += sum;
        best = took < best ? took : best;
    }
    return w.run ? work / best * 1e-9 : 0.0;
}

static double triad_rate(int threads)
{
    const size_t bytes = (size_t)COUNT * sizeof(float);
    float *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes);
    float *c = aligned_alloc(64, bytes);
    double best = 1e9;

    if (!a || !b || !c)
        abort();
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < COUNT; i++) {
        a[i] = 0.0f;
        b[i] = 1.0f;
        c[i] = 2.0f;
    }
    for (int r = 0; r < TRIES; r++) {
        const double start = clock_mono();
        double took;

#pragma omp parallel for simd num_threads(threads)
        for (int64_t i = 0; i < COUNT; i++)
            a[i] = b[i] + 3.0f * c[i];
        took = clock_mono() - start;
        best = took < best ? took : best;
    }
    free(a);
    free(b);
    free(c);
    return 16.0 * (double)COUNT / best * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Only reading, as sampling a token reads the weights. */
static double read_rate(int threads)
{
    const size_t bytes = (size_t)COUNT * 2 * sizeof(uint64_t);
    uint64_t *a = aligned_alloc((size_t)2 << 20, bytes);
    volatile uint64_t keep = 0;
    double took[TRIES];

    if (!a)
        abort();
    madvise(a, bytes, MADV_HUGEPAGE);
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < 2 * COUNT; i++)
        a[i] = (uint64_t)i;
    for (int r = 0; r < TRIES; r++) {
        const double start = clock_mono();
        uint64_t all = 0;

#pragma omp parallel for simd num_threads(threads) reduction(^ : all)
        for (int64_t i = 0; i < 2 * COUNT; i++)
            all ^= a[i];
        took[r] = clock_mono() - start;
        keep = all;
    }
    (void)keep;
    free(a);
    qsort(took, TRIES, sizeof *took, by_size);
    return (double)bytes / took[TRIES / 2] * 1e-9;
}

int main(int argc, char **argv)
{
    const int threads =
        argc > 1 ? (int)strtol(argv[1], NULL, 10) : omp_get_max_threads();
    const struct width w = widest();

    printf("%s threads=%d gflops=%.1f bf16_gflops=%.1f triad_gbs=%.1f "
           "read_gbs=%.1f\n",
           w.name, threads, fma_rate(w, threads), fma_rate(pairs(), threads),
           triad_rate(threads), read_rate(threads));
    return 0;
}
