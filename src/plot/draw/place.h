#ifndef PLOT_DRAW_PLACE_H
#define PLOT_DRAW_PLACE_H

#include "plot/draw/figure.h"

/*
 * place - find room for the legend and the inset where they cover nothing
 *
 * Up to six owners are named at the ends of their lines, in the margin on the
 * right.  The rest of the legend stands inside the axes where no curve, band or
 * label is; if there is no such place, the y axis is extended by up to a
 * quarter; if that is not enough, the legend stands outside.  The axes must
 * have their ranges and ticks.
 */
void place_legend(struct figure *, size_t panel);
/* The inset does not cover the part of x that it magnifies either.  If the end
 * of the y axis was asked for, the inset is in the upper right corner. */
void place_inset(struct figure *, size_t panel);

#endif
