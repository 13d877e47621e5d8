#ifndef PLOT_DRAW_LEGEND_PLACE_H
#define PLOT_DRAW_LEGEND_PLACE_H

#include "plot/draw/figure.h"

/*
 * legend_place - a place for a legend that covers nothing
 *
 * Up to six owners are named at the ends of their lines, in the margin on the
 * right.  The rest of the legend stands inside the axes where no curve, band or
 * label is; if there is no such place, the y axis is extended by up to a
 * quarter; if that is not enough, the legend stands outside.  The axes must
 * have their ranges and ticks.
 */
void legend_place(struct figure *, size_t panel);

#endif
