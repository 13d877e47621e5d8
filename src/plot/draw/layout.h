#pragma once

#include "plot/draw/figure.h"

/*
 * layout - the positions of a figure's parts on the page
 *
 * Boxes are in parts of the page, 0 to 1, and y grows upwards.  Margins are
 * computed from the lengths of the labels, with characters of 0.56 ems, so that
 * a figure looks the same in every format.
 */
struct layout {
    struct box plot;          /* inside the axes */
    struct box inset, window; /* inside the axes of the inset, and all of it */
    double y_label, y2_label, x_label; /* x, x, y of the labels */
    double bar;                        /* ems between the axes and a bar */
    double legend_x, legend_y;         /* the first entry of the legend */
    size_t legend_cols; /* columns of the legend; 0: entries flow */
    double legend_room; /* width of a legend below, in ems */
};

void layout_panel(struct layout *, const struct figure *, size_t panel);
/* The number of bytes of a text on its first line of at most `width` columns;
 * the text after them begins with the blank at which it was broken. */
size_t layout_line(const char *text, size_t width);
size_t layout_note_width(const struct figure *); /* characters a line */
size_t layout_notes(const struct figure *);      /* lines of notes */
double layout_left(const struct figure *);       /* x of titles and notes */
double layout_title(const struct figure *);      /* y of the title */
double layout_top(const struct figure *);        /* y where the panels begin */

/* Where an entry of the legend begins. */
void layout_legend(const struct layout *, const struct figure *,
                   const struct panel *, size_t entry, double *x, double *y);

/* Where an entry of the legend that all panels share begins; the number of its
 * line, or of all lines with entry SIZE_MAX. */
size_t layout_shared(const struct figure *, size_t entry, double *x, double *y);

/* So many ems as a part of the width, or of the height. */
double layout_em_x(const struct figure *, double ems);
double layout_em_y(const struct figure *, double ems);

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
