#ifndef PLOT_OUTPUT_H
#define PLOT_OUTPUT_H

#include "common/err.h"
#include "common/table.h"
#include "plot/draw/figure.h"
#include "plot/request.h"

/*
 * output - where a figure goes
 *
 * Into the file of -o, in the form that its name ends in; into a gnuplot
 * script (--script); as numbers (--data); else onto the terminal.  After the
 * figure comes its summary, as a table.
 */
int output_check(const struct request *, struct err *);
int output_figure(struct figure *, const struct table *summary,
                  const struct request *, struct err *);

/* A file of -o, whole or not at all. */
int output_save(const char *path, const void *data, size_t n, struct err *);

/* How the name of -o ends: "png"; NULL when gplot does not know it. */
const char *output_form(const char *path);

/* A figure as a whole SVG element, for an HTML page. */
int output_svg(const struct figure *, const char *id, struct buf *,
               struct err *);

#endif
