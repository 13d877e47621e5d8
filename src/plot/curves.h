#ifndef PLOT_CURVES_H
#define PLOT_CURVES_H

#include "common/err.h"
#include "common/table.h"
#include "plot/draw/figure.h"
#include "plot/kind.h"
#include "plot/request.h"
#include "store/load.h"

/*
 * curves - runs into a panel of curves
 *
 *      struct run_set set;
 *
 *      run_set_init(&set, runs.run, runs.n, &f.mem);
 *      if (curves_kind(&f, panel, kind, &set, req, &summary, e) < 0) ...
 *
 * The set gives every run its colour and its name in the legend, the same in
 * each panel of a figure.  What is told in the summary (least, greatest, last)
 * is of all points of the store, whatever is skipped, smoothed or thinned.
 */
struct run_set {
    const struct run_info *run;
    size_t n;
    int *slot;         /* colour of each */
    const char **name; /* its name; with its id if that is shared */
};

void run_set_init(struct run_set *, const struct run_info *, size_t n,
                  struct arena *);

/* Runs without the metric are passed over; none with it is ERR_MISSING. */
int curves_kind(struct figure *, struct panel *, const struct kind *,
                const struct run_set *, const struct request *, struct table *,
                struct err *);
/* The same for metrics by name or glob, separated by commas. */
int curves_metrics(struct figure *, struct panel *, const char *names,
                   const struct run_set *, const struct request *,
                   struct table *, struct err *);

#endif
