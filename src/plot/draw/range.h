#ifndef PLOT_DRAW_RANGE_H
#define PLOT_DRAW_RANGE_H

#include "plot/draw/figure.h"

/*
 * range - the scales and ranges of a panel's axes, and of its inset
 *
 * A range that the user gave is kept.  The range of y holds all values, except
 * the start of curves that fall at first and then settle, and a few (less than
 * 1 in 200) that would leave a tenth of the height to the others: notes of
 * the figure tell of both.
 */
void range_choose(struct figure *, struct panel *);

#endif
