#ifndef PLOT_SUMMARY_H
#define PLOT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "common/table.h"
#include "plot/draw/figure.h"

/*
 * summary - what is printed below a figure: least, greatest and last values
 *
 * One row a curve.  The values are those of the store, all of them, whatever
 * is skipped, smoothed or thinned.
 */
void summary_init(struct table *);
void summary_add(struct table *, const char *run, const char *metric, enum unit,
                 const double *y, const int64_t *step, size_t n);

#endif
