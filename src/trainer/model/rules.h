#ifndef TRAINER_MODEL_RULES_H
#define TRAINER_MODEL_RULES_H

#include "trainer/model/graph.h"

/*
 * rules - what each operation does, what its gradient does and needs
 *
 * One row an operation.  `needs` is a set of bits: bit i says that the
 * gradient reads the value of source i, NEEDS_OWN that it reads the node's
 * own value.  Statistics (aux) are always kept for it.  Multiplications are
 * counted as two operations, as everyone does.
 */
enum { NEEDS_OWN = 1 << 8 };

typedef void rule_fn(struct graph *, struct node *);
typedef double cost_fn(const struct graph *, const struct node *);

struct rule {
    const char *name;
    rule_fn *forward, *backward;
    unsigned needs;
    bool cheap;     /* worth computing again rather than keeping */
    cost_fn *flops; /* of the forward pass; backward is twice */
};

extern const struct rule rules[OP_COUNT];

void rule_add_norm(struct graph *, struct node *);
void rule_linear_act(struct graph *, struct node *);
void rule_act_linear_back(struct graph *, struct node *);
void rule_head(struct graph *, struct node *, bool gradient);

#endif
