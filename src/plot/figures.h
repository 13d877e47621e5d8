#ifndef PLOT_FIGURES_H
#define PLOT_FIGURES_H

#include <stdbool.h>

#include "common/err.h"
#include "common/table.h"
#include "plot/draw/figure.h"
#include "plot/request.h"

/*
 * cmd - the figures that are more than one panel of curves
 *
 * Each makes a figure from the words of its command line, and fills the table
 * that is printed below it.  *going is set when a run still goes on.
 */
typedef int build_fn(struct figure *, struct table *summary, const char *kind,
                     char **words, int n, const struct request *, bool *going,
                     struct err *);

build_fn build_kind, build_metric, build_sweep, build_scaling, build_compare,
    build_dashboard, build_schedule;

/* Figures and tables of runs as one document, into req->output. */
int report_write(char **words, int n, const struct request *, struct err *);

/* runs_select(), and whether any of them goes on. */
struct runs;
int cmd_runs(struct runs *, char **words, int n, const struct request *,
             bool *going, struct err *);

#endif
