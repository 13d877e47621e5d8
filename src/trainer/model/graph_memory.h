#ifndef TRAINER_MODEL_GRAPH_MEMORY_H
#define TRAINER_MODEL_GRAPH_MEMORY_H

#include "trainer/model/graph.h"

/*
 * graph_memory - lay out the tensors of a graph in memory
 *
 *      if (graph_memory_alloc(g, dev, &conf, e) < 0)
 *          return -1;
 *
 * makes the calls of the graph, allocates its regions and sets the address of
 * each tensor.  After a failure the graph can only be cleared.
 * graph_memory_size() does the same without a device: the regions get sizes,
 * but no data.
 */
int graph_memory_alloc(struct graph *, struct dev *, const struct graph_conf *,
                       struct err *);
void graph_memory_size(struct graph *, const struct graph_conf *,
                       const struct ops *);

#endif
