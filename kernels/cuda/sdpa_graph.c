/*
 * sdpa_graph - attention and its gradient as graphs of cuDNN's operations
 *
 * A call that cuDNN refuses marks the graph as bad, and the calls after it do
 * nothing, so that the graphs below are written straight down.
 */
#include "config.h"
#include "kernels/cuda/sdpa_graph.h"

#include <string.h>

typedef cudnnBackendDescriptor_t desc;

/* ---- descriptors ------------------------------------------------------- */

static void check(struct sdpa_graph *g, cudnnStatus_t status)
{
    if (status == CUDNN_STATUS_SUCCESS || g->bad)
        return;
    g->bad = true;
    g->api->last_error(g->why, sizeof g->why);
}

static desc make(struct sdpa_graph *g, cudnnBackendDescriptorType_t type)
{
    desc d = NULL;

    if (g->n == SDPA_DESCRIPTORS)
        g->bad = true;
    if (g->bad)
        return NULL;
    check(g, g->api->make(type, &d));
    if (d)
        g->all[g->n++] = d;
    return d;
}

static void set(struct sdpa_graph *g, desc d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *p)
{
    if (!g->bad)
        check(g, g->api->set(d, name, type, n, p));
}

static void set_desc(struct sdpa_graph *g, desc d,
                     cudnnBackendAttributeName_t name, desc value)
{
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void finish(struct sdpa_graph *g, desc d)
{
    if (!g->bad)
        check(g, g->api->finalize(d));
}

static void finish_op(struct sdpa_graph *g, desc d)
{
    finish(g, d);
    if (g->ops == SDPA_OPERATIONS)
        g->bad = true;
    if (!g->bad)
        g->op[g->ops++] = d;
}

/* ---- tensors ----------------------------------------------------------- */

enum place { REAL, VIRTUAL, BY_VALUE };

static desc tensor(struct sdpa_graph *g, int64_t uid, cudnnDataType_t type,
                   const int64_t dim[4], const int64_t stride[4],
                   enum place place)
{
    desc d = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t align = 16;
    const bool yes = true;

    if (uid == 0)
        uid = g->next_uid++;
    set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    if (place == VIRTUAL)
        set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (place == BY_VALUE)
        set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    finish(g, d);
    return d;
}

static cudnnDataType_t half(const struct sdpa_graph *g)
{
    return g->shape.bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

static desc number(struct sdpa_graph *g, enum sdpa_uid uid)
{
    const int64_t one[4] = { 1, 1, 1, 1 };

    return tensor(g, uid, CUDNN_DATA_FLOAT, one, one, BY_VALUE);
}

/* A part of the buffer of rows (H + 2 K) D, as (B,H,T,D), or turned
 * (B,H,D,T); with K heads but for the queries. */
static desc part(struct sdpa_graph *g, enum sdpa_uid uid, bool turned)
{
    const struct sdpa_shape s = g->shape;
    const int64_t row = (s.H + 2 * s.K) * s.D;
    const int64_t heads = uid == SDPA_Q || uid == SDPA_DQ ? s.H : s.K;
    const int64_t dim[4] = { s.B, heads, turned ? s.D : s.T,
                             turned ? s.T : s.D };
    const int64_t stride[4] = { row * s.T, s.D, turned ? 1 : row,
                                turned ? row : 1 };

    return tensor(g, uid, half(g), dim, stride, REAL);
}

/* An output (B,H,T,D) in rows of H D. */
static desc output(struct sdpa_graph *g, enum sdpa_uid uid)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.D };
    const int64_t stride[4] = { s.T * s.H * s.D, s.D, s.H * s.D, 1 };

    return tensor(g, uid, half(g), dim, stride, REAL);
}

/* A number for each query: (B,H,T,1), in rows of H. */
static desc column(struct sdpa_graph *g, int64_t uid)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, 1 };
    const int64_t stride[4] = { s.T * s.H, 1, s.H, 1 };

    return tensor(g, uid, CUDNN_DATA_FLOAT, dim, stride, uid ? REAL : VIRTUAL);
}

/* A number for each pair, (B,H,T,T), never in memory. */
static desc square(struct sdpa_graph *g, cudnnDataType_t type, bool turned)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.T };
    const int64_t stride[4] = { s.H * s.T * s.T, s.T * s.T, turned ? 1 : s.T,
                                turned ? s.T : 1 };

    return tensor(g, 0, type, dim, stride, VIRTUAL);
}

/* (B,H,T,D) of F32, heads together or rows together. */
static desc wide(struct sdpa_graph *g, int64_t uid, bool by_row)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.D };
    const int64_t stride[4] = { s.H * s.T * s.D, by_row ? s.D : s.T * s.D,
                                by_row ? s.H * s.D : s.D, 1 };

    return tensor(g, uid, CUDNN_DATA_FLOAT, dim, stride, uid ? REAL : VIRTUAL);
}

/* ---- operations -------------------------------------------------------- */

static void pointwise(struct sdpa_graph *g, cudnnPointwiseMode_t mode,
                      cudnnDataType_t type, int64_t axis, desc x, desc b,
                      desc t, desc y)
{
    desc how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    desc op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);

    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
        &mode);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
        &type);
    if (axis >= 0)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    finish(g, how);
    set_desc(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_desc(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        set_desc(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (t)
        set_desc(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
    set_desc(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    finish_op(g, op);
}

/* y = x op b, of floats */
static desc two(struct sdpa_graph *g, cudnnPointwiseMode_t mode, desc x,
                desc b, desc y)
{
    pointwise(g, mode, CUDNN_DATA_FLOAT, -1, x, b, NULL, y);
    return y;
}

static desc one(struct sdpa_graph *g, cudnnPointwiseMode_t mode, desc x,
                desc y)
{
    return two(g, mode, x, NULL, y);
}

static desc reduce(struct sdpa_graph *g, cudnnReduceTensorOp_t mode, desc x,
                   desc y)
{
    desc how = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    desc op = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;

    set(g, how, CUDNN_ATTR_REDUCTION_OPERATOR,
        CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    set(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
        &type);
    finish(g, how);
    set_desc(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    set_desc(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_desc(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    finish_op(g, op);
    return y;
}

static desc product(struct sdpa_graph *g, desc a, desc b, desc c)
{
    desc how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    desc op = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;

    set(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finish(g, how);
    set_desc(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_desc(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_desc(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_desc(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    finish_op(g, op);
    return c;
}

static desc reshape(struct sdpa_graph *g, desc x, desc y)
{
    desc op = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    set_desc(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_desc(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    finish_op(g, op);
    return y;
}

/* x where the key is not after the query, and the lowest number elsewhere */
static desc causal(struct sdpa_graph *g, desc x)
{
    desc query = square(g, CUDNN_DATA_INT32, false);
    desc key = square(g, CUDNN_DATA_INT32, false);
    desc seen = square(g, CUDNN_DATA_BOOLEAN, false);
    desc y = square(g, CUDNN_DATA_FLOAT, false);

    pointwise(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 2, x, NULL, NULL,
              query);
    pointwise(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 3, x, NULL, NULL,
              key);
    pointwise(g, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, -1, query, key,
              NULL, seen);
    pointwise(g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1, x,
              number(g, SDPA_LOWEST), seen, y);
    return y;
}

static desc floats(struct sdpa_graph *g)
{
    return square(g, CUDNN_DATA_FLOAT, false);
}

/* ---- the two graphs ---------------------------------------------------- */

static void forward(struct sdpa_graph *g)
{
    desc s, max, e, sum, log, lse, p;

    s = product(g, part(g, SDPA_Q, false), part(g, SDPA_K, true), floats(g));
    s = two(g, CUDNN_POINTWISE_MUL, s, number(g, SDPA_SCALE), floats(g));
    s = causal(g, s);
    max = reduce(g, CUDNN_REDUCE_TENSOR_MAX, s, column(g, 0));
    e = two(g, CUDNN_POINTWISE_SUB, s, max, floats(g));
    e = one(g, CUDNN_POINTWISE_EXP, e, floats(g));
    sum = reduce(g, CUDNN_REDUCE_TENSOR_ADD, e, column(g, 0));
    log = one(g, CUDNN_POINTWISE_LOG, sum, column(g, 0));
    lse = column(g, SDPA_LSE);
    two(g, CUDNN_POINTWISE_ADD, max, log, lse);
    p = two(g, CUDNN_POINTWISE_DIV, e, sum, square(g, half(g), false));
    product(g, p, part(g, SDPA_V, false), output(g, SDPA_O));
}

/* K as it is, out of K turned: (B,H,T,D) without a place in memory. */
static desc key_again(struct sdpa_graph *g, desc turned)
{
    const struct sdpa_shape s = g->shape;
    const int64_t row = (s.H + 2 * s.K) * s.D;
    const int64_t dim[4] = { s.B, s.K, s.T, s.D };
    const int64_t stride[4] = { row * s.T, s.D, row, 1 };

    return reshape(g, turned, tensor(g, 0, half(g), dim, stride, VIRTUAL));
}

/* The gradient of keys or values, which several heads of queries may share:
 * then each has its own, and their sum is what is asked for. */
static void shared_grad(struct sdpa_graph *g, desc a, desc b,
                        enum sdpa_uid uid)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.D };
    const int64_t stride[4] = { s.H * s.T * s.D, s.D, s.H * s.D, 1 };

    if (s.H == s.K)
        product(g, a, b, part(g, uid, false));
    else
        reduce(g, CUDNN_REDUCE_TENSOR_ADD,
               product(g, a, b, tensor(g, 0, half(g), dim, stride, VIRTUAL)),
               part(g, uid, false));
}

static void backward(struct sdpa_graph *g)
{
    desc q = part(g, SDPA_Q, false), k = part(g, SDPA_K, true);
    desc v = part(g, SDPA_V, true), dy = output(g, SDPA_DO);
    desc scale = number(g, SDPA_SCALE);
    desc sum, s, p, ds, acc;

    /* sum = sum of y dy, one number a query */
    s = two(g, CUDNN_POINTWISE_MUL, dy, output(g, SDPA_O), wide(g, 0, true));
    s = reduce(g, CUDNN_REDUCE_TENSOR_ADD, s, column(g, 0));
    sum = two(g, CUDNN_POINTWISE_MUL, s, number(g, SDPA_ONE),
              column(g, SDPA_SUM));

    /* p = exp(scale q k' - lse), dv = p' dy */
    s = product(g, q, k, floats(g));
    s = two(g, CUDNN_POINTWISE_MUL, s, scale, floats(g));
    s = two(g, CUDNN_POINTWISE_SUB, s, column(g, SDPA_LSE), floats(g));
    p = one(g, CUDNN_POINTWISE_EXP, causal(g, s), floats(g));
    s = reshape(g, p, square(g, half(g), true));
    shared_grad(g, s, dy, SDPA_DV);

    /* ds = scale p (dy v' - sum), dk = ds' q, dq = ds k */
    s = product(g, dy, v, floats(g));
    s = two(g, CUDNN_POINTWISE_SUB, s, sum, floats(g));
    s = two(g, CUDNN_POINTWISE_MUL, s, p, floats(g));
    ds = two(g, CUDNN_POINTWISE_MUL, s, scale, square(g, half(g), false));
    s = reshape(g, ds, square(g, half(g), true));
    shared_grad(g, s, q, SDPA_DK);
    acc = product(g, ds, key_again(g, k), wide(g, SDPA_WIDE_DQ, false));
    one(g, CUDNN_POINTWISE_IDENTITY, acc, part(g, SDPA_DQ, false));
}

bool sdpa_graph_build(struct sdpa_graph *g, const struct cudnn *api,
                      cudnnHandle_t handle, const struct sdpa_shape *shape)
{
    memset(g, 0, sizeof *g);
    g->api = api;
    g->shape = *shape;
    g->next_uid = SDPA_UIDS;
    if (shape->backward)
        backward(g);
    else
        forward(g);
    g->graph = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (handle)
        set(g, g->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
            1, &handle);
    set(g, g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, g->ops, g->op);
    finish(g, g->graph);
    return !g->bad;
}

int sdpa_graph_offers(struct sdpa_graph *g, cudnnBackendDescriptor_t device,
                      cudnnBackendDescriptor_t *offer, int most)
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    desc ask = make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;

    set_desc(g, ask, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->graph);
    set(g, ask, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (device)
        set_desc(g, ask, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
    finish(g, ask);
    if (!g->bad)
        check(g, g->api->get(ask, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL));
    most = n < most ? (int)n : most;
    for (int i = 0; i < most; i++)
        offer[i] = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!g->bad && most > 0)
        check(g, g->api->get(ask, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &n, offer));
    return g->bad ? 0 : most;
}

void sdpa_graph_clear(struct sdpa_graph *g)
{
    while (g->n > 0)
        g->api->destroy(g->all[--g->n]);
    memset(g, 0, sizeof *g);
}
