#include "config.h"
#include "trainer/model/graph.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "trainer/model/phases.h"
#include "trainer/model/rules.h"

/* ---- from nodes to calls ---------------------------------------------- */

static void emit(struct graph *g, enum call_kind kind, int node)
{
    GROW(g->call, g->n_calls, g->room_calls);
    g->call[g->n_calls++] = (struct call){ kind, node, GRAPH_NONE };
}

static bool computed(const struct node *n)
{
    return n->op != OP_INPUT && n->op != OP_PARAM;
}

/* Is the last call the forward of `op`, and what this node reads? */
static bool follows(const struct graph *g, const struct node *n, enum op op)
{
    const struct call *last = g->n_calls ? &g->call[g->n_calls - 1] : NULL;

    return last && last->kind == CALL_FORWARD && last->node == n->src[0] &&
           g->node[last->node].op == op;
}

static void emit_forward(struct graph *g, int i, bool fuse,
                         const struct ops *ops)
{
    const struct node *n = &g->node[i];

    if (fuse && ops->add_norm_fwd && n->op == OP_NORM && follows(g, n, OP_ADD))
        g->call[g->n_calls - 1] = (struct call){ CALL_ADD_NORM, i, GRAPH_NONE };
    else if (fuse && ops->linear_act_fwd && n->op == OP_ACT &&
             follows(g, n, OP_LINEAR))
        g->call[g->n_calls - 1] =
            (struct call){ CALL_LINEAR_ACT, i, GRAPH_NONE };
    else
        emit(g, n->op == OP_HEAD ? CALL_HEAD : CALL_FORWARD, i);
}

/* Compute value i again, with what it is made of, if it was not kept. */
static void need(struct graph *g, bool *there, int i)
{
    if (there[i])
        return;
    for (int s = 0; s < g->node[i].n_src; s++)
        if (g->node[i].src[s] != GRAPH_NONE)
            need(g, there, g->node[i].src[s]);
    emit(g, CALL_FORWARD, i);
    there[i] = true;
}

static void need_for_backward(struct graph *g, bool *there, int i)
{
    const struct node *n = &g->node[i];
    const unsigned needs = rules[n->op].needs;

    for (int s = 0; s < n->n_src; s++)
        if (needs >> s & 1 && n->src[s] != GRAPH_NONE)
            need(g, there, n->src[s]);
    if (needs & NEEDS_OWN)
        need(g, there, i);
}

static int readers(const struct graph *g, int i, int *last);

/* The activation that a linear node reads, if their gradients can be one call:
 * if nobody else reads it or what it is made of. */
static int act_behind(const struct graph *g, const struct node *n)
{
    int last;

    if (n->op != OP_LINEAR || g->node[n->src[0]].op != OP_ACT ||
        readers(g, n->src[0], &last) != 1 ||
        readers(g, g->node[n->src[0]].src[0], &last) != 1)
        return GRAPH_NONE;
    return n->src[0];
}

static void emit_backward(struct graph *g, bool fuse)
{
    bool *there = xcalloc((size_t)g->n, sizeof *there);
    int fused = GRAPH_NONE;     /* an activation that is done already */

    for (int i = 0; i < g->n; i++)
        there[i] = !g->node[i].again;
    for (int i = g->n - 1; i >= 0; i--) {
        const struct node *n = &g->node[i];
        const int act = fuse ? act_behind(g, n) : GRAPH_NONE;

        if (!rules[n->op].backward || i == fused)
            continue;
        need_for_backward(g, there, i);
        if (act != GRAPH_NONE) {
            need_for_backward(g, there, act);
            fused = act;
        }
        emit(g, act == GRAPH_NONE ? CALL_BACKWARD : CALL_ACT_LINEAR_BACK, i);
    }
    free(there);
}

/* ---- gradients that share memory -------------------------------------- */

/* The last node that reads i, and how many do. */
static int readers(const struct graph *g, int i, int *last)
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

/* Does anyone but `except` read i from a place after `after`? */
static bool read_after(const struct graph *g, int i, int after, int except)
{
    for (int j = after + 1; j < g->n; j++)
        for (int s = 0; s < g->node[j].n_src; s++)
            if (j != except && g->node[j].src[s] == i)
                return true;
    return false;
}

static void share(struct graph *g, int i, int with)
{
    if (!g->node[i].no_grad && computed(&g->node[i]))
        g->node[i].same_grad = with;
}

/*
 * The gradient of a sum is that of both its parts.  The branch b has no other
 * reader, and the stream a is read by no other after b begins; so by the time
 * anything is added to the gradient of a, that of b has been used, and all
 * three are one place.
 */
static void share_add(struct graph *g, int i)
{
    const int a = g->node[i].src[0], b = g->node[i].src[1];
    const enum op branch = g->node[b].op;
    int last_a, last_b;

    if (a == b || branch == OP_ACT || branch == OP_ROPE)
        return;
    readers(g, a, &last_a);
    if (readers(g, b, &last_b) != 1 || last_a != i || a > b ||
        read_after(g, a, b, i))
        return;
    share(g, a, i);
    share(g, b, i);
}

static void share_gradients(struct graph *g)
{
    for (int i = 0; i < g->n; i++) {
        const struct node *n = &g->node[i];
        int last;

        if (n->op == OP_ADD)
            share_add(g, i);
        else if ((n->op == OP_ROPE || n->op == OP_ACT) &&
                 readers(g, n->src[0], &last) == 1)
            share(g, n->src[0], i);
    }
}

/* ---- the block of parameters ------------------------------------------ */

static void find_last_calls(struct graph *g)
{
    for (int t = 0; t < g->n_calls; t++) {
        const struct call *c = &g->call[t];
        const struct node *n = &g->node[c->node];

        if (!call_is_backward(c) && c->kind != CALL_HEAD)
            continue;
        for (int s = 0; s < n->n_src; s++) {
            const int p =
                n->src[s] == GRAPH_NONE ? GRAPH_NONE : g->node[n->src[s]].param;

            if (p != GRAPH_NONE)
                g->unit[g->param[p].unit].last_call = t;
        }
    }
}

/* Units in the order in which backward is done with them. */
static void order_units(struct graph *g)
{
    struct unit *sorted = xcalloc((size_t)g->n_units, sizeof *sorted);
    int *place = xcalloc((size_t)g->n_units, sizeof *place);

    for (int i = 0; i < g->n_units; i++) {
        place[i] = 0;
        for (int j = 0; j < g->n_units; j++) {
            const int mine = g->unit[i].last_call;
            const int other = g->unit[j].last_call;

            /* among equals (no backward at all) the last declared first */
            place[i] += other < mine || (other == mine && j > i);
        }
        sorted[place[i]] = g->unit[i];
    }
    memcpy(g->unit, sorted, (size_t)g->n_units * sizeof *sorted);
    for (int p = 0; p < g->n_params; p++)
        g->param[p].unit = place[g->param[p].unit];
    free(sorted);
    free(place);
}

/* The unit of the parameters that node i reads, or GRAPH_NONE. */
static int unit_of(const struct graph *g, int i)
{
    const struct node *n = &g->node[i];

    for (int s = 0; s < n->n_src; s++) {
        const int p =
            n->src[s] == GRAPH_NONE ? GRAPH_NONE : g->node[n->src[s]].param;

        if (p != GRAPH_NONE)
            return g->param[p].unit;
    }
    return GRAPH_NONE;
}

static void find_call_units(struct graph *g)
{
    for (int t = 0; t < g->n_calls; t++) {
        struct call *c = &g->call[t];

        c->unit = unit_of(g, c->node);
        if (c->kind == CALL_LINEAR_ACT)
            c->unit = unit_of(g, g->node[c->node].src[0]);
    }
}

/* Matrices before vectors, so that what is updated alike lies together. */
static void lay_out(struct graph *g)
{
    enum { ALIGN = 16 }; /* elements; 64 bytes of fp32 */

    g->count = 0;
    for (int u = 0; u < g->n_units; u++) {
        g->unit[u].at = g->count;
        for (int group = 0; group < GROUP_COUNT; group++)
            for (int p = 0; p < g->n_params; p++) {
                struct param *param = &g->param[p];

                if (param->unit != u || (int)param->group != group)
                    continue;
                param->at = g->count;
                g->count += (param->count + ALIGN - 1) / ALIGN * ALIGN;
            }
        g->unit[u].count = g->count - g->unit[u].at;
    }
}

void graph_schedule(struct graph *g, const struct place *how,
                    const struct ops *ops)
{
    g->n_calls = 0;
    g->training = how->training;
    for (int i = 0; i < g->n; i++)
        if (computed(&g->node[i]))
            emit_forward(g, i, how->fuse && ops, ops);
    g->n_forward = g->n_calls;
    if (how->training) {
        share_gradients(g);
        emit_backward(g, how->fuse && ops && ops->act_linear_bwd);
        find_last_calls(g);
    }
    order_units(g);
    find_call_units(g);
    lay_out(g);
}

/* ---- running ---------------------------------------------------------- */

void graph_begin(struct graph *g)
{
    for (int i = 0; i < g->n; i++) {
        struct node *n = &g->node[i];

        n->grad.fresh = n->op != OP_PARAM || g->first_micro;
    }
}

/* What backward through a node has added to holds something now. */
static void grown_old(struct graph *g, const struct node *n)
{
    for (int s = 0; s < n->n_src; s++)
        if (n->src[s] != GRAPH_NONE)
            g->node[n->src[s]].grad.fresh = false;
}

void graph_run(struct graph *g, int call)
{
    const struct call *c = &g->call[call];
    struct node *n = &g->node[c->node];
    const bool gradient = g->training && !g->evaluating;

    if (g->need && c->unit != GRAPH_NONE)
        g->need(g->need_arg, g, call);
    switch (c->kind) {
    case CALL_FORWARD:
        rules[n->op].forward(g, n);
        break;
    case CALL_BACKWARD:
        rules[n->op].backward(g, n);
        grown_old(g, n);
        break;
    case CALL_ACT_LINEAR_BACK:
        rule_act_linear_back(g, n);
        grown_old(g, n);
        grown_old(g, &g->node[n->src[0]]);
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
            grown_old(g, n);
        break;
    }
}

void graph_forward(struct graph *g)
{
    g->evaluating = true;
    for (int t = 0; t < g->n_forward; t++)
        graph_run(g, t);
    g->evaluating = false;
}

void graph_train(struct graph *g, graph_ready_fn *ready, void *arg)
{
    int unit = 0;

    graph_begin(g);
    for (int t = 0; t < g->n_calls; t++) {
        if (g->phases && t == g->n_forward - 1) /* the classifier */
            phases_mark(g->phases, g->dev, PHASE_FORWARD);
        if (g->phases && t == g->n_forward)
            phases_mark(g->phases, g->dev, PHASE_HEAD);
        graph_run(g, t);
        while (ready && unit < g->n_units && g->unit[unit].last_call <= t)
            ready(arg, g, unit++);
    }
}

/* ---- for profiles ----------------------------------------------------- */

const char *graph_call_name(const struct graph *g, int call)
{
    static const char *const backward_name[OP_COUNT] = {
        [OP_EMBED] = "embed_bwd",     [OP_LINEAR] = "linear_bwd",
        [OP_NORM] = "norm_bwd",       [OP_QKNORM] = "qknorm_bwd",
        [OP_ROPE] = "rope_bwd",       [OP_ATTENTION] = "attention_bwd",
        [OP_ACT] = "act_bwd",         [OP_GLU] = "glu_bwd",
        [OP_DROPOUT] = "dropout_bwd", [OP_ADD] = "add_bwd",
    };
    const struct call *c = &g->call[call];
    const enum op op = g->node[c->node].op;

    switch (c->kind) {
    case CALL_ADD_NORM:
        return "add_norm";
    case CALL_LINEAR_ACT:
        return "linear_act";
    case CALL_ACT_LINEAR_BACK:
        return "act_linear_bwd";
    case CALL_BACKWARD:
        return backward_name[op];
    case CALL_FORWARD:
    case CALL_HEAD:
        break;
    }
    return rules[op].name;
}

static double forward_flops(const struct graph *g, int i)
{
    const struct node *n = &g->node[i];

    return rules[n->op].flops ? rules[n->op].flops(g, n) : 0;
}

double graph_call_flops(const struct graph *g, int call)
{
    const struct call *c = &g->call[call];
    const struct node *n = &g->node[c->node];
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

/* What must be read and written at least, each operand once. */
double graph_call_bytes(const struct graph *g, int call)
{
    const struct call *c = &g->call[call];
    const struct node *n = &g->node[c->node];
    double bytes = (double)tensor_bytes(&n->val);

    for (int s = 0; s < n->n_src; s++) {
        const struct node *src =
            n->src[s] == GRAPH_NONE ? NULL : &g->node[n->src[s]];

        if (!src || (n->op == OP_EMBED && src->op == OP_PARAM))
            continue;
        bytes += (double)tensor_bytes(&src->val);
        if (call_is_backward(c) || c->kind == CALL_HEAD)
            bytes += src->no_grad ? 0 : (double)tensor_bytes(&src->grad);
    }
    return n->op == OP_ADD && c->kind == CALL_BACKWARD ? 0 : bytes;
}
