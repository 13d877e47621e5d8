#ifndef PLOT_DRAW_TERM_H
#define PLOT_DRAW_TERM_H

#include <stdbool.h>

#include "common/buf.h"
#include "plot/draw/figure.h"

/*
 * term - a figure drawn with characters, by ourselves
 *
 * Needs no gnuplot and no display: lines are made of braille dots, two by four
 * in a character, or of ASCII where the locale has nothing better.  A panel
 * gets width columns and height rows, labels included; panels stand in the
 * figure's grid, as far as the width allows.
 */
struct term_look {
    int width, height; /* of the whole, in characters */
    bool colour, unicode;
    bool light; /* the terminal's ground is light */
};

void term_draw(const struct figure *, const struct term_look *, struct buf *);

/* The size of the terminal, from the window or COLUMNS and LINES. */
void term_size(int *width, int *height);

#endif
