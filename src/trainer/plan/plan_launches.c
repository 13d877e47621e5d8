#include "config.h"
#include "trainer/plan/plan_launches.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/head_rows.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/optim.h"

struct launches {
    const struct plan_step *how;
    const struct settings *set;
    const struct graph *g;
    struct plan_works all;
};

static void add_launch(struct launches *l, enum plan_rate rate,
                       struct plan_work *w)
{
    w->seconds = plan_step_seconds(l->how, l->set, rate, w->flops, w->bytes);
    plan_works_add(&l->all, w);
}

/* A kernel that computes little, `calls` of which move so many bytes. */
static void add_kernel(struct launches *l, const char *name, int calls,
                       double bytes)
{
    add_launch(
        l, RATE_PRODUCTS,
        &(struct plan_work){ .name = name, .calls = calls, .bytes = bytes });
}

/* `calls` products of m x k and k x n, which move so many bytes in all. */
static void add_products(struct launches *l, const char *name, int calls,
                         int64_t m, int64_t n, int64_t k, double bytes)
{
    struct plan_work p = { .name = name,
                           .calls = calls,
                           .flops =
                               2.0 * calls * (double)m * (double)n * (double)k,
                           .bytes = bytes };

    snprintf(p.shape, sizeof p.shape, "%lld x %lld x %lld", (long long)m,
             (long long)n, (long long)k);
    add_launch(l, RATE_PRODUCTS, &p);
}

static const char forward[] = "product, forward";
static const char weights[] = "product, gradient of weights";
static const char inputs[] = "product, gradient of input";

static const char *const sort_kernels[] = { "count_digits", "sum_counts",
                                            "move_tile" };

/* ---- operations ------------------------------------------------------- */

static const struct graph_node *source(const struct launches *l,
                                       const struct graph_node *n, int i)
{
    return n->src[i] == GRAPH_NONE ? NULL : &l->g->node[n->src[i]];
}

/* y = x w' + b, and the activation's input, if the activation is y. */
static void add_linear(struct launches *l, const struct graph_node *n,
                       const struct graph_node *act)
{
    const struct tensor *x = &source(l, n, 0)->val, *w = &source(l, n, 1)->val;

    add_products(l, forward, 1, tensor_rows(x), w->dim[0], w->dim[1],
                 (double)(tensor_bytes(x) + tensor_bytes(w) +
                          tensor_bytes(&n->val) +
                          (act ? tensor_bytes(&act->val) : 0)));
}

/* The gradients of w and b, which are added to, and that of x, or of the input
 * of the activation that x is. */
static void add_linear_back(struct launches *l, const struct graph_node *n,
                            const struct graph_node *act)
{
    const struct graph_node *x = source(l, n, 0), *w = source(l, n, 1);
    const int64_t rows = tensor_rows(&x->val), M = w->val.dim[0];
    const int64_t C = w->val.dim[1];
    const double dy = (double)tensor_bytes(&n->val);
    const double in = (double)tensor_bytes(&x->val);

    add_products(l, weights, 1, M, C, rows,
                 dy + in + 2 * (double)tensor_bytes(&w->grad));
    if (source(l, n, 2))
        add_kernel(l, "column_sums", 1, 3 * 4 * (double)M);
    if (!x->no_grad)
        add_products(l, inputs, 1, rows, C, M,
                     dy + (double)tensor_bytes(&w->val) + (act ? 2 : 1) * in);
}

/* Rows are divided into chunks; the gradient of w is added to in each. */
static void add_head(struct launches *l, const struct graph_node *n)
{
    const struct tensor *x = &source(l, n, 0)->val;
    const struct graph_node *w = source(l, n, 1);
    const int64_t N = tensor_rows(x), V = w->val.dim[0], C = w->val.dim[1];
    const size_t element = dtype_size(x->type);
    const int64_t rows =
        head_rows((int64_t)(l->how->device->gib * 0x1p30), N, V, element);
    const int calls = (int)((N + rows - 1) / rows);
    const double logits = (double)N * (double)V * (double)element;
    const double ends = (double)tensor_bytes(x);
    const double read = calls * (double)tensor_bytes(&w->val);

    add_products(l, forward, calls, rows, V, C, ends + read + logits);
    add_kernel(l, "cross_entropy", calls, 2 * logits);
    add_products(l, weights, calls, V, C, rows,
                 logits + ends + 2 * calls * (double)tensor_bytes(&w->grad));
    add_products(l, inputs, calls, rows, C, V, logits + read + ends);
}

/* The tokens are sorted by digits of 8 bits, three kernels for each. */
static void add_embed_back(struct launches *l, const struct graph_node *n)
{
    const double dy = (double)tensor_bytes(&n->val);
    int64_t left = l->g->node[n->src[1]].val.dim[0] - 1;
    int digits = 1;

    while (left >>= 8)
        digits++;
    for (int i = 0; i < 3; i++)
        add_kernel(l, sort_kernels[i], digits, 0);
    add_kernel(l, "segments", 1, 2 * dy);
    add_kernel(l, "join_segments", 1, 0);
    if (source(l, n, 2))
        add_kernel(l, "position_bwd", 1, dy);
}

/* A source whose gradient shares the memory of the sum's needs nothing. */
static void add_sum_back(struct launches *l, const struct graph_node *n)
{
    for (int i = 0; i < 2; i++)
        if (l->g->node[n->src[i]].same_grad == GRAPH_NONE)
            add_kernel(l, "accum", 1, 2 * (double)tensor_bytes(&n->val));
}

static void add_attention(struct launches *l, const char *name, int call)
{
    add_launch(l, RATE_ATTENTION,
               &(struct plan_work){ .name = name,
                                    .calls = 1,
                                    .flops = graph_call_flops(l->g, call),
                                    .bytes = graph_call_bytes(l->g, call) });
}

static void add_backward(struct launches *l, int call)
{
    const struct graph_node *n = &l->g->node[l->g->call[call].node];
    const double bytes = graph_call_bytes(l->g, call);

    switch (n->op) {
    case OP_LINEAR:
        add_linear_back(l, n, NULL);
        break;
    case OP_EMBED:
        add_embed_back(l, n);
        break;
    case OP_ADD:
        add_sum_back(l, n);
        break;
    case OP_NORM:
        /* x, dy, and dx, which is added to */
        add_kernel(l, "norm_bwd", 1, 4 * (double)tensor_bytes(&n->val));
        if (source(l, n, 1))
            add_kernel(l, "column_sums", 1, 0);
        break;
    case OP_ATTENTION:
        add_attention(l, "attention gradient", call);
        break;
    default:
        add_kernel(l, graph_call_name(l->g, call), 1, bytes);
    }
}

static void add_forward(struct launches *l, int call)
{
    const struct graph_node *n = &l->g->node[l->g->call[call].node];
    const double bytes = graph_call_bytes(l->g, call);

    if (n->op == OP_LINEAR)
        add_linear(l, n, NULL);
    else if (n->op == OP_ATTENTION)
        add_attention(l, "attention", call);
    else
        add_kernel(l,
                   n->op == OP_NORM    ? "norm_fwd"
                   : n->op == OP_EMBED ? "embed_fwd"
                                       : graph_call_name(l->g, call),
                   1, bytes);
}

static void add_call(struct launches *l, int call)
{
    const struct graph_call *c = &l->g->call[call];
    const struct graph_node *n = &l->g->node[c->node];

    switch (c->kind) {
    case CALL_FORWARD:
        add_forward(l, call);
        break;
    case CALL_BACKWARD:
        add_backward(l, call);
        break;
    case CALL_ACT_LINEAR_BACK:
        add_linear_back(l, n, source(l, n, 0));
        break;
    case CALL_ADD_NORM: /* a, b, their sum and y */
        add_kernel(l, "norm_fwd", 1, 4 * (double)tensor_bytes(&n->val));
        break;
    case CALL_LINEAR_ACT:
        add_linear(l, source(l, n, 0), n);
        break;
    case CALL_HEAD:
        add_head(l, n);
        break;
    }
}

/* As plan_step.h counts them: one update for each range of parameters. */
static void add_update(struct launches *l, struct gpt *gpt)
{
    const double n = (double)l->g->count;
    struct optim o;

    optim_lay_out(&o, &l->set->optim, &gpt->graph);
    add_kernel(l, "chunk_squares", 1, 4 * n);
    add_kernel(l, "add_chunks", 1, 0);
    add_kernel(l, "update_weights", o.n_ranges,
               plan_step_update_bytes(l->set, l->g) * n);
    optim_close(&o);
}

/* ---- the table -------------------------------------------------------- */

void plan_launches_columns(struct table *t)
{
    table_columns(t, "kernel", "shape", "calls", "GFLOP", "GB", "ms", NULL);
}

void plan_launches_add(const struct plan_step *how, struct settings *set,
                       struct gpt *gpt, const char *file, struct table *t)
{
    struct launches l = { .how = how, .set = set, .g = &gpt->graph };

    for (int c = 0; c < gpt->graph.n_calls; c++)
        add_call(&l, c);
    add_kernel(&l, "add_losses", 1,
               (double)tensor_bytes(&gpt->graph.node[gpt->graph.n - 1].val));
    add_update(&l, gpt);
    plan_works_rows(&l.all, file, true, t);
    free(l.all.all);
}
