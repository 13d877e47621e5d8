#ifndef PLOT_KIND_H
#define PLOT_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "common/opt.h"
#include "plot/draw/figure.h"
#include "store/load.h"

/*
 * kind - the figures that are one panel of curves, as a table
 *
 * To add a figure is to add a row: its command, what its axis shows, and the
 * metrics it draws, each under the names that this suite and others give them.
 * A name "system/rss_bytes" stands for every rank: "system/3/rss_bytes" too.
 */
enum { KIND_LINES = 4, KIND_NAMES = 10 };

struct kind_line {
    const char *label;             /* "validation" */
    const char *names[KIND_NAMES]; /* the first there is, is drawn */
    enum style style;
    int dash;
    bool ranks; /* one curve a rank */
};

struct kind {
    struct cmd cmd;            /* first: the command leads to its row */
    const char *title, *label; /* of the panel, of its y axis */
    enum unit unit;
    bool from_zero;
    bool high_is_good;
    bool planned; /* set, not measured: never smoothed */
    struct kind_line line[KIND_LINES];
};

extern const struct kind kinds[]; /* ends with a NULL name */

/* The function of the commands of this table (fig_curves.c). */
int kind_main(int argc, char **argv, struct err *);

const struct kind *kind_find(const char *name);
/* The row that draws this metric, and its line; NULL when none does. */
const struct kind *kind_of_metric(const char *key,
                                  const struct kind_line **line);
/* The rank in "system/3/rss_bytes", 0 for none; plain gets the key without. */
int kind_rank(const char *key, char *plain, size_t size);
/* Is a high value of this metric better than a low one?  Losses, errors,
 * perplexities and times are best low; accuracies and rates high. */
bool kind_high_is_good(const char *key);

#endif
