#ifndef PLOT_CURVE_GROUPS_H
#define PLOT_CURVE_GROUPS_H

#include "plot/curves.h"

/*
 * group - draw runs with the same value of a parameter as one curve with a band
 *
 * The curve is the mean over the runs of a group at every x that one of them
 * has (at most 2,000, then evenly spaced), by linear interpolation; a run
 * counts from its first point to its last.  The band is one standard deviation,
 * the standard error, the 95% interval of Student's t, or minimum to maximum.
 */
int curves_group(struct build *, struct panel *, const struct kind_line *,
                 bool lines_named, struct err *);

/* The mean of some values and the ends of the band, which for a single value
 * are equal to it. */
void group_spread(enum band, const double *v, size_t n, double *mean,
                  double *lo, double *hi);

/* What a band or bars show, in a sentence. */
const char *group_band(enum band);

/* The value of a parameter or a tag, or of "name", the run's own name; "seed"
 * stands for a seed in any section if nothing has just this name. */
const char *group_value(const struct run_info *, const char *param);

#endif
