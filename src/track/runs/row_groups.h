#ifndef TRACK_RUNS_ROW_GROUPS_H
#define TRACK_RUNS_ROW_GROUPS_H

#include "common/table.h"
#include "track/runs/column.h"

/*
 * group - one row for the runs that agree in some columns
 *
 * A row has the values they agree in, how many runs there are, and of each
 * metric the mean, the standard deviation (n - 1), the count, and half of the
 * 95 % confidence interval of the mean (Student's t).  Runs without a finite
 * value of a metric are not counted in it.
 */
void group_table(struct table *, const struct runs *, const struct columns *by,
                 const struct columns *metrics);

struct spread {
    size_t n;
    double mean, std, ci95;
};

struct spread spread_of(const double *x, size_t n);

#endif
