/*
 * linear - on the CPU: three products, a bias, an activation; and a few rows,
 * as in sampling
 */
#include "config.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/vec.h"

#include <assert.h>

static void multiply(struct dev *dev, const struct gemm *g)
{
    void *scratch = cpu_scratch(dev, gemm_scratch(g), "linear");

    if (scratch)
        gemm(dev, g, scratch);
}

/* The view of a matrix by rows, and the same turned. */
static struct view by_rows(const struct tensor *t)
{
    return (struct view){ t->data, t->type, tensor_cols(t), 1 };
}

static struct view turned(const struct tensor *t)
{
    return (struct view){ t->data, t->type, 1, tensor_cols(t) };
}

static struct gemm forward(struct tensor *y, const struct tensor *x,
                           const struct tensor *w, const struct tensor *b)
{
    const int64_t M = w->dim[0];

    assert(tensor_cols(y) == M && w->dim[1] == tensor_cols(x));
    return (struct gemm){
        .M = tensor_rows(x),
        .N = M,
        .K = tensor_cols(x),
        .a = by_rows(x),
        .b = turned(w),
        .bias = b,
        .c = y->data,
        .c_type = y->type,
        .c_down = M,
    };
}

/*
 * A few rows of x: then w is read once, and that is all the time it takes.
 * FEW rows of w against n of x, each sum in a register.
 */
enum { FEW = 4, MAX_FEW = 8 };

VEC_FN void few_dots(enum dtype type, const int n, struct tensor *y,
                     const float *x, const struct tensor *w,
                     const struct tensor *b, int64_t row, int64_t m,
                     int64_t rows)
{
    const int64_t C = w->dim[1], M = w->dim[0];
    vf sum[4][FEW];

#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < FEW; j++)
            sum[i][j] = vf_set(0.0f);
    }
    for (int64_t c = 0; c < C; c += VW) {
        vf v[FEW];

#pragma GCC unroll 4
        for (int j = 0; j < FEW; j++)
            v[j] =
                vf_take(w->data, type, (j < rows ? m + j : m) * C + c, C - c);
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const vf u = vf_take(x, DT_F32, (row + i) * C + c, C - c);

#pragma GCC unroll 4
            for (int j = 0; j < FEW; j++)
                sum[i][j] += u * v[j];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int64_t j = 0; j < rows; j++) {
            float s = vf_sum(sum[i][j]);

            if (b)
                s += num_get(b->data, b->type, m + j);
            num_put(y->data, y->type, (row + i) * M + m + j, s);
        }
    }
}

/* The rows of x by fours, twos and ones, while the rows of w are near. */
VEC_FN void few_rows(enum dtype type, struct tensor *y, const float *x,
                     int64_t N, const struct tensor *w, const struct tensor *b,
                     int64_t m, int64_t rows)
{
    int64_t i = 0;

    for (; i + 4 <= N; i += 4)
        few_dots(type, 4, y, x, w, b, i, m, rows);
    for (; i + 2 <= N; i += 2)
        few_dots(type, 2, y, x, w, b, i, m, rows);
    if (i < N)
        few_dots(type, 1, y, x, w, b, i, m, rows);
}

static void forward_few(struct dev *dev, struct tensor *y,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *b)
{
    const int64_t M = w->dim[0], N = tensor_rows(x), count = tensor_count(x);
    const float *in = x->data;
    float *room;

    if (x->type != DT_F32) {
        room = cpu_scratch(dev, (size_t)count * sizeof *room, "linear");
        if (!room)
            return;
        for (int64_t i = 0; i < count; i += VW)
            vf_give(room, DT_F32, i, vf_take(x->data, x->type, i, count - i),
                    count - i);
        in = room;
    }
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(w) >   \
                                                           4 * ROWS_PIECE)
    for (int64_t m = 0; m < M; m += FEW)
        VEC_BY_TYPE(w->type, few_rows, y, in, N, w, b, m,
                    M - m < FEW ? M - m : FEW);
}

void CPU(linear_fwd)(struct dev *dev, struct tensor *y, const struct tensor *x,
                     const struct tensor *w, const struct tensor *b)
{
    const struct gemm g = forward(y, x, w, b);

    if (g.M <= MAX_FEW)
        forward_few(dev, y, x, w, b);
    else
        multiply(dev, &g);
}

/* Beside the activation of a product, what it was computed from. */
struct bend {
    struct tensor *y;
    const struct tensor *pre;
    enum act kind;
};

/* Do something to each row of a rectangle whose sums are complete. */
static void each_row(const struct bend *b, int64_t row, int64_t col,
                     int64_t rows, int64_t cols,
                     void (*fn)(void *, const void *, enum dtype, int64_t,
                                enum act))
{
    const int64_t M = tensor_cols(b->y);
    const int64_t size = (int64_t)dtype_size(b->y->type);

    for (int64_t i = row; i < row + rows; i++) {
        const int64_t at = (i * M + col) * size;

        fn((char *)b->y->data + at, (const char *)b->pre->data + at, b->y->type,
           cols, b->kind);
    }
}

static void bend(void *arg, int64_t row, int64_t col, int64_t rows,
                 int64_t cols)
{
    each_row(arg, row, col, rows, cols, rows_act);
}

static void slope(void *arg, int64_t row, int64_t col, int64_t rows,
                  int64_t cols)
{
    each_row(arg, row, col, rows, cols, rows_slope);
}

void CPU(linear_act_fwd)(struct dev *dev, struct tensor *y, struct tensor *pre,
                         const struct tensor *x, const struct tensor *w,
                         const struct tensor *b, enum act kind)
{
    struct tensor *sum = pre ? pre : y;
    struct bend arg = { .y = y, .pre = sum, .kind = kind };
    struct gemm g = forward(sum, x, w, b);

    g.after = bend;
    g.arg = &arg;
    multiply(dev, &g);
}

/* dx += dy w */
static struct gemm backward(struct tensor *dx, const struct tensor *w,
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
        .add = !dx->fresh,
    };
}

/* dw += dy' x, and db */
static void gradients(struct dev *dev, struct tensor *dw, struct tensor *db,
                      const struct tensor *x, const struct tensor *dy)
{
    if (dw)
        multiply(dev, &(struct gemm){
                          .M = tensor_cols(dy),
                          .N = tensor_cols(dw),
                          .K = tensor_rows(dy),
                          .a = turned(dy),
                          .b = by_rows(x),
                          .c = dw->data,
                          .c_type = dw->type,
                          .c_down = tensor_cols(dw),
                          .add = !dw->fresh,
                      });
    if (db)
        rows_sum_cols(dev, db, dy);
}

void CPU(linear_bwd)(struct dev *dev, struct tensor *dx, struct tensor *dw,
                     struct tensor *db, const struct tensor *x,
                     const struct tensor *w, const struct tensor *dy)
{
    if (dx) {
        const struct gemm g = backward(dx, w, dy);

        multiply(dev, &g);
    }
    gradients(dev, dw, db, x, dy);
}

void CPU(act_linear_bwd)(struct dev *dev, struct tensor *dpre,
                         struct tensor *dw, struct tensor *db,
                         const struct tensor *pre, const struct tensor *x,
                         const struct tensor *w, const struct tensor *dy,
                         enum act kind)
{
    struct bend arg = { .y = dpre, .pre = pre, .kind = kind };
    struct gemm g;

    dpre->fresh = true;
    g = backward(dpre, w, dy);
    g.after = slope;
    g.arg = &arg;
    multiply(dev, &g);
    gradients(dev, dw, db, x, dy);
}
