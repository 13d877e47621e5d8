#ifndef TRACK_PUSH_MLFLOW_ARTIFACTS_H
#define TRACK_PUSH_MLFLOW_ARTIFACTS_H

#include "track/push/mlflow.h"

/*
 * mlflow_artifacts - send the artifacts that an MLflow server does not have
 *
 * The cursor has the size and the time of each file that was sent.  A file that
 * the server refuses is added to `refused`, and the others are sent.
 */
int mlflow_send_artifacts(struct mlflow *, struct err *);

#endif
