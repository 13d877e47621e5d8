#ifndef TRAINER_MODEL_GRAPH_MEMORY_H
#define TRAINER_MODEL_GRAPH_MEMORY_H

#include "trainer/model/graph.h"

/*
 * graph_memory - where each tensor of a graph lies
 *
 *      if (graph_memory_alloc(g, dev, &conf, e) < 0)
 *          return -1;
 *
 * makes the calls of the graph, allocates its regions and gives each tensor
 * its address.  After a failure the graph can only be cleared.
 * graph_memory_size() does the same without a device: then the regions have
 * sizes, but no data.
 */
int graph_memory_alloc(struct graph *, struct dev *, const struct graph_conf *,
                       struct err *);
void graph_memory_size(struct graph *, const struct graph_conf *,
                       const struct ops *);

#endif
