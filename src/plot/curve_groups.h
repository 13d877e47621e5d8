#ifndef PLOT_CURVE_GROUPS_H
#define PLOT_CURVE_GROUPS_H

#include "plot/figures.h"
#include "plot/curve_kind.h"

/*
 * curve_groups - draw runs with the same value of a parameter as one curve with
 * a band
 *
 * The curve is the mean over the runs of a group at every x that one of them
 * has (at most 2,000, then evenly spaced), by linear interpolation; a run
 * counts from its first point to its last.  The band is one standard deviation,
 * the standard error, the 95% interval of Student's t, or minimum to maximum.
 */
int curves_group(struct build *, struct panel *, const struct curve_kind_line *,
                 bool lines_named, struct err *);

#endif
