#ifndef TRACK_PAIRED_TABLE_H
#define TRACK_PAIRED_TABLE_H

#include "common/output/table.h"
#include "store/read/runs.h"
#include "track/runs/column.h"

/*
 * paired_table - which runs could be the best
 *
 * There is a row for each group of runs that have equal values in the columns
 * `by`, or for each run if there are none, the best first: the mean of the
 * metric in the last quarter of its steps, the difference from the best row,
 * and the interval of that difference.  The runs of two groups are paired by
 * their seeds, and two runs by their steps (common/stats/paired.h).
 *
 * All intervals hold together with 95 %, by Bonferroni's inequality, so the
 * rows that may be the best include the one that is, with this probability.
 */
int paired_table_fill(struct table *, const struct runs *, const char *metric,
                      const struct columns *by, bool high_is_good,
                      struct err *);

#endif
