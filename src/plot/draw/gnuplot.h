#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "plot/draw/figure.h"

/*
 * gnuplot - a figure as a gnuplot script, and gnuplot run on it
 *
 *      const struct gnuplot_form *form = gnuplot_form("png");
 *
 *      figure_finish(&f);
 *      if (gnuplot_draw(&f, 1, form, &image, e) < 0) ...
 *
 * Only gnuplot*.c depend on gnuplot, and only gnuplot.c runs it.  A script
 * contains its data and needs no other file.  Strings are drawn literally:
 * markup is off, and characters special to TeX are escaped.  gnuplot must be
 * 5.2 or newer.  It is ERR_MISSING if gnuplot is not installed or lacks the
 * terminal of the form.
 */
struct gnuplot_form {
    const char *name;     /* how the names of its files end */
    const char *terminal; /* gnuplot's name for it */
    double scale;         /* units in a point */
    double raise;         /* lines by which to raise the x labels */
    bool pixels;          /* the size is in whole pixels */
    bool own_units;       /* font sizes are in its units, too */
    bool tex;             /* LaTeX reads the text */
    bool text;            /* made of characters: no thin lines, no fonts */
    bool cairo;           /* every character needs a font that has it */
    bool alpha;           /* lines can be transparent */
};

/* The size of a character in a figure made of them, whose font size is 1. */
#define TEXT_WIDTH  0.56
#define TEXT_HEIGHT 1.3

/* By name: png svg pdf eps tex tikz sixel dumb block; or NULL. */
const struct gnuplot_form *gnuplot_form(const char *name);

/* The script of some figures, one a page.  It writes to the file `output`, or
 * to standard output if that is NULL. */
void gnuplot_script(const struct figure *, size_t n,
                    const struct gnuplot_form *, const char *output,
                    struct buf *);

/* Run the script and append the image to a buffer. */
int gnuplot_draw(const struct figure *, size_t n, const struct gnuplot_form *,
                 struct buf *image, struct err *);

/* LaTeX and a picture: FILE.tex includes FILE-inc.pdf. */
int gnuplot_draw_tex(const struct figure *, const char *path, struct err *);

/* Is there a gnuplot?  version gets "5.4". */
bool gnuplot_found(char version[16]);

/*
 * html - a page that needs no server and no other file
 */

/* A page with an SVG file of gnuplot's: without the XML header. */
void html_page(struct buf *, const char *title, bool dark, const char *svg);
