#pragma once

#include "common/output/table.h"
#include "track/runs/column.h"

/*
 * row_groups - one row for all runs with the same values in some columns
 *
 * A row has these values, the number of runs, and for each metric the mean, the
 * standard deviation (n - 1), the number of values, and half of the 95 %
 * confidence interval of the mean (Student's t).  Values that are missing or
 * not finite are left out, and a warning says if the runs of a group have
 * different last steps of the first metric.  `by` lists the columns as
 * column.h describes.
 */
int row_groups_fill(struct table *, const struct runs *, const char *by,
                    const struct columns *metrics, struct err *);

/*
 * Number the groups of rows whose cells, `columns` in each row, are equal, in
 * the order of their first rows.  group[] becomes the number of each row's
 * group; returns how many groups there are.
 */
size_t row_groups_number(const struct table_cell *, size_t rows, size_t columns,
                         size_t *group);
