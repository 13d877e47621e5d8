#ifndef PLOT_DRAW_INSET_H
#define PLOT_DRAW_INSET_H

#include "plot/draw/figure.h"

/*
 * inset - a place for the window that magnifies a part of x
 *
 * It stands where no curve is and does not cover the part that it magnifies.
 * If there is no such place, the y axis is extended; if its end was asked for,
 * the window is in the upper right corner.
 */
void inset_place(struct figure *, size_t panel);

#endif
