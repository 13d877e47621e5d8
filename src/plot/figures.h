#ifndef PLOT_FIGURES_H
#define PLOT_FIGURES_H

#include <stdbool.h>

#include "common/err.h"
#include "common/opt.h"
#include "common/table.h"
#include "plot/draw/figure.h"
#include "plot/request.h"
#include "store/load.h"

/*
 * figures - from a command line to a figure
 *
 *      static int sweep_main(int argc, char **argv, struct err *e)
 *      {
 *          return figure_main(build_sweep, argc, argv, e);
 *      }
 *
 * A figure of one panel of curves is a row of kind.c.  Any other is a file
 * fig_NAME.c, with its function that builds it and its command at the end.
 * figure_main() checks the options, builds the figure and draws it, again and
 * again with --watch.
 */
struct build {
    struct figure *figure;
    struct table *summary; /* printed below the figure */
    const struct request *request;
    char **words; /* of the command line */
    int n;
    bool running; /* set when one of the runs is still being written */
};

typedef int build_fn(struct build *, struct err *);

int figure_main(build_fn *, int argc, char **argv, struct err *);

/* The runs that the words from `first` on name, all of them for none. */
int figure_runs(struct runs *, struct build *, int first, struct err *);

/* The figures that are more than one panel of curves, and the report, in the
 * order of the help text. */
#define FIGURE_CMDS(X)                                                         \
    X(metric) X(sweep) X(compare) X(scaling) X(schedule) X(dashboard)          \
    X(report)
FIGURE_CMDS(CMD_DECLARE)

#endif
