#ifndef PLOT_DRAW_THIN_H
#define PLOT_DRAW_THIN_H

#include "common/mem.h"
#include "plot/draw/figure.h"

/*
 * thin - drop points that cannot be seen
 *
 * Of a line, a column of pixels shows only the lowest and the highest point.
 * These are kept, in order, so that a spike of one step in a million stays; if
 * the column has few points, so are the first and the last.  A gap is kept if
 * nothing else is in its column.  Points outside the range of x are dropped,
 * except for the nearest on each side.  The new arrays belong to the arena.
 */
void thin_curve(struct curve *, const struct axis *x, int columns,
                struct arena *);
/* Of a line that has four points or more in each column, keep the mean of each
 * column, with a band from its lowest value to its highest; false for any other
 * curve. */
bool thin_crowd(struct curve *, const struct axis *, int columns,
                struct arena *);

#endif
