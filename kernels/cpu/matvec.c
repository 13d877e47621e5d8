/*
 * matvec - products of a few rows of x with all of w
 */
#include "config.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

/*
 * Reading w takes the time, so w is read in the order of memory, which the
 * processor can predict.  Four rows at a time would share the
 * loads of x, but they are read at half the speed: 14 GB/s of 28 from large
 * pages (AMD EPYC, AVX-512, one thread), where this order reaches 23.  A row
 * has four sums, so that an addition does not wait for the one before.
 */
enum { SUMS = 4 };

/*
 * Memory is not equally fast for every thread, so threads take this many
 * numbers of w at a time, and none waits long for the last.
 */
enum { CHUNK = 1 << 16 };

/* The products of `left` columns, at most VW, of n rows of x and a row of w. */
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
VEC_FN void matvec_dots(enum dtype type, const int n, struct tensor *y,
                        const float *in, const struct tensor *w,
                        const struct tensor *b, int64_t row, int64_t m)
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

        if (b)
            s += num_get(b->data, b->type, m);
        num_put(y->data, y->type, (row + i) * M + m, s);
    }
}

/* All rows of x, four, two or one at a time, while the row of w is cached. */
VEC_FN void matvec_rows(enum dtype type, struct tensor *y, const float *x,
                        int64_t N, const struct tensor *w,
                        const struct tensor *b, int64_t m)
{
    int64_t i = 0;

    for (; i + 4 <= N; i += 4)
        matvec_dots(type, 4, y, x, w, b, i, m);
    for (; i + 2 <= N; i += 2)
        matvec_dots(type, 2, y, x, w, b, i, m);
    if (i < N)
        matvec_dots(type, 1, y, x, w, b, i, m);
}

/* The rows of x as floats; NULL if there is no memory for them. */
static const float *convert_rows(struct dev *dev, const struct tensor *x)
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

void matvec_linear(struct dev *dev, struct tensor *y, const struct tensor *x,
                   const struct tensor *w, const struct tensor *b)
{
    const int64_t M = w->dim[0], C = w->dim[1], N = tensor_rows(x);
    const float *in = convert_rows(dev, x);

    if (!in)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev))                         \
    schedule(dynamic, 1 + CHUNK / C) if (M * C > 4 * ROWS_PIECE)
    for (int64_t m = 0; m < M; m++)
        VEC_BY_TYPE(w->type, matvec_rows, y, in, N, w, b, m);
}
