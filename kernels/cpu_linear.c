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
    void *scratch = cpu_scratch(dev, CPU(gemm_scratch)(g), "linear");

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

/* What happens to a rectangle of y when its sums are complete. */
struct finish {
    struct tensor *y, *pre;
    const struct tensor *bias;
    bool bend;
    enum act kind;
};

/* y(n) += bias(col + n) */
VEC_FN void add_bias(enum dtype type, void *y, const struct tensor *bias,
                     int64_t col, int64_t n)
{
    const void *b = bias->data;
    int64_t i = 0;

    for (; i + VW <= n; i += VW)
        vf_put(y, type, i, vf_get(y, type, i) + vf_get(b, bias->type, col + i));
    if (i < n)
        vf_put_n(y, type, i,
                 vf_get_n(y, type, i, n - i) +
                     vf_get_n(b, bias->type, col + i, n - i),
                 n - i);
}

static void finish(void *arg, int64_t row, int64_t col, int64_t rows,
                   int64_t cols)
{
    const struct finish *f = arg;
    const struct tensor *out = f->pre ? f->pre : f->y;
    const int64_t M = tensor_cols(out);
    const int64_t size = (int64_t)dtype_size(out->type);

    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = ((row + i) * M + col) * size;
        char *pre = (char *)out->data + at, *y = (char *)f->y->data + at;

        if (f->bias)
            VEC_BY_TYPE(out->type, add_bias, pre, f->bias, col, cols);
        if (f->bend)
            rows_act(y, pre, out->type, cols, f->kind);
    }
}

static void forward(struct dev *dev, struct finish *f, const struct tensor *x,
                    const struct tensor *w, const struct tensor *b)
{
    struct tensor *out = f->pre ? f->pre : f->y;
    const int64_t M = w->dim[0];

    assert(tensor_cols(out) == M && w->dim[1] == tensor_cols(x));
    f->bias = b;
    multiply(dev, &(struct gemm){
                      .M = tensor_rows(x),
                      .N = M,
                      .K = tensor_cols(x),
                      .a = by_rows(x),
                      .b = turned(w),
                      .c = out->data,
                      .c_type = out->type,
                      .c_down = M,
                      .after = b || f->bend ? finish : NULL,
                      .arg = f,
                  });
}

void CPU(linear_fwd)(struct dev *dev, struct tensor *y, const struct tensor *x,
                     const struct tensor *w, const struct tensor *b)
{
    forward(dev, &(struct finish){ .y = y }, x, w, b);
}

void CPU(linear_act_fwd)(struct dev *dev, struct tensor *y, struct tensor *pre,
                         const struct tensor *x, const struct tensor *w,
                         const struct tensor *b, enum act kind)
{
    forward(dev,
            &(struct finish){ .y = y, .pre = pre, .bend = true, .kind = kind },
            x, w, b);
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
