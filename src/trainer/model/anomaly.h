#ifndef TRAINER_MODEL_ANOMALY_H
#define TRAINER_MODEL_ANOMALY_H

#include "trainer/model/graph.h"

/*
 * anomaly - a training pass that looks at every result
 *
 * As graph_train(), but each operation's results are fetched and looked at;
 * the first that is not finite ends it with ERR_NONFINITE and names operation
 * and tensor.
 */
int anomaly_train(struct graph *, struct err *);

#endif
