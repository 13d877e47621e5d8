#pragma once

#include "plot/draw/gnuplot.h"
#include "plot/draw/layout.h"

/*
 * gnuplot_text - the parts of a gnuplot script
 *
 * gnuplot.c writes the terminal and the pages, gnuplot_panel.c a panel,
 * gnuplot_text.c its marks or its map, and strings.  No other file needs this.
 */

/* Whether fonts of this machine have a character, as far as it was asked. */
struct glyphs {
    int n;
    struct {
        int32_t code;
        bool have;
    } known[64]; /* for others, fc-list runs each time */
};

struct script {
    struct buf *b;
    const struct figure *fig;
    const struct gnuplot_form *form;
    const struct palette *pal;
    struct glyphs glyphs;
};

/* A string that gnuplot draws literally in every terminal. */
void gnuplot_quote(struct script *, const char *text);
/* A font of `factor` times the figure's size, where the terminal has fonts. */
void gnuplot_font(struct script *, double factor);
/* Text at a place on the page; rest says how it is aligned and rotated. */
void gnuplot_label(struct script *, const char *text, double x, double y,
                   const char *rest, double size, uint32_t rgb);

/* An entry of a legend. */
void gnuplot_entry(struct script *, const struct entry *, double x, double y);
/* The marks inside the axes. */
void gnuplot_marks(struct script *, const struct panel *);
/* The fields of a map, and the colours from the lowest value to the highest. */
void gnuplot_heat(struct script *, const struct panel *, const struct layout *);
/* The colours that stand for numbers. */
void gnuplot_ramp(struct script *, const struct panel *, const struct layout *);
/* A panel with its curves, legend, marks and inset. */
void gnuplot_panel(struct script *, size_t panel);
