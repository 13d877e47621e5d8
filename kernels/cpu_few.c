/*
 * few - a few rows of x against all of w
 */
#include "config.h"
#include "kernels/few.h"
#include "kernels/rows.h"
#include "kernels/vec.h"

/* Rows of w at a time. */
enum { FEW = 4 };

/* Ask for the rows after these, a line of memory at a time: the processor does
 * not guess that four rows at once are one run of memory. */
VEC_FN void fetch_next(enum dtype type, const void *w, const int64_t at[FEW],
                       int64_t C, int64_t c)
{
    const int64_t size = (int64_t)dtype_size(type);

    if (c * size % 64 != 0)
        return;
#pragma GCC unroll 4
    for (int j = 0; j < FEW; j++)
        __builtin_prefetch((const char *)w + (at[j] + FEW * C + c) * size);
}

/* `left` columns, of at most VW, of n rows of x against FEW rows of w. */
VEC_FN void add_columns(enum dtype type, const int n, vf sum[4][FEW],
                        const float *const x[4], const void *w,
                        const int64_t at[FEW], int64_t c, int64_t left)
{
    vf v[FEW];

#pragma GCC unroll 4
    for (int j = 0; j < FEW; j++)
        v[j] = vf_take(w, type, at[j] + c, left);
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        const vf u = vf_take(x[i], DT_F32, c, left);

#pragma GCC unroll 4
        for (int j = 0; j < FEW; j++)
            sum[i][j] += u * v[j];
    }
}

VEC_FN void few_dots(enum dtype type, const int n, struct tensor *y,
                     const float *in, const struct tensor *w,
                     const struct tensor *scale, const struct tensor *b,
                     int64_t row, int64_t m, int64_t rows)
{
    const int64_t C = w->dim[1], M = w->dim[0];
    const float *x[4];
    int64_t at[FEW], c = 0;
    vf sum[4][FEW];

#pragma GCC unroll 4
    for (int j = 0; j < FEW; j++)
        at[j] = (j < rows ? m + j : m) * C;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        x[i] = in + (row + i) * C;
#pragma GCC unroll 4
        for (int j = 0; j < FEW; j++)
            sum[i][j] = vf_set(0.0f);
    }
    for (; c + VW <= C; c += VW) {
        fetch_next(type, w->data, at, C, c);
        add_columns(type, n, sum, x, w->data, at, c, VW);
    }
    if (c < C)
        add_columns(type, n, sum, x, w->data, at, c, C - c);
    for (int i = 0; i < n; i++) {
        for (int64_t j = 0; j < rows; j++) {
            float s = vf_sum(sum[i][j]);

            if (scale)
                s *= ((const float *)scale->data)[m + j];
            if (b)
                s += num_get(b->data, b->type, m + j);
            num_put(y->data, y->type, (row + i) * M + m + j, s);
        }
    }
}

/* The rows of x by fours, twos and ones, while the rows of w are near. */
VEC_FN void few_rows(enum dtype type, struct tensor *y, const float *x,
                     int64_t N, const struct tensor *w,
                     const struct tensor *scale, const struct tensor *b,
                     int64_t m, int64_t rows)
{
    int64_t i = 0;

    for (; i + 4 <= N; i += 4)
        few_dots(type, 4, y, x, w, scale, b, i, m, rows);
    for (; i + 2 <= N; i += 2)
        few_dots(type, 2, y, x, w, scale, b, i, m, rows);
    if (i < N)
        few_dots(type, 1, y, x, w, scale, b, i, m, rows);
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
    const int64_t M = w->dim[0], N = tensor_rows(x);
    const float *in = floats(dev, x);

    if (!in)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(w) >   \
                                                           4 * ROWS_PIECE)
    for (int64_t m = 0; m < M; m += FEW) {
        const int64_t rows = M - m < FEW ? M - m : FEW;

        if (w->type == DT_I8)
            few_rows(DT_I8, y, in, N, w, scale, b, m, rows);
        else
            VEC_BY_TYPE(w->type, few_rows, y, in, N, w, scale, b, m, rows);
    }
}
