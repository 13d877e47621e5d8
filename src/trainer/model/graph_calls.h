#pragma once

#include "trainer/model/graph.h"

/*
 * graph_calls - the operations that a graph runs, in order
 *
 * graph_calls_make() makes the list from the nodes: first the forward pass,
 * with fused pairs if the device has them, then, for training, the backward
 * pass.  Before each call of the backward pass, values that it needs but that
 * were not kept are computed again.  The function also decides which gradients
 * share memory, and the order of the units in the block of parameters.
 */
enum graph_call_kind {
    CALL_FORWARD,
    CALL_BACKWARD,
    CALL_ADD_NORM,        /* node and the OP_ADD before it */
    CALL_LINEAR_ACT,      /* node and the OP_LINEAR before it */
    CALL_ACT_LINEAR_BACK, /* backward through node, an OP_LINEAR, and the OP_ACT
                             that it reads */
    CALL_HEAD             /* the loss and its gradient */
};

struct graph_call {
    enum graph_call_kind kind;
    int node;
    int unit; /* whose parameters it reads, or GRAPH_NONE */
};

static inline bool graph_call_is_backward(const struct graph_call *c)
{
    return c->kind == CALL_BACKWARD || c->kind == CALL_ACT_LINEAR_BACK;
}

void graph_calls_make(struct graph *, const struct graph_conf *);

/* For profiles: what a call is named, computes, and must read and write. */
const char *graph_call_name(const struct graph *, int call);
double graph_call_flops(const struct graph *, int call);
double graph_call_bytes(const struct graph *, int call);
