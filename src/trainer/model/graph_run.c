/*
 * graph_run - carry out the calls of a graph
 */
#include "config.h"
#include "trainer/model/graph.h"

#include <math.h>
#include <string.h>

#include "trainer/model/graph_calls.h"
#include "trainer/model/rules.h"

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
