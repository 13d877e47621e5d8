#ifndef PLOT_DRAW_GNUPLOT_TEXT_H
#define PLOT_DRAW_GNUPLOT_TEXT_H

#include "plot/draw/glyphs.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/layout.h"

/*
 * gnuplot_text - the parts of a gnuplot script
 *
 * gnuplot_page.c writes the terminal and the pages, gnuplot_panel.c what is
 * inside a panel.  No other file needs this.
 */
struct program {
    struct buf *b;
    const struct figure *fig;
    const struct gnuplot_form *form;
    const struct palette *pal;
    struct glyphs glyphs;
};

/* A string as gnuplot reads it, drawn as it is in every terminal. */
void gnuplot_quote(struct program *, const char *s);
void gnuplot_quote_n(struct program *, const char *s, size_t n);
/* A font so many times the figure's size, where there are fonts. */
void gnuplot_font(struct program *, double factor);
/* Text at a place of the page; rest is how it is aligned and turned. */
void gnuplot_label(struct program *, const char *text, double x, double y,
                   const char *rest, double size, uint32_t rgb);

/* All that a panel sets before it is plotted. */
void gnuplot_panel(struct program *, size_t panel);
void gnuplot_plot(struct program *, const struct panel *, size_t panel);
void gnuplot_inset(struct program *, const struct panel *, size_t panel,
                   const struct layout *);

#endif
