#pragma once

#include "common/output/emit.h"
#include "plot/draw/figure.h"

/*
 * json - a finished figure as JSON, for a page that paints it
 *
 *      {"schema":"gplot.figure/1","title":null,"notes":[...],"panels":[...],
 *       "theme":{"light":{...},"dark":{...}}}
 *
 * The figure has decided everything: scales, ranges, ticks and their labels,
 * colours for a light and a dark background, dashes, which points are kept, and
 * the place of the legend.  Numbers are as in the store; to show
 * them, divide them by the "factor" of the axis.  A gap is null.
 */

/* Write the members of an object that the caller begins and ends. */
void json_figure(struct emit *, const struct figure *);
/* An axis, with so many levels of ticks for zooms. */
void json_axis(struct emit *, const char *key, const struct axis *, int finer);
/* The colour of a slot on a light and on a dark background. */
void json_colours(struct emit *, int slot);
