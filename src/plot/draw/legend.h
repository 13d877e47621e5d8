#pragma once

#include "plot/draw/figure.h"

/*
 * legend - the entries of a legend, and their sizes in ems
 *
 * An entry is a piece of the line, a space and the label, in a font of 0.92 of
 * the figure's size.  Where several owners have several lines each, such as the
 * training and the validation loss of three runs, an entry for each colour and
 * one for each kind of line say the same as one for each curve.  Of more than
 * ten, the last entry says how many there are.
 */
#define LEGEND_LINE 1.35 /* height of a line */

/* Make the entries of a panel from the labels of its curves. */
void legend_entries(struct figure *, struct panel *);
/* Leave one more entry out and count it in the last one; false if only three
 * are left. */
bool legend_shorten(struct figure *, struct panel *);
/* Add the owners of a panel to the legend that all panels share. */
void legend_share(struct figure *, struct panel *);

/* Does an entry name this curve?  Two may have a colour, as by --color-by. */
bool legend_has(const struct panel *, const struct entry *,
                const struct curve *);
/* The first entry that is drawn in the legend of the panel. */
size_t legend_first(const struct panel *);
/* The width of the widest of some entries. */
double legend_width(const struct entry *, size_t n);
/* Entries one after the other, like words in lines: the line of one of them,
 * and its x.  With entry SIZE_MAX, the number of lines. */
size_t legend_flow(const struct entry *, size_t n, double room, size_t entry,
                   double *x);
