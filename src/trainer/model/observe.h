#pragma once

#include "trainer/model/graph.h"

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
