#ifndef TRACK_RUNS_AUTO_COLUMNS_H
#define TRACK_RUNS_AUTO_COLUMNS_H

#include "store/read/runs.h"
#include "track/runs/column.h"

/*
 * auto_columns - the parameters and metrics that tables show by default
 *
 * These are the parameters whose values differ between the runs, or that some
 * runs lack, but at most half of them; and the losses, accuracies and speeds
 * that runs are compared by, or the most common metrics if there are none of
 * these.  `all` selects every parameter or every metric.
 */
void auto_columns_params(struct columns *, const struct runs *, bool all);
void auto_columns_metrics(struct columns *, const struct runs *, bool all);

#endif
