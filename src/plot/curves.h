#ifndef PLOT_CURVES_H
#define PLOT_CURVES_H

#include "common/err.h"
#include "plot/draw/figure.h"
#include "plot/figures.h"
#include "plot/curve_kind.h"

/*
 * curves - draw the curves of a panel
 *
 * The runs of the set are drawn.  Runs without the metric are left out; if no
 * run has it, that is ERR_MISSING.  The values in the summary (minimum,
 * maximum, last) take in all points in the store, including points that are
 * skipped, smoothed or thinned in the figure.
 */
int curves_kind(struct build *, struct panel *, const struct curve_kind *,
                struct err *);
/* Draw metrics by name or pattern, separated by commas. */
int curves_metrics(struct build *, struct panel *, const char *names,
                   struct err *);

#endif
