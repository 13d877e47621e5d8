#ifndef PLOT_CURVE_GROUPS_H
#define PLOT_CURVE_GROUPS_H

#include "plot/curves.h"

/*
 * group - runs that share a parameter's value as one curve with a band
 *
 * The curve is the mean over the runs of a group, at every x that any of them
 * has (2,000 evenly spaced ones when there are more), by linear interpolation;
 * a run counts where it has points.  The band is one standard deviation,
 * the standard error, the 95% interval of Student's t, or least to greatest.
 */
int curves_group(struct figure *, struct panel *, const struct kind_line *,
                 bool lines_named, const struct run_set *,
                 const struct request *, struct table *summary, struct err *);

/* Mean and the two ends of the band of some values; NaN bounds for one. */
void group_spread(enum band, const double *v, size_t n, double *mean,
                  double *lo, double *hi);

/* The value of a parameter, a tag or, as "name", the run's own name; with
 * "seed" for any section's seed when there is no such key. */
const char *group_value(const struct run_info *, const char *param);

#endif
