#include "config.h"
#include "trainer/model/graph_calls.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/half.h"
#include "trainer/model/graph.h"
#include "trainer/model/rules.h"

/* ---- from nodes to calls --------------------------------------------- */

static void add_call(struct graph *g, enum graph_call_kind kind, int node)
{
    APPEND(g->call, g->n_calls, g->room_calls) =
        (struct graph_call){ kind, node, GRAPH_NONE };
}

static bool is_computed(const struct graph_node *n)
{
    return n->op != OP_INPUT && n->op != OP_PARAM;
}

/* Is the last call the forward pass of `op`, whose value this node reads? */
static bool is_last_call(const struct graph *g, const struct graph_node *n,
                         enum graph_op op)
{
    const struct graph_call *last =
        g->n_calls ? &g->call[g->n_calls - 1] : NULL;

    return last && last->kind == CALL_FORWARD && last->node == n->src[0] &&
           g->node[last->node].op == op;
}

static void add_forward(struct graph *g, int i, bool fuse)
{
    const struct graph_node *n = &g->node[i];

    if (fuse && n->op == OP_NORM && is_last_call(g, n, OP_ADD))
        g->call[g->n_calls - 1] =
            (struct graph_call){ CALL_ADD_NORM, i, GRAPH_NONE };
    else if (fuse && n->op == OP_ACT && is_last_call(g, n, OP_LINEAR))
        g->call[g->n_calls - 1] =
            (struct graph_call){ CALL_LINEAR_ACT, i, GRAPH_NONE };
    else
        add_call(g, n->op == OP_HEAD ? CALL_HEAD : CALL_FORWARD, i);
}

/* Compute value i again, after the values it is made of, if it is not there. */
static void recompute_value(struct graph *g, bool *valid, int i)
{
    if (valid[i])
        return;
    for (int s = 0; s < g->node[i].n_src; s++)
        if (g->node[i].src[s] != GRAPH_NONE)
            recompute_value(g, valid, g->node[i].src[s]);
    add_call(g, CALL_FORWARD, i);
    valid[i] = true;
}

static void recompute_for_backward(struct graph *g, bool *valid, int i)
{
    const struct graph_node *n = &g->node[i];
    const unsigned needs = rules[n->op].needs;

    for (int s = 0; s < n->n_src; s++)
        if (needs >> s & 1 && n->src[s] != GRAPH_NONE)
            recompute_value(g, valid, n->src[s]);
    if (needs & NEEDS_OWN)
        recompute_value(g, valid, i);
}

/* How many nodes read i, and which is the last. */
static int count_readers(const struct graph *g, int i, int *last)
{
    int n = 0;

    *last = GRAPH_NONE;
    for (int j = i + 1; j < g->n; j++)
        for (int s = 0; s < g->node[j].n_src; s++)
            if (g->node[j].src[s] == i) {
                *last = j;
                n++;
            }
    return n;
}

/* The activation that a linear node reads, if their gradients can be computed
 * by one call: if no other node reads it or its source. */
static int find_fusable_act(const struct graph *g, const struct graph_node *n)
{
    int last;

    if (n->op != OP_LINEAR || g->node[n->src[0]].op != OP_ACT ||
        count_readers(g, n->src[0], &last) != 1 ||
        count_readers(g, g->node[n->src[0]].src[0], &last) != 1)
        return GRAPH_NONE;
    return n->src[0];
}

static void add_backward(struct graph *g, bool fuse)
{
    AUTO_FREE bool *valid = xcalloc((size_t)g->n, sizeof *valid);
    int fused = GRAPH_NONE; /* an activation with its linear node */

    for (int i = 0; i < g->n; i++)
        valid[i] = !g->node[i].recompute;
    for (int i = g->n - 1; i >= 0; i--) {
        const struct graph_node *n = &g->node[i];
        const int act = fuse ? find_fusable_act(g, n) : GRAPH_NONE;

        if (!rules[n->op].backward || i == fused)
            continue;
        recompute_for_backward(g, valid, i);
        if (act != GRAPH_NONE) {
            recompute_for_backward(g, valid, act);
            fused = act;
        }
        add_call(g, act == GRAPH_NONE ? CALL_BACKWARD : CALL_ACT_LINEAR_BACK,
                 i);
    }
}

/* ---- gradients that share memory ------------------------------------- */

/* Does a node after `after`, except `except`, read i? */
static bool is_read_after(const struct graph *g, int i, int after, int except)
{
    for (int j = after + 1; j < g->n; j++)
        for (int s = 0; s < g->node[j].n_src; s++)
            if (j != except && g->node[j].src[s] == i)
                return true;
    return false;
}

static void share_gradient(struct graph *g, int i, int with)
{
    if (!g->node[i].no_grad && is_computed(&g->node[i]))
        g->node[i].same_grad = with;
}

/*
 * The gradient of a sum is the gradient of both its parts.  The branch b has no
 * other reader, and no other node reads the stream a once b has begun; so by
 * the time anything is added to the gradient of a, that of b has been used, and
 * all three can be in the same memory.
 */
static void share_add_gradients(struct graph *g, int i)
{
    const int a = g->node[i].src[0], b = g->node[i].src[1];
    const enum graph_op branch = g->node[b].op;
    int last_a, last_b;

    if (a == b || branch == OP_ACT || branch == OP_ROPE)
        return;
    count_readers(g, a, &last_a);
    if (count_readers(g, b, &last_b) != 1 || last_a != i || a > b ||
        is_read_after(g, a, b, i))
        return;
    share_gradient(g, a, i);
    share_gradient(g, b, i);
}

static void share_gradients(struct graph *g)
{
    for (int i = 0; i < g->n; i++) {
        const struct graph_node *n = &g->node[i];
        int last;

        if (n->op == OP_ADD)
            share_add_gradients(g, i);
        else if ((n->op == OP_ROPE || n->op == OP_ACT || n->op == OP_VALUE) &&
                 count_readers(g, n->src[0], &last) == 1)
            share_gradient(g, n->src[0], i);
    }
}

/* ---- the block of parameters ----------------------------------------- */

/* The parameter that source s of a node is, or GRAPH_NONE. */
static int param_of(const struct graph *g, const struct graph_node *n, int s)
{
    return n->src[s] == GRAPH_NONE ? GRAPH_NONE : g->node[n->src[s]].param;
}

static void find_last_calls(struct graph *g)
{
    for (int t = 0; t < g->n_calls; t++) {
        const struct graph_call *c = &g->call[t];
        const struct graph_node *n = &g->node[c->node];

        if (!graph_call_is_backward(c) && c->kind != CALL_HEAD)
            continue;
        for (int s = 0; s < n->n_src; s++) {
            const int p = param_of(g, n, s);

            if (p != GRAPH_NONE)
                g->unit[g->param[p].unit].last_call = t;
        }
    }
}

/* Backward finishes the units in the reverse of the order in which they were
 * declared. */
static void reverse_units(struct graph *g)
{
    const int last = g->n_units - 1;

    for (int i = 0; i < last - i; i++) {
        const struct graph_unit unit = g->unit[i];

        g->unit[i] = g->unit[last - i];
        g->unit[last - i] = unit;
    }
    for (int i = 0; i < last; i++)
        assert(g->unit[i].last_call <= g->unit[i + 1].last_call);
    for (int p = 0; p < g->n_params; p++)
        g->param[p].unit = last - g->param[p].unit;
}

/* The unit of the parameters that node i reads, or GRAPH_NONE. */
static int unit_of(const struct graph *g, int i)
{
    const struct graph_node *n = &g->node[i];

    for (int s = 0; s < n->n_src; s++) {
        const int p = param_of(g, n, s);

        if (p != GRAPH_NONE)
            return g->param[p].unit;
    }
    return GRAPH_NONE;
}

static void find_call_units(struct graph *g)
{
    for (int t = 0; t < g->n_calls; t++) {
        struct graph_call *c = &g->call[t];

        c->unit = unit_of(g, c->node);
        if (c->kind == CALL_LINEAR_ACT)
            c->unit = unit_of(g, g->node[c->node].src[0]);
    }
}

/* Matrices before vectors, so that parameters updated alike are adjacent. */
static void lay_out_block(struct graph *g)
{
    enum { ALIGN = 16 }; /* elements; 64 bytes of fp32 */

    g->count = 0;
    for (int u = 0; u < g->n_units; u++) {
        g->unit[u].at = g->count;
        for (int group = 0; group < GROUP_COUNT; group++)
            for (int p = 0; p < g->n_params; p++) {
                struct graph_param *param = &g->param[p];

                if (param->unit != u || (int)param->group != group)
                    continue;
                param->at = g->count;
                g->count += (param->count + ALIGN - 1) / ALIGN * ALIGN;
            }
        g->unit[u].count = g->count - g->unit[u].at;
    }
}

void graph_calls_make(struct graph *g, const struct graph_conf *conf)
{
    g->n_calls = 0;
    g->training = conf->training;
    for (int i = 0; i < g->n; i++)
        if (is_computed(&g->node[i]))
            add_forward(g, i, conf->fuse);
    g->n_forward = g->n_calls;
    if (conf->training) {
        share_gradients(g);
        add_backward(g, conf->fuse);
        find_last_calls(g);
    }
    reverse_units(g);
    find_call_units(g);
    lay_out_block(g);
}

/* ---- for profiles ---------------------------------------------------- */

const char *graph_call_name(const struct graph *g, int call)
{
    static const char *const fused[] = {
        [CALL_ADD_NORM] = "add_norm",
        [CALL_LINEAR_ACT] = "linear_act",
        [CALL_ACT_LINEAR_BACK] = "act_linear_bwd",
        [CALL_HEAD] = NULL,
    };
    const struct graph_call *c = &g->call[call];
    const struct rule *rule = &rules[g->node[c->node].op];

    if (fused[c->kind])
        return fused[c->kind];
    return c->kind == CALL_BACKWARD ? rule->backward_name : rule->name;
}

static double forward_flops(const struct graph *g, int i)
{
    const struct graph_node *n = &g->node[i];

    return rules[n->op].flops ? rules[n->op].flops(g, n) : 0;
}

double graph_call_flops(const struct graph *g, int call)
{
    const struct graph_call *c = &g->call[call];
    const struct graph_node *n = &g->node[c->node];
    const double own = forward_flops(g, c->node);

    switch (c->kind) {
    case CALL_LINEAR_ACT:
        return forward_flops(g, n->src[0]);
    case CALL_BACKWARD:
    case CALL_ACT_LINEAR_BACK:
        return 2 * own;
    case CALL_HEAD:
        return g->training ? 3 * own : own;
    case CALL_FORWARD:
    case CALL_ADD_NORM:
        break;
    }
    return own;
}

double graph_flops(const struct graph *g)
{
    double sum = 0;

    for (int t = 0; t < g->n_calls; t++)
        if (t < g->n_forward || graph_call_is_backward(&g->call[t]))
            sum += graph_call_flops(g, t);
    return sum;
}

/* The least number of bytes to read and write: each operand once. */
double graph_call_bytes(const struct graph *g, int call)
{
    const struct graph_call *c = &g->call[call];
    const struct graph_node *n = &g->node[c->node];
    double bytes = (double)tensor_bytes(&n->val);

    for (int s = 0; s < n->n_src; s++) {
        const struct graph_node *src =
            n->src[s] == GRAPH_NONE ? NULL : &g->node[n->src[s]];

        if (!src || (n->op == OP_EMBED && src->op == OP_PARAM))
            continue;
        bytes += (double)tensor_bytes(&src->val);
        if (graph_call_is_backward(c) || c->kind == CALL_HEAD)
            bytes += src->no_grad ? 0 : (double)tensor_bytes(&src->grad);
    }
    return n->op == OP_ADD && c->kind == CALL_BACKWARD ? 0 : bytes;
}

/* ---- running them ----------------------------------------------------- */

void graph_run_begin(struct graph *g)
{
    for (int i = 0; i < g->n; i++) {
        struct graph_node *n = &g->node[i];

        n->grad.overwrite = n->op != OP_PARAM || g->first_micro;
    }
}

/* Backward through a node has written the gradients of its sources. */
static void mark_written(struct graph *g, const struct graph_node *n)
{
    for (int s = 0; s < n->n_src; s++)
        if (n->src[s] != GRAPH_NONE)
            g->node[n->src[s]].grad.overwrite = false;
}

void graph_run_call(struct graph *g, int call)
{
    const struct graph_call *c = &g->call[call];
    struct graph_node *n = &g->node[c->node];
    const bool gradient = g->training && !g->evaluating;

    if (g->fetch && c->unit != GRAPH_NONE)
        g->fetch(g->fetch_arg, g, call);
    switch (c->kind) {
    case CALL_FORWARD:
        rules[n->op].forward(g, n);
        break;
    case CALL_BACKWARD:
        rules[n->op].backward(g, n);
        mark_written(g, n);
        break;
    case CALL_ACT_LINEAR_BACK:
        rule_act_linear_back(g, n);
        mark_written(g, n);
        mark_written(g, &g->node[n->src[0]]);
        break;
    case CALL_ADD_NORM:
        rule_add_norm(g, n);
        break;
    case CALL_LINEAR_ACT:
        rule_linear_act(g, n);
        break;
    case CALL_HEAD:
        rule_head(g, n, gradient);
        if (gradient)
            mark_written(g, n);
        break;
    }
}

void graph_run_forward(struct graph *g)
{
    g->evaluating = true;
    for (int t = 0; t < g->n_forward; t++)
        graph_run_call(g, t);
    g->evaluating = false;
}

const struct phase phases[PHASES] = {
    { "perf/micro_ms", PHASE_BEGIN, PHASE_BACKWARD },
    { "perf/forward_ms", PHASE_BEGIN, PHASE_FORWARD },
    { "perf/head_ms", PHASE_FORWARD, PHASE_HEAD },
    { "perf/backward_ms", PHASE_HEAD, PHASE_BACKWARD },
    { "perf/norm_ms", PHASE_BACKWARD, PHASE_NORM },
    { "perf/update_ms", PHASE_NORM, PHASE_UPDATE },
};

void phases_mark(struct phases *p, struct dev *dev, enum phase_mark m)
{
    if (!dev->type->mark)
        return;
    dev->type->mark(dev, p->turn * PHASE_MARKS + (int)m);
    p->given[p->turn][m] = true;
}

bool phases_end_step(struct phases *p, struct dev *dev, double ms[PHASES])
{
    bool any = false;

    p->turn = 1 - p->turn; /* now the step before, and later the next */
    for (int k = 0; k < PHASES; k++) {
        const struct phase f = phases[k];
        const int at = p->turn * PHASE_MARKS;
        const double s =
            p->given[p->turn][f.from] && p->given[p->turn][f.to]
                ? dev->type->between(dev, at + (int)f.from, at + (int)f.to)
                : -1.0;

        ms[k] = s < 0 ? (double)NAN : 1e3 * s;
        any = any || s >= 0;
    }
    memset(p->given[p->turn], 0, sizeof p->given[p->turn]);
    return any;
}

void graph_run_train(struct graph *g, graph_ready_fn *ready, void *arg)
{
    int unit = 0;

    graph_run_begin(g);
    for (int t = 0; t < g->n_calls; t++) {
        if (g->phases && t == g->n_forward - 1) /* the classifier */
            phases_mark(g->phases, g->dev, PHASE_FORWARD);
        if (g->phases && t == g->n_forward)
            phases_mark(g->phases, g->dev, PHASE_HEAD);
        graph_run_call(g, t);
        while (ready && unit < g->n_units && g->unit[unit].last_call <= t)
            ready(arg, g, unit++);
    }
}

/* ---- what they compute -------------------------------------------------- */

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
    AUTO_FREE void *host =
        mem_alloc(tensor_bytes(t), 1, "a result to look at", e);
    const struct observed o = {
        .operation = who->operation,
        .at = who->at,
        .tensor = of->op == OP_PARAM ? g->param[of->param].name : of->name,
        .gradient = gradient,
        .type = t->type,
        .n = tensor_count(t),
        .data = host,
    };

    if (!host)
        return -1;
    g->dev->type->get(g->dev, host, t->data, tensor_bytes(t));
    return dev_sync(g->dev, e) < 0 ? -1 : who->look(who->arg, &o, e);
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

int observe_finite(void *arg UNUSED, const struct observed *o, struct err *e)
{
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
