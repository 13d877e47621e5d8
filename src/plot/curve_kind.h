#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/opt.h"
#include "plot/draw/figure.h"
#include "store/read/runs.h"

/*
 * curve_kind - the figures that are one panel of curves, as a table
 *
 * A new figure is a new row: its command, its y axis, and the metrics that it
 * draws, each with the names that gtrain and other programs give it.  In a line
 * with ranks, "system/rss_bytes" also stands for "system/3/rss_bytes".
 */
enum { KIND_LINES = 4, KIND_NAMES = 10 };

struct curve_kind_line {
    const char *label;             /* "validation" */
    const char *names[KIND_NAMES]; /* the first that a run has is drawn */
    enum style style;
    int dash;
    bool ranks; /* a curve for each rank */
    bool gpu;   /* means something else on a CPU, and is left out there */
    bool named; /* by the user: does not share the colour of its run */
    bool right; /* belongs to the right axis */
};

struct curve_kind {
    struct cmd cmd;            /* first: a pointer to it is one to the row */
    const char *title, *label; /* of the panel, of the y axis */
    enum unit unit;
    bool from_zero;
    bool high_is_good;
    bool planned; /* known before training: never smoothed */
    bool settles; /* high at first: see struct axis */
    bool apart;   /* a panel for each line */
    struct curve_kind_line line[KIND_LINES];
};

extern const struct curve_kind curve_kinds[]; /* ends with a NULL name */

/* The figure that the commands of this table draw (fig_curves.c). */
extern const struct figure_type fig_curves_type;

/* The y axis of a figure; k may be NULL, for an axis with just a label. */
void curve_kind_axis(const struct curve_kind *k, const char *label,
                     struct axis *);
const struct curve_kind *curve_kind_find(const char *name);
/* Has one of n runs a metric that the figure draws? */
bool curve_kind_has_metric(const struct curve_kind *, const struct run_info *,
                           size_t n);
/* The row that draws a metric, and its line; NULL for none. */
const struct curve_kind *curve_kind_of_metric(
    const char *key, const struct curve_kind_line **line);
/* The rank in "system/3/rss_bytes", or 0; plain gets the name without it. */
int curve_kind_rank(const char *key, char *plain, size_t size);
/* The metric of a line in a run, of rank 0; or NULL. */
const char *curve_kind_line_key(const struct run_info *,
                                const struct curve_kind_line *);
/* The metrics of a line in a run: one, or one for each rank. */
size_t curve_kind_line_keys(const struct run_info *,
                            const struct curve_kind_line *, const char **key,
                            size_t room);
/* Is a high value of this metric better than a low one?  True for accuracies
 * and rates; false for losses, errors, perplexities and times. */
bool curve_kind_high_is_good(const char *key);
/* Do two metrics belong on one axis?  They do if gplot knows that they have one
 * unit; of others, if their names differ in numbers only, or if they were named
 * without a pattern. */
bool curve_kind_share(const char *a, const char *b, bool named);
/* The run that has the best value of a metric; n if there is none. */
size_t curve_kind_best(const struct run_info *, size_t n,
                       const char *const *names);
/* The error that no run has a metric of the figure. */
int curve_kind_none(const struct curve_kind *, const struct run_info *,
                    size_t n, struct err *);
