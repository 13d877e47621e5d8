#pragma once

#include "trainer/model/graph.h"

/*
 * rules - how each operation is computed, and what its gradient needs
 *
 * There is one row for each operation.  `needs` is a set of bits: bit i says
 * that the gradient reads the value of source i, NEEDS_OWN that it reads the
 * node's own value.  Statistics (aux) are always kept for the gradient.  A
 * multiplication and an addition count as two operations.
 */
enum { NEEDS_OWN = 1 << 8 };

typedef void rule_fn(struct graph *, struct graph_node *);
typedef double cost_fn(const struct graph *, const struct graph_node *);

struct rule {
    const char *name, *backward_name; /* in profiles */
    rule_fn *forward, *backward;
    unsigned needs;
    bool pointwise; /* computed again under train.recompute = pointwise */
    cost_fn *flops; /* of the forward pass; NULL: not counted */
};

extern const struct rule rules[OP_COUNT];

/* The fused calls; the node is graph_call.node. */
void rule_add_norm(struct graph *, struct graph_node *);
void rule_linear_act(struct graph *, struct graph_node *);
void rule_act_linear_back(struct graph *, struct graph_node *);
void rule_head(struct graph *, struct graph_node *, bool gradient);
