#ifndef PLOT_DRAW_GNUPLOT_H
#define PLOT_DRAW_GNUPLOT_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "plot/draw/figure.h"
#include "plot/draw/layout.h"

/*
 * gnuplot - a figure as a gnuplot script, and gnuplot run on it
 *
 *      const struct gnuplot_form *form = gnuplot_form("png");
 *
 *      figure_finish(&f);
 *      if (gnuplot_draw(&f, 1, form, &image, e) < 0) ...
 *
 * Only gnuplot*.c know gnuplot, and only gnuplot.c runs it.  The script text
 * holds its data and needs no other file.  Every string is drawn as it is:
 * markup is off, and what TeX would read is escaped.  gnuplot must be 5.2 or
 * newer; a missing gnuplot is ERR_MISSING, and so is one without the terminal
 * that the form needs.
 */
struct gnuplot_form {
    const char *name;     /* as a file's name ends */
    const char *terminal; /* what gnuplot calls it */
    double scale;         /* its units to a point */
    bool pixels;          /* the size is whole pixels */
    bool own_units;       /* fonts too are measured in its units */
    bool tex;             /* LaTeX reads the text */
    bool text;            /* characters: no thin lines, no fonts */
    bool cairo;           /* it needs a font for every character */
};

/* A figure for characters has a font of size 1, and this size a character. */
#define TEXT_WIDTH  0.56
#define TEXT_HEIGHT 1.3

/* By name: png svg pdf eps tex tikz sixel dumb block; or NULL. */
const struct gnuplot_form *gnuplot_form(const char *name);

/* The script of some figures, each a page.  output is the file it writes when
 * it is run by hand, or NULL for standard output. */
void gnuplot_text(const struct figure *, size_t n, const struct gnuplot_form *,
                  const char *output, struct buf *);

/* Run it; what gnuplot wrote is appended to image. */
int gnuplot_draw(const struct figure *, size_t n, const struct gnuplot_form *,
                 struct buf *image, struct err *);

/* LaTeX with the picture beside it: FILE.tex includes FILE-inc.pdf. */
int gnuplot_draw_tex(const struct figure *, const char *path, struct err *);

/* Is there a gnuplot?  version gets "5.4". */
bool gnuplot_found(char version[16]);

#endif
