/*
 * linear - y = x w' + b and its gradients, by gemm.h
 */
#include "config.h"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/reduce.cuh"

/* y = x w', without an epilogue. */
static struct gemm forward_gemm(struct dev *dev, struct tensor *y,
                                const struct tensor *x, const struct tensor *w)
{
    struct gemm p = gemm_of(y, x, w, GEMM_B);

    if (w->fp8) {
        const struct fp8_source from[] = { { x, DT_E4M3, FP8_ROWS },
                                           { w, DT_E4M3, FP8_ROWS } };
        struct fp8_matrix q[2];

        if (fp8_round_all(dev, q, from, 2, "linear_fwd"))
            fp8_operands(&p, &q[0], false, &q[1], false);
    }
    return p;
}

extern "C" void cuda_linear_fwd(struct dev *dev, struct tensor *y,
                                const struct tensor *x, const struct tensor *w,
                                const struct tensor *b)
{
    struct gemm p = forward_gemm(dev, y, x, w);

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

    if (!fuses(kind, x, w->dim[0])) {
        cuda_linear_fwd(dev, mid, x, w, b);
    } else {
        struct gemm p = forward_gemm(dev, y, x, w);

        p.epilogue = GEMM_GELU;
        p.bias = data_of<void>(b);
        p.aux = data_of<void>(pre);
        if (gemm(dev, &p, "linear_act_fwd"))
            return;
    }
    cuda_act_fwd(dev, y, mid, kind);
    launched(dev, "linear_act_fwd");
}

/* dx(N,C) += dy(N,M) w(M,C) */
static struct gemm input_gradient(struct tensor *dx, const struct tensor *w,
                                  const struct tensor *dy)
{
    struct gemm p = gemm_of(dx, dy, w, GEMM_NEITHER);

    p.beta = dx->overwrite ? 0.0f : 1.0f;
    return p;
}

/* What the products of the backward pass read in fp8. */
struct rounded {
    struct fp8_matrix dy, w, x;
};

static bool round_backward(struct dev *dev, struct rounded *q, bool has_dx,
                           bool has_dw, const struct tensor *x,
                           const struct tensor *w, const struct tensor *dy)
{
    const int rows = has_dx ? FP8_ROWS : 0, turned = has_dw ? FP8_TURNED : 0;
    const struct fp8_source from[] = {
        { dy, DT_E5M2, rows | turned },
        { w, DT_E4M3, has_dx ? FP8_TURNED : 0 },
        { x, DT_E4M3, turned },
    };

    return fp8_round_all(dev, &q->dy, from, 3, "linear_bwd");
}

/* dw(M,C) += dy(N,M)' x(N,C), added in F32, and db in the same product.  The
 * library sets the gradient of a bias, so one that is to be added goes through
 * scratch memory. */
static void weight_gradient(struct dev *dev, struct tensor *dw,
                            struct tensor *db, const struct tensor *x,
                            const struct tensor *dy, const struct rounded *q)
{
    struct gemm p = gemm_of(dw, dy, x, GEMM_A);

    p.beta = dw->overwrite ? 0.0f : 1.0f;
    if (q)
        fp8_operands(&p, &q->dy, true, &q->x, true);
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
 * cuda_side_wait(): few tiles of dw alone would not fill the GPU. */
static void begin_weight_gradients(struct dev *dev, struct tensor *dw,
                                   struct tensor *db, const struct tensor *x,
                                   const struct tensor *dy,
                                   const struct rounded *q)
{
    cuda_side_begin(dev, &cuda_of(dev)->weights);
    if (dw)
        weight_gradient(dev, dw, q ? nullptr : db, x, dy, q);
    if (db && (q || !dw))
        bias_sum(dev, db, dy);
    cuda_side_end(dev, &cuda_of(dev)->weights, 0);
}

/* Begin both products; p, which may be null, is the one for dx.  Returns what
 * gemm() did for it. */
static bool begin_backward(struct dev *dev, struct gemm *p, struct tensor *dw,
                           struct tensor *db, const struct tensor *x,
                           const struct tensor *w, const struct tensor *dy)
{
    struct rounded q;

    if (w->fp8) {
        if (!round_backward(dev, &q, p, dw, x, w, dy))
            return true;
        if (p)
            fp8_operands(p, &q.dy, false, &q.w, true);
    }
    begin_weight_gradients(dev, dw, db, x, dy, w->fp8 ? &q : nullptr);
    return !p || gemm(dev, p, "linear_bwd");
}

extern "C" void cuda_linear_bwd(struct dev *dev, struct tensor *dx,
                                struct tensor *dw, struct tensor *db,
                                const struct tensor *x, const struct tensor *w,
                                const struct tensor *dy)
{
    struct gemm p = {};

    if (dx)
        p = input_gradient(dx, w, dy);
    begin_backward(dev, dx ? &p : nullptr, dw, db, x, w, dy);
    cuda_side_wait(dev, &cuda_of(dev)->weights, 0);
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
    if (fuses(kind, dy, p.n)) {
        p.epilogue = GEMM_GELU_GRAD;
        p.aux = pre->data;
    }
    if (!begin_backward(dev, &p, dw, db, x, w, dy) ||
        p.epilogue == GEMM_PLAIN) {
        dpre->overwrite = true;
        cuda_act_bwd(dev, dpre, pre, dpre, kind);
    }
    cuda_side_wait(dev, &cuda_of(dev)->weights, 0);
    launched(dev, "act_linear_bwd");
}
