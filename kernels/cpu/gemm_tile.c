/*
 * gemm_tile - the innermost loop of products: by numbers and by pairs
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec.h"

#include "common/clock.h"
#include "common/mem.h"

#include <math.h>

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
        __builtin_prefetch(c + i * c_down, 1); /* until the sums are ready */
        __builtin_prefetch(c + i * c_down + VW, 1);
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
#define EACH_ROW_COUNT(X)                                                      \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined(CPU_SVE) || defined(CPU_NEON)
#define EACH_ROW_COUNT(X)                                                      \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#define EACH_ROW_COUNT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

/* A tile of `rows` rows.  in_rows: A lies as a packed B does. */
VEC_FN void tile_by_rows(const int per, const bool in_rows, float *c,
                         int64_t c_down, const float *a, const float *b,
                         const float *start, int64_t rows, int64_t cols,
                         int64_t K, bool add)
{
    switch (rows) {
#define CASE(n)                                                                \
    case n:                                                                    \
        multiply_tile(per, n, in_rows ? GEMM_NR : 1, in_rows ? 1 : n, c,       \
                      c_down, a, b, start, cols, K, add);                      \
        return;
        EACH_ROW_COUNT(CASE)
#undef CASE
    }
}

void gemm_tile(int per, float *c, int64_t c_down, const float *a,
               const float *b, const float *start, int64_t rows, int64_t cols,
               int64_t K, bool add)
{
    if (per == 1)
        tile_by_rows(1, false, c, c_down, a, b, start, rows, cols, K, add);
    else
        tile_by_rows(2, false, c, c_down, a, b, start, rows, cols, K, add);
}

void gemm_tile_rows(float *c, int64_t c_down, const float *a, const float *b,
                    int64_t rows, int64_t cols, int64_t K, bool add)
{
    tile_by_rows(1, true, c, c_down, a, b, NULL, rows, cols, K, add);
}

/* ---- a trial ----------------------------------------------------------- */

/* The operands of a trial: a whole tile of both sides, in words. */
struct gemm_trial {
    float a[GEMM_MR * GEMM_K], b[GEMM_K * GEMM_NR], c[GEMM_MR * GEMM_NR];
};

static double time_tile(struct gemm_trial *t, int per)
{
    const double before = clock_mono();

    gemm_tile(per, t->c, GEMM_NR, t->a, t->b, NULL, GEMM_MR, GEMM_NR, GEMM_K,
              false);
    return clock_mono() - before;
}

/*
 * A word of a pair holds twice as many numbers as a float, hence the factor.
 * Both are timed alternately, and the shortest of many times is compared, so
 * that other work on the machine slows both: a run that is resumed must get the
 * same answer.  The bound is far from the ratios of real CPUs.
 */
bool gemm_pairs_pay(void)
{
    struct gemm_trial *t;
    double pairs = INFINITY, floats = INFINITY;

    if (!VEC_HAS_PAIRS)
        return false;
    t = xmalloc(sizeof *t);
    memset(t, 0x3F, sizeof *t); /* numbers near 1, as words and as floats */
    for (int i = 0; i < 40; i++) {
        pairs = fmin(pairs, time_tile(t, 2));
        floats = fmin(floats, time_tile(t, 1));
    }
    free(t);
    return pairs < 1.5 * floats;
}
