#ifndef TRAINER_MODEL_ANOMALY_H
#define TRAINER_MODEL_ANOMALY_H

#include "trainer/model/graph.h"

/*
 * anomaly - a training pass that checks every result
 *
 * Does what graph_run_train() does, but checks the results of each operation on
 * the host.  The first one that is not finite ends the pass with ERR_NONFINITE;
 * the error names the tensor and the operation.
 */
int anomaly_train(struct graph *, struct err *);

#endif
