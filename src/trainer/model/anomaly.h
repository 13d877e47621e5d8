#ifndef TRAINER_MODEL_ANOMALY_H
#define TRAINER_MODEL_ANOMALY_H

#include "trainer/model/graph.h"

/*
 * anomaly - a training pass that checks every result
 *
 * As graph_run_train(), but the results of each operation are checked on the
 * host.  The first one that is not finite ends the pass with ERR_NONFINITE, and
 * the error names the tensor and the operation.
 */
int anomaly_train(struct graph *, struct err *);

#endif
