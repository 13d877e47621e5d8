/*
 * few - a few rows of x against all of w
 */
#include "config.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

/*
 * The time is that of reading w, so it is read as it lies in memory, row after
 * row, as fast as the processor guesses what comes next.  Four rows at once
 * would share what is loaded of x, but they come at half the speed: 14 GB/s of
 * 28 from large pages (AMD EPYC, AVX-512, one thread), and this way at 23.  So
 * that one sum does not wait for another, a row has four.
 */
enum { SUMS = 4 };

/*
 * Memory serves now one processor sooner, now another: threads take numbers of
 * w by turns of this many, and none waits long for the last.
 */
enum { TURN = 1 << 16 };

/* `left` columns, of at most VW, of n rows of x against a row of w. */
VEC_FN void add_columns(enum dtype type, const int n, vf sum[4],
                        const float *const x[4], const void *w, int64_t at,
                        int64_t c, int64_t left)
{
    const vf v = vf_take(w, type, at + c, left);

#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        sum[i] += vf_take(x[i], DT_F32, c, left) * v;
}

/* Row m of w with n rows of x, from `row` on. */
VEC_FN void few_dots(enum dtype type, const int n, struct tensor *y,
                     const float *in, const struct tensor *w,
                     const struct tensor *scale, const struct tensor *b,
                     int64_t row, int64_t m)
{
    const int64_t C = w->dim[1], M = w->dim[0];
    const float *x[4];
    vf sum[SUMS][4];
    int64_t c = 0;

#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        x[i] = in + (row + i) * C;
#pragma GCC unroll 4
        for (int k = 0; k < SUMS; k++)
            sum[k][i] = vf_set(0.0f);
    }
    for (; c + SUMS * VW <= C; c += SUMS * VW)
#pragma GCC unroll 4
        for (int k = 0; k < SUMS; k++)
            add_columns(type, n, sum[k], x, w->data, m * C, c + k * VW, VW);
    for (; c < C; c += VW)
        add_columns(type, n, sum[0], x, w->data, m * C, c,
                    C - c < VW ? C - c : VW);
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        float s = vf_sum((sum[0][i] + sum[1][i]) + (sum[2][i] + sum[3][i]));

        if (scale)
            s *= ((const float *)scale->data)[m];
        if (b)
            s += num_get(b->data, b->type, m);
        num_put(y->data, y->type, (row + i) * M + m, s);
    }
}

/* The rows of x by fours, twos and ones, while the row of w is near. */
VEC_FN void few_rows(enum dtype type, struct tensor *y, const float *x,
                     int64_t N, const struct tensor *w,
                     const struct tensor *scale, const struct tensor *b,
                     int64_t m)
{
    int64_t i = 0;

    for (; i + 4 <= N; i += 4)
        few_dots(type, 4, y, x, w, scale, b, i, m);
    for (; i + 2 <= N; i += 2)
        few_dots(type, 2, y, x, w, scale, b, i, m);
    if (i < N)
        few_dots(type, 1, y, x, w, scale, b, i, m);
}

/* The rows of x as floats, or NULL if there is no room for them. */
static const float *floats(struct dev *dev, const struct tensor *x)
{
    const int64_t n = tensor_count(x);
    float *room;

    if (x->type == DT_F32)
        return x->data;
    room = cpu_scratch(dev, (size_t)n * sizeof *room, "linear");
    for (int64_t i = 0; room && i < n; i += VW)
        vf_give(room, DT_F32, i, vf_take(x->data, x->type, i, n - i), n - i);
    return room;
}

void few_linear(struct dev *dev, struct tensor *y, const struct tensor *x,
                const struct tensor *w, const struct tensor *scale,
                const struct tensor *b)
{
    const int64_t M = w->dim[0], C = w->dim[1], N = tensor_rows(x);
    const float *in = floats(dev, x);

    if (!in)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev))                         \
    schedule(dynamic, 1 + TURN / C) if (M * C > 4 * ROWS_PIECE)
    for (int64_t m = 0; m < M; m++)
        if (w->type == DT_I8)
            few_rows(DT_I8, y, in, N, w, scale, b, m);
        else
            VEC_BY_TYPE(w->type, few_rows, y, in, N, w, scale, b, m);
}
