#pragma once

#include "common/mem.h"
#include "plot/draw/figure.h"

/*
 * figure_finish - the steps by which figure_finish() completes a figure
 *
 * range.c chooses the axes, place.c finds room for the legend and the inset
 * where they cover nothing.
 */

/* Choose the scales and ranges of a panel's axes, and of its inset.  A range
 * that the user gave is kept.  The range of y holds all values, except the
 * start of curves that fall at first and then settle, and a few (less than 1 in
 * 200) that would leave a tenth of the height to the others: notes of the
 * figure tell of both. */
void range_choose(struct figure *, struct panel *);

/* Up to six owners are named at the ends of their lines, in the margin on the
 * right.  The rest of the legend stands inside the axes where no curve, band or
 * label is; if there is no such place, the y axis is extended by up to a
 * quarter; if that is not enough, the legend stands outside.  The axes must
 * have their ranges and ticks. */
void place_legend(struct figure *, size_t panel);
/* The inset does not cover the part of x that it magnifies either.  If the end
 * of the y axis was asked for, the inset is in the upper right corner. */
void place_inset(struct figure *, size_t panel);

/* Of a line, a column of pixels shows only the lowest and the highest point.
 * These are kept, in order, so that a spike of one step in a million stays; if
 * the column has few points, so are the first and the last.  A gap is kept if
 * nothing else is in its column.  Points outside the range of x are dropped,
 * except for the nearest on each side.  The new arrays belong to the arena. */
void thin_curve(struct curve *, const struct axis *x, int columns,
                struct arena *);
/* Of a line that has four points or more in each column, keep the mean of each
 * column, with a band from its lowest value to its highest; false for any other
 * curve. */
bool thin_crowd(struct curve *, const struct axis *, int columns,
                struct arena *);
