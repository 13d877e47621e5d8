/*
 * linear - on the CPU: three products, a bias, an activation
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/rows.h"
#include "kernels/fp8.h"

#include <assert.h>

static void run_gemm(struct dev *dev, const struct gemm *g)
{
    void *scratch = cpu_scratch(dev, gemm_scratch(dev, g), "linear");

    if (scratch)
        gemm(dev, g, scratch);
}

/* The view of a matrix by rows, and that of its transpose. */
static struct gemm_view by_rows(const struct tensor *t)
{
    return (struct gemm_view){ t->data, t->type, tensor_cols(t), 1 };
}

static struct gemm_view transposed(const struct tensor *t)
{
    return (struct gemm_view){ t->data, t->type, 1, tensor_cols(t) };
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
        .b = transposed(w),
        .bias = b,
        .c = y->data,
        .c_type = y->type,
        .c_down = M,
    };
}

/* Up to this many rows of x are multiplied by matvec.h. */
enum { MATVEC_ROWS = 8 };

void cpu_linear_fwd(struct dev *dev, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *b)
{
    const struct gemm g = forward_gemm(y, x, w, b);

    if (w->fp8)
        fp8_linear_fwd(cpu_linear_fwd, dev, y, x, w, b);
    else if (g.M <= MATVEC_ROWS)
        matvec_linear(dev, y, x, w, b);
    else
        run_gemm(dev, &g);
}

/* What follows a product: y = act(pre), or y *= act'(pre). */
struct epilogue {
    struct tensor *y;
    const struct tensor *pre;
    enum act kind;
};

/* Call fn for each row of a rectangle whose sums are complete. */
static void each_row(const struct epilogue *b, int64_t row, int64_t col,
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

static void apply_activation(void *arg, int64_t row, int64_t col, int64_t rows,
                             int64_t cols)
{
    each_row(arg, row, col, rows, cols, rows_act);
}

static void apply_slope(void *arg, int64_t row, int64_t col, int64_t rows,
                        int64_t cols)
{
    each_row(arg, row, col, rows, cols, rows_slope);
}

void cpu_linear_act_fwd(struct dev *dev, struct tensor *y, struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *b, enum act kind)
{
    struct tensor *sum = pre ? pre : y;
    struct epilogue arg = { .y = y, .pre = sum, .kind = kind };
    struct gemm g = forward_gemm(sum, x, w, b);

    if (w->fp8 || g.M <= MATVEC_ROWS) {
        cpu_linear_fwd(dev, sum, x, w, b);
        cpu_act_fwd(dev, y, sum, kind);
        return;
    }
    g.after = apply_activation;
    g.arg = &arg;
    run_gemm(dev, &g);
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
        run_gemm(dev, &(struct gemm){
                          .M = tensor_cols(dy),
                          .N = tensor_cols(dw),
                          .K = tensor_rows(dy),
                          .a = transposed(dy),
                          .b = by_rows(x),
                          .c = dw->data,
                          .c_type = dw->type,
                          .c_down = tensor_cols(dw),
                          .add = !dw->overwrite,
                      });
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

        run_gemm(dev, &g);
    }
    weight_gradients(dev, dw, db, x, dy);
}

void cpu_act_linear_bwd(struct dev *dev, struct tensor *dpre, struct tensor *dw,
                        struct tensor *db, const struct tensor *pre,
                        const struct tensor *x, const struct tensor *w,
                        const struct tensor *dy, enum act kind)
{
    struct epilogue arg = { .y = dpre, .pre = pre, .kind = kind };
    struct gemm g;

    dpre->overwrite = true;
    if (w->fp8) {
        cpu_linear_bwd(dev, dpre, dw, db, x, w, dy);
        cpu_act_bwd(dev, dpre, pre, dpre, kind);
        return;
    }
    g = backward_gemm(dpre, w, dy);
    g.after = apply_slope;
    g.arg = &arg;
    run_gemm(dev, &g);
    weight_gradients(dev, dw, db, x, dy);
}
