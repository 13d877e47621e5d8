#ifndef PLOT_DRAW_GLYPHS_H
#define PLOT_DRAW_GLYPHS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * glyphs - can a font of this machine draw a character?
 *
 *      struct glyphs g = { 0 };
 *
 *      if (!glyphs_have(&g, code))
 *          code = '?';
 *
 * If no font has a character, gnuplot's cairo terminals draw a box many times
 * the size of the figure.  fontconfig's fc-list is run once for each character
 * of the scripts and symbols that fonts often lack; without fc-list, fonts are
 * assumed to have every character.
 */
struct glyphs {
    int n;
    struct {
        int32_t code;
        bool have;
    } known[64]; /* for others, fc-list runs each time */
};

bool glyphs_have(struct glyphs *, int32_t code);

#endif
