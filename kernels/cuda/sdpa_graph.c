/*
 * sdpa_graph - attention and its gradient as graphs of cuDNN's operations
 *
 * A call that cuDNN rejects marks the graph as bad, and later calls do nothing,
 * so that the graphs below need no error handling.
 */
#include "config.h"
#include "kernels/cuda/sdpa_graph.h"

#include "common/mem.h"

#include <stdio.h>
#include <string.h>

enum { MOST_JSON = 16 << 20 };

typedef cudnnBackendDescriptor_t desc;

/* ---- descriptors ------------------------------------------------------- */

static void check_status(struct sdpa_graph *g, cudnnStatus_t status)
{
    if (status == CUDNN_STATUS_SUCCESS || g->bad)
        return;
    g->bad = true;
    g->api->last_error(g->why, sizeof g->why);
}

static desc make_descriptor(struct sdpa_graph *g,
                            cudnnBackendDescriptorType_t type)
{
    desc d = NULL;

    if (g->n == SDPA_DESCRIPTORS)
        g->bad = true;
    if (g->bad)
        return NULL;
    check_status(g, g->api->make(type, &d));
    if (d)
        g->all[g->n++] = d;
    return d;
}

static void set_attribute(struct sdpa_graph *g, desc d,
                          cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, int64_t n,
                          const void *p)
{
    if (!g->bad)
        check_status(g, g->api->set(d, name, type, n, p));
}

static void set_descriptor(struct sdpa_graph *g, desc d,
                           cudnnBackendAttributeName_t name, desc value)
{
    set_attribute(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void finalize(struct sdpa_graph *g, desc d)
{
    if (!g->bad)
        check_status(g, g->api->finalize(d));
}

static void finalize_op(struct sdpa_graph *g, desc d)
{
    finalize(g, d);
    if (g->ops == SDPA_OPERATIONS)
        g->bad = true;
    if (!g->bad)
        g->op[g->ops++] = d;
}

/* ---- tensors ----------------------------------------------------------- */

/* A tensor that a kernel is given, a number, or, if uid is 0, a virtual one. */
static desc make_tensor(struct sdpa_graph *g, int64_t uid, cudnnDataType_t type,
                        const int64_t dim[4], const int64_t stride[4])
{
    desc d = make_descriptor(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t align = 16, id = uid ? uid : g->next_uid++;
    const bool yes = true;

    set_attribute(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                  &type);
    set_attribute(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    set_attribute(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set_attribute(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set_attribute(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
                  &align);
    if (uid == 0)
        set_attribute(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                      &yes);
    if (uid >= SDPA_SCALE)
        set_attribute(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN,
                      1, &yes);
    finalize(g, d);
    return d;
}

static cudnnDataType_t half_type(const struct sdpa_graph *g)
{
    return g->shape.bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

static desc number_tensor(struct sdpa_graph *g, enum sdpa_uid uid)
{
    const int64_t one[4] = { 1, 1, 1, 1 };

    return make_tensor(g, uid, CUDNN_DATA_FLOAT, one, one);
}

/* A part of the buffer of rows (H + 2 K) D, as (B,H,T,D), or transposed
 * (B,H,D,T); with K heads but for the queries. */
static desc qkv_tensor(struct sdpa_graph *g, enum sdpa_uid uid, bool transposed)
{
    const struct sdpa_shape s = g->shape;
    const int64_t row = (s.H + 2 * s.K) * s.D;
    const int64_t heads = uid == SDPA_Q || uid == SDPA_DQ ? s.H : s.K;
    const int64_t dim[4] = { s.B, heads, transposed ? s.D : s.T,
                             transposed ? s.T : s.D };
    const int64_t stride[4] = { row * s.T, s.D, transposed ? 1 : row,
                                transposed ? row : 1 };

    return make_tensor(g, uid, half_type(g), dim, stride);
}

/* An output (B,H,T,D) in rows of H D. */
static desc output_tensor(struct sdpa_graph *g, enum sdpa_uid uid)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.D };
    const int64_t stride[4] = { s.T * s.H * s.D, s.D, s.H * s.D, 1 };

    return make_tensor(g, uid, half_type(g), dim, stride);
}

/* A number for each query: (B,H,T,1), packed.  Some of cuDNN's kernels, such
 * as those of version 9.19 for Ampere, read packed numbers whatever the strides
 * say. */
static desc column_tensor(struct sdpa_graph *g, int64_t uid)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, 1 };
    const int64_t stride[4] = { s.H * s.T, s.T, 1, 1 };

    return make_tensor(g, uid, CUDNN_DATA_FLOAT, dim, stride);
}

/* A number for each query and key: (B,H,T,T), a virtual tensor. */
static desc square_tensor(struct sdpa_graph *g, cudnnDataType_t type,
                          bool transposed)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.T };
    const int64_t stride[4] = { s.H * s.T * s.T, s.T * s.T,
                                transposed ? 1 : s.T, transposed ? s.T : 1 };

    return make_tensor(g, 0, type, dim, stride);
}

/* (B,H,T,D) of F32, heads together or rows together. */
static desc wide_tensor(struct sdpa_graph *g, int64_t uid, bool by_row)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.D };
    const int64_t stride[4] = { s.H * s.T * s.D, by_row ? s.D : s.T * s.D,
                                by_row ? s.H * s.D : s.D, 1 };

    return make_tensor(g, uid, CUDNN_DATA_FLOAT, dim, stride);
}

/* ---- operations -------------------------------------------------------- */

static void add_pointwise(struct sdpa_graph *g, cudnnPointwiseMode_t mode,
                          cudnnDataType_t type, int64_t axis, desc x, desc b,
                          desc t, desc y)
{
    desc how = make_descriptor(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    desc op = make_descriptor(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);

    set_attribute(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
                  1, &mode);
    set_attribute(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                  1, &type);
    if (axis >= 0)
        set_attribute(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1,
                      &axis);
    finalize(g, how);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        set_descriptor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (t)
        set_descriptor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    finalize_op(g, op);
}

/* y = x op b, of floats */
static desc add_binary(struct sdpa_graph *g, cudnnPointwiseMode_t mode, desc x,
                       desc b, desc y)
{
    add_pointwise(g, mode, CUDNN_DATA_FLOAT, -1, x, b, NULL, y);
    return y;
}

static desc add_unary(struct sdpa_graph *g, cudnnPointwiseMode_t mode, desc x,
                      desc y)
{
    return add_binary(g, mode, x, NULL, y);
}

static desc add_reduction(struct sdpa_graph *g, cudnnReduceTensorOp_t mode,
                          desc x, desc y)
{
    desc how = make_descriptor(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    desc op = make_descriptor(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;

    set_attribute(g, how, CUDNN_ATTR_REDUCTION_OPERATOR,
                  CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    set_attribute(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                  1, &type);
    finalize(g, how);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    finalize_op(g, op);
    return y;
}

static desc add_product(struct sdpa_graph *g, desc a, desc b, desc c)
{
    desc how = make_descriptor(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    desc op = make_descriptor(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;

    set_attribute(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                  &type);
    finalize(g, how);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    finalize_op(g, op);
    return c;
}

static desc add_reshape(struct sdpa_graph *g, desc x, desc y)
{
    desc op = make_descriptor(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    set_descriptor(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    finalize_op(g, op);
    return y;
}

/* x where the key is not after the query, else the lowest number. */
static desc add_causal_mask(struct sdpa_graph *g, desc x)
{
    desc query = square_tensor(g, CUDNN_DATA_INT32, false);
    desc key = square_tensor(g, CUDNN_DATA_INT32, false);
    desc seen = square_tensor(g, CUDNN_DATA_BOOLEAN, false);
    desc y = square_tensor(g, CUDNN_DATA_FLOAT, false);

    add_pointwise(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 2, x, NULL,
                  NULL, query);
    add_pointwise(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 3, x, NULL,
                  NULL, key);
    add_pointwise(g, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, -1, query, key,
                  NULL, seen);
    add_pointwise(g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1, x,
                  number_tensor(g, SDPA_LOWEST), seen, y);
    return y;
}

static desc float_square(struct sdpa_graph *g)
{
    return square_tensor(g, CUDNN_DATA_FLOAT, false);
}

/* ---- the two graphs ---------------------------------------------------- */

static void build_forward(struct sdpa_graph *g)
{
    desc s, max, e, sum, log, lse, p;

    s = add_product(g, qkv_tensor(g, SDPA_Q, false),
                    qkv_tensor(g, SDPA_K, true), float_square(g));
    s = add_binary(g, CUDNN_POINTWISE_MUL, s, number_tensor(g, SDPA_SCALE),
                   float_square(g));
    s = add_causal_mask(g, s);
    max = add_reduction(g, CUDNN_REDUCE_TENSOR_MAX, s, column_tensor(g, 0));
    e = add_binary(g, CUDNN_POINTWISE_SUB, s, max, float_square(g));
    e = add_unary(g, CUDNN_POINTWISE_EXP, e, float_square(g));
    sum = add_reduction(g, CUDNN_REDUCE_TENSOR_ADD, e, column_tensor(g, 0));
    log = add_unary(g, CUDNN_POINTWISE_LOG, sum, column_tensor(g, 0));
    lse = column_tensor(g, SDPA_LSE);
    add_binary(g, CUDNN_POINTWISE_ADD, max, log, lse);
    p = add_binary(g, CUDNN_POINTWISE_DIV, e, sum,
                   square_tensor(g, half_type(g), false));
    add_product(g, p, qkv_tensor(g, SDPA_V, false), output_tensor(g, SDPA_O));
}

/* K, from its transpose: (B,H,T,D), a virtual tensor. */
static desc add_key_transpose(struct sdpa_graph *g, desc transposed)
{
    const struct sdpa_shape s = g->shape;
    const int64_t row = (s.H + 2 * s.K) * s.D;
    const int64_t dim[4] = { s.B, s.K, s.T, s.D };
    const int64_t stride[4] = { row * s.T, s.D, row, 1 };

    return add_reshape(g, transposed,
                       make_tensor(g, 0, half_type(g), dim, stride));
}

/* The gradient of keys or values: a b, or, if several heads of queries share
 * them, the sum of a b over these heads. */
static void add_shared_gradient(struct sdpa_graph *g, desc a, desc b,
                                enum sdpa_uid uid)
{
    const struct sdpa_shape s = g->shape;
    const int64_t dim[4] = { s.B, s.H, s.T, s.D };
    const int64_t stride[4] = { s.H * s.T * s.D, s.D, s.H * s.D, 1 };

    if (s.H == s.K)
        add_product(g, a, b, qkv_tensor(g, uid, false));
    else
        add_reduction(
            g, CUDNN_REDUCE_TENSOR_ADD,
            add_product(g, a, b, make_tensor(g, 0, half_type(g), dim, stride)),
            qkv_tensor(g, uid, false));
}

static void build_backward(struct sdpa_graph *g)
{
    desc q = qkv_tensor(g, SDPA_Q, false), k = qkv_tensor(g, SDPA_K, true);
    desc v = qkv_tensor(g, SDPA_V, true), dy = output_tensor(g, SDPA_DO);
    desc scale = number_tensor(g, SDPA_SCALE);
    desc sum, s, p, ds, acc;

    /* sum = sum of y dy, one number a query */
    s = add_binary(g, CUDNN_POINTWISE_MUL, dy, output_tensor(g, SDPA_O),
                   wide_tensor(g, 0, true));
    s = add_reduction(g, CUDNN_REDUCE_TENSOR_ADD, s, column_tensor(g, 0));
    sum = add_binary(g, CUDNN_POINTWISE_MUL, s, number_tensor(g, SDPA_ONE),
                     column_tensor(g, SDPA_SUM));

    /* p = exp(scale q k' - lse), dv = p' dy */
    s = add_product(g, q, k, float_square(g));
    s = add_binary(g, CUDNN_POINTWISE_MUL, s, scale, float_square(g));
    s = add_binary(g, CUDNN_POINTWISE_SUB, s, column_tensor(g, SDPA_LSE),
                   float_square(g));
    p = add_unary(g, CUDNN_POINTWISE_EXP, add_causal_mask(g, s),
                  float_square(g));
    s = add_reshape(g, p, square_tensor(g, half_type(g), true));
    add_shared_gradient(g, s, dy, SDPA_DV);

    /* ds = scale p (dy v' - sum), dk = ds' q, dq = ds k */
    s = add_product(g, dy, v, float_square(g));
    s = add_binary(g, CUDNN_POINTWISE_SUB, s, sum, float_square(g));
    s = add_binary(g, CUDNN_POINTWISE_MUL, s, p, float_square(g));
    ds = add_binary(g, CUDNN_POINTWISE_MUL, s, scale,
                    square_tensor(g, half_type(g), false));
    s = add_reshape(g, ds, square_tensor(g, half_type(g), true));
    add_shared_gradient(g, s, q, SDPA_DK);
    acc = add_product(g, ds, add_key_transpose(g, k),
                      wide_tensor(g, SDPA_WIDE_DQ, false));
    add_unary(g, CUDNN_POINTWISE_IDENTITY, acc, qkv_tensor(g, SDPA_DQ, false));
}

bool sdpa_graph_build(struct sdpa_graph *g, const struct cudnn *api,
                      cudnnHandle_t handle, const struct sdpa_shape *shape)
{
    memset(g, 0, sizeof *g);
    g->api = api;
    g->shape = *shape;
    g->next_uid = SDPA_UIDS;
    if (shape->backward)
        build_backward(g);
    else
        build_forward(g);
    g->graph = make_descriptor(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (handle)
        set_attribute(g, g->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                      CUDNN_TYPE_HANDLE, 1, &handle);
    set_attribute(g, g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, g->ops, g->op);
    finalize(g, g->graph);
    return !g->bad;
}

int sdpa_graph_offers(struct sdpa_graph *g, cudnnBackendDescriptor_t device,
                      cudnnBackendDescriptor_t *offer, int most)
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    desc ask = make_descriptor(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;

    set_descriptor(g, ask, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->graph);
    set_attribute(g, ask, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
                  &mode);
    if (device)
        set_descriptor(g, ask, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
    finalize(g, ask);
    if (!g->bad)
        check_status(g,
                     g->api->get(ask, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL));
    most = n < most ? (int)n : most;
    for (int i = 0; i < most; i++)
        offer[i] = make_descriptor(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!g->bad && most > 0)
        check_status(g, g->api->get(ask, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &n,
                                    offer));
    return g->bad ? 0 : most;
}

/* The plan as JSON, some 100 KB; NULL if cuDNN does not give it. */
static char *plan_as_json(const struct cudnn *api, desc plan)
{
    const cudnnBackendAttributeName_t name =
        CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
    int64_t n = 0;
    char *text;

    if (api->get(plan, name, CUDNN_TYPE_CHAR, 0, &n, NULL) !=
            CUDNN_STATUS_SUCCESS ||
        n <= 0 || n > MOST_JSON)
        return NULL;
    text = xcalloc(1, (size_t)n + 1);
    if (api->get(plan, name, CUDNN_TYPE_CHAR, n, &n, text) ==
        CUDNN_STATUS_SUCCESS)
        return text;
    free(text);
    return NULL;
}

char *sdpa_graph_kernel_name(const struct cudnn *api,
                             cudnnBackendDescriptor_t plan, char *out,
                             size_t room)
{
    static const char key[] = "\"kernelName\":\"";
    AUTO_FREE char *text = plan_as_json(api, plan);
    const char *name = text ? strstr(text, key) : NULL;

    if (name)
        snprintf(out, room, "%.*s", (int)strcspn(name + sizeof key - 1, "\""),
                 name + sizeof key - 1);
    else
        snprintf(out, room, "a kernel without a name");
    return out;
}

void sdpa_graph_clear(struct sdpa_graph *g)
{
    while (g->n > 0)
        g->api->destroy(g->all[--g->n]);
    memset(g, 0, sizeof *g);
}
