#ifndef TRACK_RUNS_AUTO_COLUMNS_H
#define TRACK_RUNS_AUTO_COLUMNS_H

#include "store/load.h"
#include "track/runs/column.h"

/*
 * choose - which parameters and metrics are worth a column
 *
 * Parameters: those whose values differ between the runs, or all of them.
 * Metrics: those that people compare runs by (losses, accuracies, speed), or
 * the most common ones if there are none of these, or all.
 */
void choose_params(struct columns *, const struct runs *, bool all);
void choose_metrics(struct columns *, const struct runs *, bool all);

#endif
