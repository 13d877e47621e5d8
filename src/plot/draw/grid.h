#ifndef PLOT_DRAW_GRID_H
#define PLOT_DRAW_GRID_H

#include <stdbool.h>

#include "plot/draw/figure.h"
#include "plot/draw/layout.h"

/*
 * grid - the space inside the axes as cells, which are used or free
 *
 *      grid_fill(&g, f, p, &layout.plot);
 *      if (grid_is_free(&g, x, y, w, h)) ...
 *
 * Curves, bands, marks with their labels, and the inset need cells.
 */
enum { GRID_X = 96, GRID_Y = 72 };

struct grid {
    bool used[GRID_Y][GRID_X];
    double em_x, em_y; /* parts of the width, of the height */
};

void grid_fill(struct grid *, const struct figure *, const struct panel *,
               const struct box *plot);
/* Mark a box as used; the places are 0 to 1. */
void grid_box(struct grid *, double x0, double y0, double x1, double y1);
/* Are w x h cells free, of which (x, y) is the lower left one? */
bool grid_is_free(const struct grid *, int x, int y, int w, int h);

#endif
