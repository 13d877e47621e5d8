#ifndef PLOT_DRAW_THIN_H
#define PLOT_DRAW_THIN_H

#include "common/mem.h"
#include "plot/draw/figure.h"

/*
 * thin - drop points that cannot be seen
 *
 * A column of pixels shows the least and the greatest of the points in it, and
 * nothing else of a line: these are kept, in order, so a spike of one step
 * among a million stays; of a column with few points the first and the last as
 * well.  A gap stays when a column holds
 * nothing else.  Points outside the range of x go, but for the nearest on each
 * side.  The numbers left belong to the arena.
 */
void thin_curve(struct curve *, const struct axis *x, int columns,
                struct arena *);

#endif
