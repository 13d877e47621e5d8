/*
 * linear - y = x w' + b and its gradients, by gemm.cu
 */
#include "config.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/reduce.cuh"

/* y = x w', without an epilogue. */
static struct gemm forward_gemm(struct tensor *y, const struct tensor *x,
                                const struct tensor *w)
{
    struct gemm p = {};

    p.type = x->type;
    p.out = y->type;
    p.m = tensor_rows(x);
    p.n = w->dim[0];
    p.k = p.lda = p.ldb = tensor_cols(x);
    p.a = x->data;
    p.b = w->data;
    p.tb = true;
    p.d = y->data;
    p.ldd = p.n;
    p.alpha = 1.0f;
    return p;
}

extern "C" void cuda_linear_fwd(struct dev *dev, struct tensor *y,
                                const struct tensor *x, const struct tensor *w,
                                const struct tensor *b)
{
    struct gemm p = forward_gemm(y, x, w);

    p.epilogue = b ? GEMM_BIAS : GEMM_PLAIN;
    p.bias = data_of<void>(b);
    gemm(dev, &p, "linear_fwd");
}

/* Whether cuBLASLt has this activation as an epilogue.  Its tanh is only exact
 * enough for 16 bits. */
static bool fuses(enum act kind, const struct tensor *x, int64_t columns)
{
    return kind == ACT_GELU_TANH && x->type != DT_F32 && columns % 8 == 0;
}

extern "C" void cuda_linear_act_fwd(struct dev *dev, struct tensor *y,
                                    struct tensor *pre, const struct tensor *x,
                                    const struct tensor *w,
                                    const struct tensor *b, enum act kind)
{
    struct tensor *mid = pre ? pre : y;
    struct gemm p = forward_gemm(y, x, w);

    p.epilogue = GEMM_GELU;
    p.bias = data_of<void>(b);
    p.aux = data_of<void>(pre);
    if (!fuses(kind, x, p.n))
        cuda_linear_fwd(dev, mid, x, w, b);
    else if (gemm(dev, &p, "linear_act_fwd"))
        return;
    cuda_act_fwd(dev, y, mid, kind);
    launched(dev, "linear_act_fwd");
}

/* dx(N,C) += dy(N,M) w(M,C) */
static struct gemm input_gradient(struct tensor *dx, const struct tensor *w,
                                  const struct tensor *dy)
{
    struct gemm p = {};

    p.type = dy->type;
    p.out = dx->type;
    p.m = tensor_rows(dy);
    p.k = p.lda = tensor_cols(dy);
    p.n = p.ldb = p.ldd = tensor_cols(w);
    p.a = dy->data;
    p.b = w->data;
    p.d = dx->data;
    p.alpha = 1.0f;
    p.beta = dx->overwrite ? 0.0f : 1.0f;
    return p;
}

/* dw(M,C) += dy(N,M)' x(N,C), added in F32, and db in the same product.  The
 * library sets the gradient of a bias, so one that is to be added goes through
 * scratch memory. */
static void weight_gradient(struct dev *dev, struct tensor *dw,
                            struct tensor *db, const struct tensor *x,
                            const struct tensor *dy)
{
    struct gemm p = {};

    p.type = dy->type;
    p.out = dw->type;
    p.ta = true;
    p.m = p.lda = tensor_cols(dy);
    p.n = p.ldb = p.ldd = tensor_cols(x);
    p.k = tensor_rows(dy);
    p.a = dy->data;
    p.b = x->data;
    p.d = dw->data;
    p.alpha = 1.0f;
    p.beta = dw->overwrite ? 0.0f : 1.0f;
    if (db) {
        p.epilogue = GEMM_BIAS_GRAD;
        p.bias = db->overwrite ? db->data
                           : cuda_scratch(dev, (size_t)p.m * sizeof(float),
                                          "linear_bwd");
        if (!p.bias)
            return;
    }
    if (!gemm(dev, &p, "linear_bwd"))
        bias_sum(dev, db, dy);
    else if (db && !db->overwrite)
        column_sum(dev, (float *)db->data, (const float *)p.bias, 1, p.m,
                   false);
}

/* Both are optional.  They run beside what follows, up to the next
 * cuda_weights_join(): few tiles of dw alone would not fill the GPU. */
static void begin_weight_gradients(struct dev *dev, struct tensor *dw,
                                   struct tensor *db, const struct tensor *x,
                                   const struct tensor *dy)
{
    cuda_weights_begin(dev);
    if (dw)
        weight_gradient(dev, dw, db, x, dy);
    else if (db)
        bias_sum(dev, db, dy);
    cuda_weights_end(dev);
}

extern "C" void cuda_linear_bwd(struct dev *dev, struct tensor *dx,
                                struct tensor *dw, struct tensor *db,
                                const struct tensor *x, const struct tensor *w,
                                const struct tensor *dy)
{
    begin_weight_gradients(dev, dw, db, x, dy);
    if (dx) {
        const struct gemm p = input_gradient(dx, w, dy);

        gemm(dev, &p, "linear_bwd");
    }
    cuda_weights_join(dev);
    launched(dev, "linear_bwd");
}

extern "C" void cuda_act_linear_bwd(struct dev *dev, struct tensor *dpre,
                                    struct tensor *dw, struct tensor *db,
                                    const struct tensor *pre,
                                    const struct tensor *x,
                                    const struct tensor *w,
                                    const struct tensor *dy, enum act kind)
{
    struct gemm p = input_gradient(dpre, w, dy);

    p.beta = 0.0f;
    begin_weight_gradients(dev, dw, db, x, dy);
    if (fuses(kind, dy, p.n)) {
        p.epilogue = GEMM_GELU_GRAD;
        p.aux = pre->data;
    }
    if (!gemm(dev, &p, "act_linear_bwd") || p.epilogue == GEMM_PLAIN) {
        dpre->overwrite = true;
        cuda_act_bwd(dev, dpre, pre, dpre, kind);
    }
    cuda_weights_join(dev);
    launched(dev, "act_linear_bwd");
}
