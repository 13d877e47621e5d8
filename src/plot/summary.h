#ifndef PLOT_SUMMARY_H
#define PLOT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "common/output/table.h"
#include "plot/draw/figure.h"

/*
 * summary - the table below a figure: minima, maxima and last values
 *
 * A curve is a row.  The values are those of all points in the store, including
 * what is skipped, smoothed or thinned in the figure.
 */
void summary_init(struct table *);
void summary_add(struct table *, const char *run, const char *metric, enum unit,
                 const double *y, const int64_t *step, size_t n);

#endif
