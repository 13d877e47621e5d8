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
/* Of forward and backward, without what is computed again. */
double graph_flops(const struct graph *);
double graph_call_bytes(const struct graph *, int call);

/*
 * observe - a training pass that shows every result
 *
 *      if (observe_train(g, observe_finite, NULL, e) < 0) ...
 *
 * Does what graph_run_train() does, and copies the results of each operation to
 * the host, for a function that looks at them.  It may end the pass with an
 * error.
 */
struct observed {
    const char *operation; /* "linear_bwd"; "input" for the ids of the batch */
    const char *at;        /* the node that it computes */
    const char *tensor;
    bool gradient; /* the gradient of the tensor, not its value */
    enum dtype type;
    int64_t n;
    const void *data; /* on the host, until the function returns */
};

typedef int observe_fn(void *arg, const struct observed *, struct err *);

int observe_train(struct graph *, observe_fn *, void *arg, struct err *);

/* Ends the pass at the first number that is not finite, with ERR_NONFINITE; the
 * error names the tensor and the operation. */
observe_fn observe_finite;

/* Element i of what was observed, unless it is a tensor of ids. */
double observed_number(const struct observed *, int64_t i);
