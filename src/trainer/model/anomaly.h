#ifndef TRAINER_MODEL_ANOMALY_H
#define TRAINER_MODEL_ANOMALY_H

#include "trainer/model/observe.h"

/*
 * anomaly - find the first result that is not finite
 *
 *      observe_train(g, anomaly_look, NULL, e)
 *
 * The first number of a result that is not finite ends the pass with
 * ERR_NONFINITE; the error names the tensor and the operation.
 */
observe_fn anomaly_look;

#endif
