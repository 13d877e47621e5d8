#ifndef TRACK_PUSH_MLFLOW_METRICS_H
#define TRACK_PUSH_MLFLOW_METRICS_H

#include "track/push/mlflow.h"

/*
 * mlflow_metrics - send the points that an MLflow server does not have
 *
 * The cursor has the number of points of each metric that were sent, and a
 * checksum of them.  If they have changed since, or an earlier push did not
 * finish, the server is asked for its points.
 */
int mlflow_send_metrics(struct mlflow *, struct err *);

#endif
