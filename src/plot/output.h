#ifndef PLOT_OUTPUT_H
#define PLOT_OUTPUT_H

#include "common/err.h"
#include "common/output/table.h"
#include "plot/draw/figure.h"
#include "plot/request.h"

/*
 * output - where a figure goes
 *
 * To the file of -o, in the format of its name's ending; to a gnuplot script
 * (--script); as numbers (--data); otherwise to the terminal.  The summary
 * follows as a table.
 */
int output_check(const struct request *, struct err *);
int output_figure(struct figure *, const struct table *summary,
                  const struct request *, struct err *);

#endif
