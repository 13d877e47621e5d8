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
 * gnuplot's cairo terminals draw a character that no font has as a box of many
 * times the figure's size.  fontconfig's fc-list is asked, once for each
 * character of the scripts and symbols that fonts often lack; where there is
 * none, all are taken to be there.
 */
struct glyphs {
    int n;
    struct {
        int32_t code;
        bool have;
    } known[64]; /* beyond these, each is asked for again */
};

bool glyphs_have(struct glyphs *, int32_t code);

#endif
