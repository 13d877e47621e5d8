#include "config.h"
#include "trainer/model/anomaly.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "kernels/half.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/graph_run.h"

/* Element i of a value or a gradient. */
static double get_element(const void *data, enum dtype type, int64_t i)
{
    const float *wide = data;
    const uint16_t *half = data;

    if (type == DT_F32)
        return (double)wide[i];
    return (double)(type == DT_BF16 ? float_from_bf16(half[i])
                                    : float_from_f16(half[i]));
}

/* Check a tensor; what: "the value" or "the gradient". */
static int check_tensor(struct graph *g, const struct tensor *t, int call,
                        const struct graph_node *of, const char *what,
                        struct err *e)
{
    const int64_t n = tensor_count(t);
    void *host = mem_alloc(tensor_bytes(t), 1, "anomaly detection", e);
    int ret = host ? 0 : -1;

    if (ret == 0) {
        g->dev->type->get(g->dev, host, t->data, tensor_bytes(t));
        ret = dev_sync(g->dev, e);
    }
    for (int64_t i = 0; i < n && ret == 0; i++) {
        const double x = get_element(host, t->type, i);

        if (!isfinite(x))
            ret = err_set(
                e, ERR_NONFINITE,
                "%s of %s is %f at element %lld, computed by %s (%s)", what,
                of->op == OP_PARAM ? g->param[of->param].name : of->name, x,
                (long long)i, graph_call_name(g, call),
                g->node[g->call[call].node].name);
    }
    free(host);
    return ret;
}

static int check_call(struct graph *g, int call, struct err *e)
{
    const struct graph_call *c = &g->call[call];
    const struct graph_node *n = &g->node[c->node];

    if (!graph_call_is_backward(c) &&
        check_tensor(g, &n->val, call, n, "the value", e) < 0)
        return -1;
    if (!graph_call_is_backward(c) && c->kind != CALL_HEAD)
        return 0;
    for (int s = 0; s < n->n_src; s++) {
        const struct graph_node *src =
            n->src[s] == GRAPH_NONE ? NULL : &g->node[n->src[s]];

        if (src && !src->no_grad &&
            check_tensor(g, &src->grad, call, src, "the gradient", e) < 0)
            return -1;
    }
    return 0;
}

int anomaly_train(struct graph *g, struct err *e)
{
    graph_run_begin(g);
    for (int t = 0; t < g->n_calls; t++) {
        graph_run_call(g, t);
        if (check_call(g, t, e) < 0)
            return -1;
    }
    return 0;
}
