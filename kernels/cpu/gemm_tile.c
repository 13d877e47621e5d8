/*
 * gemm_tile - the innermost loop of products: by numbers, by pairs and by AMX
 */
#include "config.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec.h"

#include "common/clock.h"
#include "common/mem.h"

#include <math.h>
#include <stdlib.h>

/* c(rows, cols) += or = sum(rows, NR): a tile at the right edge of C. */
static void store_edge(float *c, int64_t c_down, const float *sum, int64_t rows,
                       int64_t cols, bool add)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            c[i * c_down + j] =
                sum[i * GEMM_NR + j] + (add ? c[i * c_down + j] : 0.0f);
    }
}

/*
 * Where this is inlined, rows, the strides of A and the numbers in a word (per)
 * are constants, so that acc is kept in registers.  K counts words.
 */
VEC_FN void multiply_tile(const int per, const int rows, const int down,
                          const int right, float *c, int64_t c_down,
                          const float *restrict a, const float *restrict b,
                          const float *start, int64_t cols, int64_t K, bool add)
{
    const vf low_start = start ? vf_load(start) : vf_set(0.0f);
    const vf high_start = start ? vf_load(start + VW) : vf_set(0.0f);
    vf acc[GEMM_MR][2];

#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        acc[i][0] = low_start;
        acc[i][1] = high_start;
    }
    for (int64_t k = 0; k < K; k++, a += right, b += GEMM_NR) {
        const vf low = vf_load(b), high = vf_load(b + VW);

#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const vf x = vf_set(a[i * down]);

            if (per == 2) {
                acc[i][0] = vf_add_pairs(acc[i][0], x, low);
                acc[i][1] = vf_add_pairs(acc[i][1], x, high);
            } else {
                acc[i][0] += x * low;
                acc[i][1] += x * high;
            }
        }
    }
    if (cols < GEMM_NR) {
        float sum[GEMM_MR * GEMM_NR];

#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            vf_store(sum + i * GEMM_NR, acc[i][0]);
            vf_store(sum + i * GEMM_NR + VW, acc[i][1]);
        }
        store_edge(c, c_down, sum, rows, cols, add);
        return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, c += c_down) {
        if (add) {
            acc[i][0] += vf_load(c);
            acc[i][1] += vf_load(c + VW);
        }
        vf_store(c, acc[i][0]);
        vf_store(c + VW, acc[i][1]);
    }
}

#if defined(__AVX512F__)
# define EACH_ROW_COUNT(X)                                                     \
  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
# define EACH_ROW_COUNT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

/* A tile of `rows` rows.  in_rows: A lies as a packed B does. */
VEC_FN void tile_by_rows(const int per, const bool in_rows, float *c,
                         int64_t c_down, const float *a, const float *b,
                         const float *start, int64_t rows, int64_t cols,
                         int64_t K, bool add)
{
    switch (rows) {
#define CASE(n)                                                                \
 case n:                                                                       \
  multiply_tile(per, n, in_rows ? GEMM_NR : 1, in_rows ? 1 : n, c, c_down, a,  \
                b, start, cols, K, add);                                       \
  return;
        EACH_ROW_COUNT(CASE)
#undef CASE
    }
}

void gemm_tile(float *c, int64_t c_down, const float *a, const float *b,
               const float *start, int64_t rows, int64_t cols, int64_t K,
               bool add)
{
    tile_by_rows(1, false, c, c_down, a, b, start, rows, cols, K, add);
}

void gemm_tile_rows(float *c, int64_t c_down, const float *a, const float *b,
                    int64_t rows, int64_t cols, int64_t K, bool add)
{
    tile_by_rows(1, true, c, c_down, a, b, NULL, rows, cols, K, add);
}

/* The same by AMX, with an A whose rows are K words apart. */
static void tile_by_amx(bool plain, float *c, int64_t c_down, const float *a,
                        const float *b, const float *start, int64_t rows,
                        int64_t cols, int64_t K, bool add)
{
    float sum[2][GEMM_MR * GEMM_NR] __attribute__((aligned(64)));

    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; start && i < rows; i++)
        memcpy(sum[0] + i * GEMM_NR, start, GEMM_NR * sizeof *start);
    if (plain)
        amx_multiply_add(true, sum, a, b, rows, K);
    else
        amx_multiply_add(false, sum, a, b, rows, K);
    for (int64_t i = 0; i < rows * GEMM_NR; i += VW)
        vf_store(sum[0] + i, vf_load(sum[0] + i) + vf_load(sum[1] + i));
    store_edge(c, c_down, sum[0], rows, cols, add);
}

void gemm_tile_by(enum cpu_words by, float *c, int64_t c_down, const float *a,
                  const float *b, const float *start, int64_t rows,
                  int64_t cols, int64_t K, bool add)
{
    switch (by) {
    case CPU_NUMBERS:
        gemm_tile(c, c_down, a, b, start, rows, cols, K, add);
        break;
    case CPU_PAIRS:
        tile_by_rows(2, false, c, c_down, a, b, start, rows, cols, K, add);
        break;
    default:
        tile_by_amx(by == CPU_AMX_C, c, c_down, a, b, start, rows, cols, K,
                    add);
    }
}

/* ---- a trial ----------------------------------------------------------- */

/* The operands of a trial: a whole tile of both sides, in pairs, with A in the
 * two orders in which it is packed. */
struct gemm_trial {
    float a[2][GEMM_MR * GEMM_K], b[GEMM_K * GEMM_NR];
    float c[2][GEMM_MR * GEMM_NR];
};

/* Two numbers of bf16, such as 1/2 and -1, whose sums are exact. */
static float some_pair(int64_t i)
{
    const uint32_t half[] = { 0x3F00, 0x3F80, 0xBF80, 0x4000, 0xBF00 };
    const uint32_t word = half[i % 5] | half[i / 5 % 5] << 16;
    float f;

    memcpy(&f, &word, sizeof f);
    return f;
}

static void fill_trial(struct gemm_trial *t)
{
    for (int64_t k = 0; k < GEMM_K; k++) {
        for (int64_t i = 0; i < GEMM_MR; i++)
            t->a[0][k * GEMM_MR + i] = t->a[1][i * GEMM_K + k] =
                some_pair(7 * k + i);
        for (int64_t j = 0; j < GEMM_NR; j++)
            t->b[k * GEMM_NR + j] = some_pair(3 * k + j);
    }
}

static double time_tile(struct gemm_trial *t, enum cpu_words by)
{
    const bool tiles = by == CPU_AMX;
    const double before = clock_mono();

    gemm_tile_by(by, t->c[tiles], GEMM_NR, t->a[tiles], t->b, NULL, GEMM_MR,
                 GEMM_NR, GEMM_K, false);
    return clock_mono() - before;
}

/*
 * A word has twice the numbers of a float, hence the factor for pairs.  The
 * shortest of many times is compared, taken alternately, so that other work on
 * the machine slows both ways; a training that is resumed must get the same
 * answer.  The bounds are far from the ratios of real CPUs.  AMX must also give
 * the right numbers.
 */
bool gemm_pays(enum cpu_words by)
{
    const bool tiles = by == CPU_AMX;
    struct gemm_trial *t;
    double mine = INFINITY, next = INFINITY;
    bool same;

    if (by != CPU_PAIRS && by != CPU_AMX)
        return false;
    if (!VEC_HAS_PAIRS || (tiles && !HAS_AMX_CODE))
        return false;
    t = xcalloc(1, sizeof *t);
    fill_trial(t);
    for (int i = 0; i < 40; i++) {
        mine = fmin(mine, time_tile(t, by));
        next = fmin(next, time_tile(t, tiles ? CPU_PAIRS : CPU_NUMBERS));
    }
    same = memcmp(t->c[0], t->c[1], sizeof t->c[0]) == 0;
    free(t);
    return tiles ? same && mine < 0.75 * next : mine < 1.5 * next;
}
