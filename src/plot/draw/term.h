#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "plot/draw/figure.h"

/*
 * term - draw a figure with characters, without gnuplot
 *
 * Lines are made of braille dots, two by four in a character, or of ASCII
 * characters if the locale has no others.  Panels are in the figure's grid;
 * notes add lines below it.
 */
struct term_look {
    int width, height; /* of the whole, in characters */
    bool colour, unicode;
    bool light; /* the terminal has a light background */
};

void term_draw(const struct figure *, const struct term_look *, struct buf *);
