#ifndef PLOT_DRAW_FIGURE_H
#define PLOT_DRAW_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"
#include "plot/draw/palette.h"

/*
 * figure - what is drawn, as data
 *
 *      struct figure f = FIGURE_INIT;
 *      struct panel *p = figure_panel(&f, "loss");
 *      struct curve *c = panel_curve(&f, p, "run1", n);
 *
 *      c->x[i] = ...; c->y[i] = ...;
 *      figure_finish(&f);              chooses scales, ranges, ticks, legend
 *      ... gnuplot_text(), term_draw(), figure_data() ...
 *      figure_free(&f);
 *
 * A figure is a grid of panels; a panel has axes, curves and marks.  It knows
 * nothing of runs, nor of how it is going to be drawn.  All numbers are those
 * of the store (bytes, seconds); an axis knows the unit they are shown in.  All
 * memory belongs to the figure's arena.
 */

/* What the numbers of an axis are, hence how its ticks are written. */
enum unit {
    UNIT_NONE,     /* 3.25, 6e-4 */
    UNIT_COUNT,    /* 500, 20k, 3B */
    UNIT_BYTES,    /* in KiB, MiB or GiB */
    UNIT_SECONDS,  /* in s, min, h or d */
    UNIT_PERCENT,  /* 0..100, as the store has it */
    UNIT_FRACTION, /* 0..1, shown as percent */
    UNIT_NAMED,    /* ticks are given: names, not numbers */
};

enum scale { SCALE_AUTO, SCALE_LINEAR, SCALE_LOG };

struct tick {
    double at;
    const char *label; /* "" for a small one between */
};

struct axis {
    const char *label; /* "memory"; the unit is added when finished */
    const char *shown; /* "memory (GiB)" */
    enum unit unit;
    enum scale scale;
    bool from_zero; /* begin at zero when linear */
    double lo, hi;  /* NaN: to be chosen */
    double margin;  /* part of the range kept free at both ends */
    double factor;  /* numbers shown = numbers / factor */
    struct tick *tick;
    size_t n_ticks, tick_room;
};

enum style { STYLE_LINE, STYLE_POINTS, STYLE_LINE_POINTS, STYLE_STEPS };

struct curve {
    const char *label; /* NULL: not in the legend */
    const char *run;   /* for --data; "" for none */
    size_t n;
    double *x, *y;   /* y is NaN where there is a gap */
    double *lo, *hi; /* a band or error bars, or NULL */
    enum style style;
    int colour;   /* slot of the palette, or COLOUR_GREY */
    int dash;     /* 0 is solid */
    double width; /* in points */
    bool faint;   /* mixed with the ground: raw behind smooth */
    bool right;   /* on the second y axis */
    bool bars;    /* lo and hi are error bars, no band */
};

enum mark_type {
    MARK_AT_X,  /* across the panel at x */
    MARK_AT_Y,  /* along the panel at y: a baseline */
    MARK_AT_XY, /* at (x, y) */
    MARK_NAN,   /* a value that is no number, at x */
};

struct mark {
    enum mark_type type;
    bool small; /* a tick at the edge, no line across */
    bool left;  /* a level's label stands at the left,
                       a point's beside it */
    double x, y;
    const char *label; /* NULL: none */
    int colour;
    bool right;
};

/* A map of values over two parameters. */
struct heat {
    size_t nx, ny;
    const char **x_name, **y_name;
    double *value; /* row by row from below; NaN: no run */
    const char *label;
    double lo, hi;
    size_t best; /* index of the best value */
    bool low_is_good;
};

enum legend {
    LEGEND_AUTO,
    LEGEND_NONE,
    LEGEND_TOP_RIGHT,
    LEGEND_TOP_LEFT,
    LEGEND_BOTTOM_RIGHT,
    LEGEND_BOTTOM_LEFT,
    LEGEND_RIGHT,
    LEGEND_BELOW, /* outside */
};

struct panel {
    const char *title;
    struct axis x, y, y2;
    bool has_y2;
    enum legend legend;
    struct curve *curve;
    size_t n_curves, curve_room;
    struct mark *mark;
    size_t n_marks, mark_room;
    struct heat *heat;         /* instead of curves, or NULL */
    double inset_lo, inset_hi; /* a window on this part of x; NaN: none */
    struct axis inset_x, inset_y;
};

struct note {
    const char *text;
};

/* How big and in what dress; lengths in points (1/72 inch). */
struct look {
    enum theme theme;
    double width, height;
    double margin; /* of the page, kept free */
    double font_size;
    const char *font;
    int columns; /* pixels, for thinning; 0: keep all points */
};

struct figure {
    struct arena mem;
    const char *title; /* NULL: none */
    struct look look;
    size_t rows, cols; /* 0: as many as there are panels, below */
    struct panel **panel;
    size_t n_panels, panel_room;
    struct note *note; /* said below the figure */
    size_t n_notes, note_room;
    const char **line; /* text of its own, above, in a fixed width */
    size_t n_lines, line_room;
};

/* clang-format off */
#define FIGURE_INIT                                                            \
    { .mem = ARENA_INIT, .look = { .width = 454, .height = 284,                \
      .font_size = 9, .font = "Arial", .columns = 1200 } }
/* clang-format on */

struct panel *figure_panel(struct figure *, const char *title);
struct curve *panel_curve(struct figure *, struct panel *, const char *label,
                          size_t n);
struct mark *panel_mark(struct figure *, struct panel *, enum mark_type,
                        double x, double y);
/* Say something below the figure; what was said already is not repeated. */
void figure_note(struct figure *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of text above the panels. */
void figure_line(struct figure *, const char *text);

/* Choose what was left open, note what is cut, thin the curves. */
void figure_finish(struct figure *);
/* The numbers drawn, a line a point: panel, curve, x, y, low, high. */
struct buf;
void figure_data(const struct figure *, struct buf *);
void figure_free(struct figure *);

#endif
