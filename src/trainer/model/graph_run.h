#ifndef TRAINER_MODEL_GRAPH_RUN_H
#define TRAINER_MODEL_GRAPH_RUN_H

#include "trainer/model/graph.h"

/*
 * graph_run - carry out the calls of a graph
 *
 *      graph_run_forward(g);           losses alone, or logits
 *      graph_run_train(g, ready, arg); forward, keeping what backward needs,
 *                                      then backward
 *
 * The device is given the work; dev_sync() waits for it and reports errors.
 */

/* Called during backward as soon as the gradients of a unit are final. */
typedef void graph_ready_fn(void *arg, struct graph *, int unit);

void graph_run_forward(struct graph *);
void graph_run_train(struct graph *, graph_ready_fn *ready, void *arg);

/* One call after another, for a profile or to find the first bad result:
 * graph_run_begin() comes before the first. */
void graph_run_begin(struct graph *);
void graph_run_call(struct graph *, int call);

#endif
