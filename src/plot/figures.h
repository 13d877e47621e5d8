#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/program.h"
#include "plot/draw/figure.h"
#include "plot/request.h"
#include "plot/run_set.h"
#include "store/read/runs.h"

/*
 * figures - from a command line to a figure
 *
 *      static const struct figure_type scaling = {
 *          build_scaling, 1, "runs are", true
 *      };
 *
 *      const struct cmd fig_scaling = {
 *          ...
 *          .run = figure_main,
 *          .arg = &scaling,
 *      };
 *
 * A figure of one panel of curves is a row of curve_kind.c, any other a file
 * fig_NAME.c, with the function that builds it and the command at the end.
 * figure_main() checks the options, builds the figure and draws it, repeatedly
 * with --watch.
 */

struct build {
    struct figure *figure;
    struct table *summary; /* printed below the figure; or NULL */
    const struct request *request;
    struct run_set set;
    char **words; /* of the command line */
    int n;
    struct runs runs;  /* what figure_runs() loaded */
    struct runs store; /* all runs, if figure_store() loaded them */
};

struct figure_type {
    int (*build)(struct build *, struct err *);
    int words;          /* how many the command line must have */
    const char *expect; /* those words, for a message: "a run is" */
    bool runs;          /* the last is runs, for which --sweep is enough */
};

/* The command of a figure, whose arg is its type. */
int figure_main(int argc, char **argv, struct err *);

/* Give up the right to connect, and to change other files than these, any of
 * which may be NULL, or what is in the folder `into` if that is not NULL, than
 * gtrack's cache and that of fonts.  Beside a file there may be more. */
void figure_confine(const char *const *file, int n, const char *into);

/* Load the runs that are named by the words from `first` on, or all runs if
 * there are none. */
int figure_runs(struct build *, int first, struct err *);

/* Keep only runs that have finished, if that was asked for; a note says what is
 * left out.  Returns how many are kept. */
size_t figure_keep_finished(struct build *, struct run_info *, size_t n);
/* Note how many of some runs that are combined have not finished. */
void figure_note_unfinished(struct figure *, const struct run_info *, size_t n);

/* Show a run as "RUN=TEXT" says, or in a colour of the palette ("RUN#=3").  How
 * many runs have this name; or -1. */
int figure_alias(struct run_set *, const char *item, struct err *);

/* Load all runs of the store, once. */
int figure_store(struct build *, struct err *);

/* ERR_MISSING if --skip or --xrange leaves nothing of all these panels. */
int figure_check(const struct request *, struct panel *const *, size_t n,
                 struct err *);

/* Add the row of a curve to the table below a figure: minimum, maximum and last
 * value of all points in the store, even if the figure skips, smooths or thins
 * them. */
void figure_summary_add(struct table *, const char *run, const char *metric,
                        enum unit, const double *y, const int64_t *step,
                        size_t n);

/* Draw the runs of the set as a kind of figure (fig_curves.c). */
struct curve_kind;
int fig_curves_draw(struct build *, const struct curve_kind *, struct err *);

/* Lay panels out in at most `cols` columns, with one legend, and make the
 * figure large enough for them (fig_dashboard.c). */
void fig_arrange(struct build *, size_t cols);

/* Draw a panel of --panels (fig_dashboard.c): a figure by its name, or
 * metrics with "+" between them; after "|", a metric with an axis on the right.
 * A "!" at the end makes the panel wide on a page. */
int fig_panel_draw(struct build *, const char *words, struct err *);

/* Draw the histograms of the only run under a name (fig_hist.c). */
int fig_hist_draw(struct build *, const char *name, struct err *);

/* Draw the best values of a metric over "PARAM" or "PARAM,PARAM" (fig_sweep.c);
 * the summary may be NULL. */
int fig_sweep_draw(struct build *, const char *params, const char *metric,
                   struct err *);

/* The commands that are not in curve_kind.c, in the order of the help text.
 * Their names begin with fig_, as gtrack, which draws figures too, has commands
 * of the same name. */
/* clang-format off */
#define FIGURE_CMDS(X) \
    X(metric) X(hist) X(hours) X(timeline) X(sweep) X(compare) \
    X(tasks) X(scaling) X(schedule) X(dashboard) X(redo) X(verify)
/* clang-format on */
#define FIGURE_DECLARE(name) extern const struct cmd fig_##name;
#define FIGURE_ADDRESS(name) &fig_##name,
FIGURE_CMDS(FIGURE_DECLARE)

/* Send a figure (output.c) to the file of -o, in the format of its name's
 * ending; to a gnuplot script (--script); as numbers (--data); otherwise to the
 * terminal.  The summary follows as a table. */
int output_check(const struct request *, struct err *);
int output_figure(struct figure *, const struct table *summary,
                  const struct request *, struct err *);

/* The program gplot, or only its commands that draw a figure: no others may
 * stand in the stamp of one, which may come from anybody. */
const struct program *plot_program(bool figures);
