#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "common/sha256.h"
#include "plot/draw/axis.h"

/*
 * palette - the colours of a figure
 *
 * Eight colours for curves on a white background, eight on a dark one, and
 * greys for print.  Any two colours of a palette are distinct with normal
 * sight, protanopia, deuteranopia and tritanopia, and each has a contrast of at
 * least 3 to the background, as WCAG 2.1 (1.4.11) requires for graphics;
 * t/unit/plot.c computes both.  A slot is a number from 0; slots after the
 * eighth repeat the colours with the next dash pattern.
 *
 * Colours are 0xRRGGBB.
 */
enum theme { THEME_LIGHT, THEME_DARK, THEME_MONO, THEMES };

enum {
    PALETTE_COLOURS = 8,
    PALETTE_DASHES = 5,
    COLOUR_GREY = -1,
    COLOUR_NONE = -2,
    COLOUR_RAMP = 1000000
};

struct palette {
    const char *name;
    uint32_t ground, text, grid, grey;
    uint32_t curve[PALETTE_COLOURS];
};

const struct palette *palette_of(enum theme);
uint32_t palette_curve(enum theme, int slot);
/* The dash pattern that a curve has, or else that of its slot, 0 for solid;
 * greys use one for each slot. */
int palette_dash(enum theme, int slot, int dash);
/* A mixture of two colours: with part 0.25, a quarter is a. */
uint32_t palette_mix(uint32_t a, uint32_t b, double part);
/* A colour for 0 to 1, dark to light, for heat maps. */
uint32_t palette_ramp(enum theme, double part);
/* A slot that stands for a place on the ramp, 0 to 1.  The end that is hard to
 * see on the background is left out. */
int palette_ramp_slot(double part);
/* Black or white, whichever has more contrast to this colour. */
uint32_t palette_on(uint32_t colour);
/* WCAG's contrast ratio of two colours, 1..21. */
double palette_contrast(uint32_t a, uint32_t b);

/* A slot for a run that has no colour of its own, from a hash of its name. */
int palette_slot(const char *name);

/*
 * figure - what is drawn, as data
 *
 *      struct figure f = FIGURE_INIT;
 *      struct panel *p = figure_panel(&f, "loss");
 *      struct curve *c = panel_curve(&f, p, "run1", n);
 *
 *      c->x[i] = ...; c->y[i] = ...;
 *      figure_finish(&f);              chooses scales, ranges, ticks, legend
 *      ... gnuplot_script(), term_draw(), figure_data() ...
 *      figure_free(&f);
 *
 * A figure is a grid of panels; a panel has axes, curves and marks.  Nothing in
 * it depends on runs or on the program that draws it.  Numbers are as the store
 * has them (bytes, seconds); an axis has the unit in which they are shown.  The
 * text and the curves belong to the figure's arena.
 */

enum style {
    STYLE_LINE,
    STYLE_POINTS,
    STYLE_LINE_POINTS,
    STYLE_AREA, /* its band, filled, without a line: a part of a bar */
};

struct curve {
    const char *label; /* NULL: not in the legend */
    const char *owner; /* what its colour stands for: a run, a rank; or NULL */
    const char *value; /* what its colour stands for instead; or NULL */
    const char *line;  /* what its dashes stand for: "validation"; or NULL */
    const char *rank;  /* "rank 1" if its run has several; or NULL */
    const char *run;   /* for --data; "" for none */
    const char *id;    /* of the run, or NULL */
    size_t n;
    double *x, *y;   /* y is NaN where there is a gap */
    double *lo, *hi; /* a band or error bars, or NULL */
    enum style style;
    int colour;    /* slot of the palette, or COLOUR_GREY */
    int dash;      /* 0 is solid */
    size_t every;  /* of the points of a line, one of so many has a marker */
    bool best;     /* thick, in front of the others of many */
    bool thin;     /* one of many */
    bool unlisted; /* not in the legend, in spite of its label */
    bool faint;    /* behind all others */
    bool raw;      /* the values of the smoothed curve that follows */
    bool smoothed;
    bool right;    /* on the second y axis */
    bool crowd;    /* lo and hi are the range of each column of pixels */
    bool bars;     /* lo and hi are error bars, not a band */
    bool outlined; /* has the extremes of many more points */
};

enum mark_type {
    MARK_AT_X,   /* a vertical line at x */
    MARK_AT_Y,   /* a horizontal line at y: a baseline */
    MARK_AT_XY,  /* a circle at (x, y) */
    MARK_NAN,    /* a value at x that is not finite */
    MARK_ABOVE,  /* up to x, values are above the panel */
    MARK_BELOW,  /* at x, a value is below the panel */
    MARK_BEYOND, /* a baseline outside of the panel: its label at the edge */
};

struct mark {
    enum mark_type type;
    bool small;          /* a tick at the upper edge instead of a line */
    bool left;           /* the label of a line at the left */
    double x, y;         /* y is one of the left axis */
    const char *label;   /* NULL: none */
    const char *command; /* that tells more about it, or NULL */
    int colour;
};

/* A rectangle, in parts of what it is in; y grows upwards. */
struct box {
    double x0, y0, x1, y1;
};

/* A map of values over two parameters. */
struct heat {
    size_t nx, ny;
    const char **x_name, **y_name;
    double *value; /* row by row, the lowest first; NaN: no run */
    const char *label;
    double lo, hi;
    int digits;  /* after the point, of all values */
    size_t best; /* index of the best value */
    bool low_is_good;
};

/* Colours that stand for numbers. */
struct ramp {
    const char *label;
    double lo, hi;
    bool log;
};

enum legend {
    LEGEND_AUTO,
    LEGEND_NONE,
    LEGEND_TOP_RIGHT,
    LEGEND_TOP_LEFT,
    LEGEND_BOTTOM_RIGHT,
    LEGEND_BOTTOM_LEFT,
    LEGEND_RIGHT,
    LEGEND_BELOW,  /* outside */
    LEGEND_INSIDE, /* where there is room */
};

/* The words of all but LEGEND_INSIDE, which nobody asks for; ends with NULL. */
extern const char *const figure_legends[];

/* Where it is said which colour is whose. */
enum owners {
    OWNERS_LISTED,  /* in the legend */
    OWNERS_AT_ENDS, /* each at the end of its line */
    OWNERS_SHARED,  /* once for all panels, above them */
};

struct entry {
    const char *label;
    int colour, dash;
    enum style style;
    double end; /* the place of the label at the end of the line, 0 to 1 */
};

struct panel {
    const char *title;
    struct axis x, y, y2;
    bool has_y2;
    bool high_is_good; /* of the values on the y axis */
    enum legend legend;
    double legend_x,
        legend_y;       /* inside: 0 is left or below, 1 right or above */
    size_t legend_cols; /* inside */
    bool found;         /* inside, at a place that was free */
    enum owners owners;
    struct entry *entry; /* of the legend: owners, then lines */
    size_t n_entries, entry_room, n_owners;
    size_t n_hidden; /* entries left out, which the last one counts */
    struct curve *curve;
    size_t n_curves, curve_room;
    struct mark *mark;
    size_t n_marks, mark_room;
    int rows;                  /* of characters that the y axis needs; 0: any */
    const struct ramp *ramp;   /* of the curves' colours, or NULL */
    struct heat *heat;         /* instead of curves, or NULL */
    double inset_lo, inset_hi; /* a window on this part of x; NaN: none */
    struct axis inset_x, inset_y;
    struct box inset; /* with its tick labels, in parts of the axes */
};

/* Size, colours and font; lengths are in points (1/72 inch). */
struct look {
    enum theme theme;
    double width, height;
    double margin; /* kept free at the edges of the page */
    double font_size;
    const char *font;
    int columns;    /* pixels of the width, for thinning; 0: keep all points */
    bool bands;     /* can be drawn: they are transparent */
    bool captioned; /* a document has the notes, as a caption */
    bool plain;     /* characters: no raw values behind smoothed ones */
    int finer;      /* levels of ticks for zooms, in JSON */
    const char *whole; /* what shows all values of an axis; NULL: nothing */
};

/* Ends the note of a smoothed curve, if its raw values are drawn. */
#define RAW_BEHIND "; raw values are pale"

/* The number at a place of a ramp, 0 to 1. */
double ramp_value(const struct ramp *, double part);

struct figure {
    struct arena mem;
    const char *title; /* NULL: none */
    struct look look;
    size_t rows, cols; /* 0: one column of all panels */
    bool shared;       /* one legend says the colours of all panels */
    struct entry *entry;
    size_t n_entries, entry_room;
    struct panel **panel;
    size_t n_panels, panel_room;
    const char **note; /* sentences below the panels */
    size_t n_notes, note_room;
    size_t n_captions;  /* notes after these that are not drawn */
    size_t smooth_note; /* its place from 1 on, if curves are smoothed */
    double smooth_least, smooth_most;
    const char *stamp; /* a comment of the file in LaTeX; or NULL */
    const char **line; /* text above the panels, in a font of fixed width */
    size_t n_lines, line_room;
};

/* clang-format off */
#define FIGURE_INIT ((struct figure){ \
    .look = { .width = 454, .height = 284, .font_size = 9, .font = "Arial", \
              .columns = 1200, .bands = true, .whole = "--yrange all" } })
/* clang-format on */

/* 0 to 1 for the colour of a value; the best value is the lightest. */
double heat_part(const struct heat *, double value);
char *heat_text(char out[32], const struct heat *, double value);

struct panel *figure_panel(struct figure *, const char *title);
struct curve *panel_curve(struct figure *, struct panel *, const char *label,
                          size_t n);
/* A band or error bars of a curve: memory for lo and hi. */
void curve_band(struct figure *, struct curve *);
struct mark *panel_mark(struct panel *, enum mark_type, double x, double y);
/* Does the mark belong to a place on the y axis alone? */
bool mark_is_level(const struct mark *);
/* The order in which curves are drawn: raw ones first, the best one last. */
enum { CURVE_LEVELS = 3 };
int curve_level(const struct curve *);
/* Has the panel a map, or a curve in its range of x? */
bool panel_shows(const struct panel *);
/* The y of a line at x, NaN outside and in gaps.  *from is the point at which
 * to begin the search; it becomes the one for a larger x. */
double figure_between(const double *x, const double *y, size_t n, double at,
                      size_t *from);
const struct axis *curve_y(const struct panel *, const struct curve *);

/* Add a note, unless the figure has it already. */
void figure_note(struct figure *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Add a line of text above the panels. */
void figure_line(struct figure *, const char *text);
/* The width of a text in a wide sans-serif font, in ems. */
double figure_text_width(const char *);

/* Choose what was left open, note what is cut off, thin the curves. */
void figure_finish(struct figure *);
/* The numbers drawn, one point a line: panel, run, curve, x, y, low, high. */
struct buf;
void figure_data(const struct figure *, struct buf *);
/* The SHA-256 of the names, and of the numbers as they are in memory. */
void figure_hash(const struct figure *, char out[SHA256_TEXT]);
void figure_free(struct figure *);
