/*
 * linear - on the CPU: three products, a bias, an activation
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"
#include "kernels/fp8.h"

#include <assert.h>

static struct gemm_view by_rows(const struct tensor *t)
{
    return gemm_rows(t->data, t->type, tensor_cols(t));
}

static struct gemm forward_gemm(struct tensor *y, const struct tensor *x,
                                const struct tensor *w, const struct tensor *b)
{
    const int64_t M = w->dim[0];

    assert(tensor_cols(y) == M && w->dim[1] == tensor_cols(x));
    return (struct gemm){
        .M = tensor_rows(x),
        .N = M,
        .K = tensor_cols(x),
        .a = by_rows(x),
        .b = gemm_turned(by_rows(w)),
        .bias = b,
        .c = y->data,
        .c_type = y->type,
        .c_down = M,
    };
}

/* ---- a few rows of x, as in sampling ----------------------------------- */

/* Up to this many are multiplied without gemm.h. */
enum { MATVEC_ROWS = 8 };

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

static void multiply_few_rows(struct dev *dev, struct tensor *y,
                              const struct tensor *x, const struct tensor *w,
                              const struct tensor *b)
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

/* ---- the operations ---------------------------------------------------- */

void cpu_linear_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *b)
{
    const struct gemm g = forward_gemm(y, x, w, b);

    if (w->fp8)
        fp8_linear_fwd(cpu_linear_fwd, dev, y, x, w, b);
    else if (g.M <= MATVEC_ROWS)
        multiply_few_rows(dev, y, x, w, b);
    else
        gemm_run(dev, &g, "linear");
}

/* What follows a product: y = act(pre), or y *= act'(pre). */
struct epilogue {
    struct tensor *y;
    const struct tensor *pre;
    enum act kind;
    void (*fn)(void *, const void *, enum dtype, int64_t n, enum act);
};

/* Call fn for each row of a rectangle whose sums are complete. */
static void run_epilogue(void *arg, int64_t row, int64_t col, int64_t rows,
                         int64_t cols)
{
    const struct epilogue *b = arg;
    const int64_t M = tensor_cols(b->y);
    const int64_t size = (int64_t)dtype_size(b->y->type);

    for (int64_t i = row; i < row + rows; i++) {
        const int64_t at = (i * M + col) * size;

        b->fn((char *)b->y->data + at, (const char *)b->pre->data + at,
              b->y->type, cols, b->kind);
    }
}

void cpu_linear_act_fwd(struct dev *dev, struct tensor *y, struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *b, enum act kind)
{
    struct tensor *sum = pre ? pre : y;
    struct epilogue arg = { y, sum, kind, rows_act };
    struct gemm g = forward_gemm(sum, x, w, b);

    if (w->fp8 || g.M <= MATVEC_ROWS) {
        cpu_linear_fwd(dev, sum, x, w, b);
        cpu_act_fwd(dev, y, sum, kind);
        return;
    }
    g.after = run_epilogue;
    g.arg = &arg;
    gemm_run(dev, &g, "linear");
}

/* dx += dy w */
static struct gemm backward_gemm(struct tensor *dx, const struct tensor *w,
                                 const struct tensor *dy)
{
    return (struct gemm){
        .M = tensor_rows(dy),
        .N = tensor_cols(dx),
        .K = tensor_cols(dy),
        .a = by_rows(dy),
        .b = by_rows(w),
        .c = dx->data,
        .c_type = dx->type,
        .c_down = tensor_cols(dx),
        .add = !dx->overwrite,
    };
}

/* dw += dy' x, and db */
static void weight_gradients(struct dev *dev, struct tensor *dw,
                             struct tensor *db, const struct tensor *x,
                             const struct tensor *dy)
{
    if (dw)
        gemm_run(dev,
                 &(struct gemm){
                     .M = tensor_cols(dy),
                     .N = tensor_cols(dw),
                     .K = tensor_rows(dy),
                     .a = gemm_turned(by_rows(dy)),
                     .b = by_rows(x),
                     .c = dw->data,
                     .c_type = dw->type,
                     .c_down = tensor_cols(dw),
                     .add = !dw->overwrite,
                 },
                 "linear");
    if (db)
        rows_sum_cols(dev, db, dy);
}

void cpu_linear_bwd(struct dev *dev, struct tensor *dx, struct tensor *dw,
                    struct tensor *db, const struct tensor *x,
                    const struct tensor *w, const struct tensor *dy)
{
    if (w->fp8) {
        fp8_linear_bwd(cpu_linear_bwd, dev, dx, dw, db, x, w, dy);
        return;
    }
    if (dx) {
        const struct gemm g = backward_gemm(dx, w, dy);

        gemm_run(dev, &g, "linear");
    }
    weight_gradients(dev, dw, db, x, dy);
}

void cpu_act_linear_bwd(struct dev *dev, struct tensor *dpre, struct tensor *dw,
                        struct tensor *db, const struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *dy, enum act kind)
{
    struct epilogue arg = { dpre, pre, kind, rows_slope };
    struct gemm g;

    dpre->overwrite = true;
    if (w->fp8) {
        cpu_linear_bwd(dev, dpre, dw, db, x, w, dy);
        cpu_act_bwd(dev, dpre, pre, dpre, kind);
        return;
    }
    g = backward_gemm(dpre, w, dy);
    g.after = run_epilogue;
    g.arg = &arg;
    gemm_run(dev, &g, "linear");
    weight_gradients(dev, dw, db, x, dy);
}
