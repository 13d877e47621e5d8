/*
 * linear - on the CPU: three products, a bias, an activation
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

void CPU(linear_fwd)(struct dev *dev, struct tensor *y, const struct tensor *x,
                     const struct tensor *w, const struct tensor *b)
{
    const struct gemm g = forward(y, x, w, b);

    multiply(dev, &g);
}

/* A rectangle of y, from the sums that are complete there. */
struct bend {
    struct tensor *y, *pre;
    enum act kind;
};

static void bend(void *arg, int64_t row, int64_t col, int64_t rows,
                 int64_t cols)
{
    const struct bend *b = arg;
    const int64_t M = tensor_cols(b->y);
    const int64_t size = (int64_t)dtype_size(b->y->type);

    for (int64_t i = row; i < row + rows; i++) {
        const int64_t at = (i * M + col) * size;

        rows_act((char *)b->y->data + at, (const char *)b->pre->data + at,
                 b->y->type, cols, b->kind);
    }
}

void CPU(linear_act_fwd)(struct dev *dev, struct tensor *y, struct tensor *pre,
                         const struct tensor *x, const struct tensor *w,
                         const struct tensor *b, enum act kind)
{
    struct bend arg = { .y = y, .pre = pre ? pre : y, .kind = kind };
    struct gemm g = forward(arg.pre, x, w, b);

    g.after = bend;
    g.arg = &arg;
    multiply(dev, &g);
}

void CPU(linear_bwd)(struct dev *dev, struct tensor *dx, struct tensor *dw,
                     struct tensor *db, const struct tensor *x,
                     const struct tensor *w, const struct tensor *dy)
{
    const int64_t N = tensor_rows(dy), M = tensor_cols(dy);

    if (dx)
        multiply(dev, &(struct gemm){
                          .M = N,
                          .N = tensor_cols(dx),
                          .K = M,
                          .a = by_rows(dy),
                          .b = by_rows(w),
                          .c = dx->data,
                          .c_type = dx->type,
                          .c_down = tensor_cols(dx),
                          .add = !dx->fresh,
                      });
    if (dw)
        multiply(dev, &(struct gemm){
                          .M = M,
                          .N = tensor_cols(dw),
                          .K = N,
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
