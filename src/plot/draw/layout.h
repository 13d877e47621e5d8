#ifndef PLOT_DRAW_LAYOUT_H
#define PLOT_DRAW_LAYOUT_H

#include "plot/draw/figure.h"

/*
 * layout - where things stand on the page
 *
 * Boxes are parts of the page, 0..1, y upwards.  Margins are reckoned from the
 * lengths of the labels, so that every terminal gets the same picture; text is
 * taken to be 0.56 of its size wide.
 */
struct box {
    double x0, y0, x1, y1;
};

struct layout {
    struct box cell; /* all that belongs to the panel */
    struct box plot; /* inside the axes */
    struct box inset;
    double y_label, y2_label, x_label; /* x, x, y of the labels */
    double legend_x, legend_y;         /* its upper left corner, when outside */
    size_t legend_cols;                /* columns of a legend below; 0: words
                                        * in lines */
    double legend_room;                /* ems that one has */
};

void layout_panel(struct layout *, const struct figure *, size_t panel);
/* One line of the notes under the figure: y of its base; NaN past the last. */
size_t layout_note_width(const struct figure *); /* characters a line */
size_t layout_notes(const struct figure *);      /* lines */
double layout_left(const struct figure *);       /* x of titles and notes */
double layout_title(const struct figure *);      /* y of the title */
double layout_top(const struct figure *);        /* y where the panels begin */
/* Where the line of an entry of the legend begins. */
void layout_legend(const struct layout *, const struct figure *,
                   const struct panel *, size_t entry, double *x, double *y);
double layout_em_x(const struct figure *, double ems);
double layout_em_y(const struct figure *, double ems);

#endif
