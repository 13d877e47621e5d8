#include "config.h"
#include "trainer/model/observe.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "kernels/half.h"
#include "trainer/model/graph_calls.h"

double observed_number(const struct observed *o, int64_t i)
{
    const float *wide = o->data;
    const uint16_t *half = o->data;

    if (o->type == DT_F32)
        return (double)wide[i];
    return (double)(o->type == DT_BF16 ? float_from_bf16(half[i])
                                       : float_from_f16(half[i]));
}

/* Who looks, and at the results of which operation. */
struct observer {
    struct graph *graph;
    observe_fn *look;
    void *arg;
    const char *operation, *at;
};

static int show_tensor(const struct observer *who, const struct graph_node *of,
                       bool gradient, struct err *e)
{
    struct graph *g = who->graph;
    const struct tensor *t = gradient ? &of->grad : &of->val;
    void *host = mem_alloc(tensor_bytes(t), 1, "a result to look at", e);
    const struct observed o = {
        .operation = who->operation,
        .at = who->at,
        .tensor = of->op == OP_PARAM ? g->param[of->param].name : of->name,
        .gradient = gradient,
        .type = t->type,
        .n = tensor_count(t),
        .data = host,
    };
    int ret = host ? 0 : -1;

    if (ret == 0) {
        g->dev->type->get(g->dev, host, t->data, tensor_bytes(t));
        ret = dev_sync(g->dev, e);
    }
    if (ret == 0)
        ret = who->look(who->arg, &o, e);
    free(host);
    return ret;
}

static int show_values(const struct observer *who, const struct graph_call *c,
                       struct err *e)
{
    const struct graph_node *n = &who->graph->node[c->node];
    const bool pair = c->kind == CALL_ADD_NORM || c->kind == CALL_LINEAR_ACT;

    if (pair && show_tensor(who, &who->graph->node[n->src[0]], false, e) < 0)
        return -1;
    return show_tensor(who, n, false, e);
}

static int show_gradients(const struct observer *who,
                          const struct graph_call *c, struct err *e)
{
    struct graph *g = who->graph;
    const struct graph_node *n = &g->node[c->node];

    for (int s = 0; s < n->n_src; s++) {
        const struct graph_node *src =
            n->src[s] == GRAPH_NONE ? NULL : &g->node[n->src[s]];

        if (src && s == 0 && c->kind == CALL_ACT_LINEAR_BACK)
            src = &g->node[src->src[0]];
        if (src && !src->no_grad && show_tensor(who, src, true, e) < 0)
            return -1;
    }
    return 0;
}

static int show_call(struct observer *who, int call, struct err *e)
{
    const struct graph_call *c = &who->graph->call[call];

    who->operation = graph_call_name(who->graph, call);
    who->at = who->graph->node[c->node].name;
    if (!graph_call_is_backward(c) && show_values(who, c, e) < 0)
        return -1;
    if (graph_call_is_backward(c) || c->kind == CALL_HEAD)
        return show_gradients(who, c, e);
    return 0;
}

static int show_inputs(struct observer *who, struct err *e)
{
    struct graph *g = who->graph;

    who->operation = "input";
    for (int i = 0; i < g->n; i++) {
        who->at = g->node[i].name;
        if (g->node[i].op == OP_INPUT &&
            show_tensor(who, &g->node[i], false, e) < 0)
            return -1;
    }
    return 0;
}

int observe_train(struct graph *g, observe_fn *look, void *arg, struct err *e)
{
    struct observer who = { .graph = g, .look = look, .arg = arg };

    graph_run_begin(g);
    if (show_inputs(&who, e) < 0)
        return -1;
    for (int t = 0; t < g->n_calls; t++) {
        graph_run_call(g, t);
        if (show_call(&who, t, e) < 0)
            return -1;
    }
    return 0;
}

int observe_finite(void *arg, const struct observed *o, struct err *e)
{
    (void)arg;
    if (o->type == DT_I32)
        return 0;
    for (int64_t i = 0; i < o->n; i++) {
        const double x = observed_number(o, i);

        if (!isfinite(x))
            return err_set(
                e, ERR_NONFINITE,
                "the %s of %s is %f at element %lld, computed by %s (%s)",
                o->gradient ? "gradient" : "value", o->tensor, x, (long long)i,
                o->operation, o->at);
    }
    return 0;
}
