#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/opt.h"
#include "plot/draw/figure.h"
#include "plot/smooth.h"

/*
 * request - what the command line asks for
 *
 * The option tables fill the first part with text as it was typed, and
 * request_parse() checks it and fills the second part.
 */
enum along {
    ALONG_STEP,
    ALONG_TOKENS,
    ALONG_TIME,
    ALONG_WALL,
    ALONG_GPUH,
    ALONG_FLOPS,
    ALONG_METRIC /* request.x */
};

enum show { SHOW_RESUME, SHOW_CHECKPOINT, SHOW_BEST, SHOW_SPIKE, SHOW_EVAL };

enum band { BAND_STD, BAND_SEM, BAND_CI95, BAND_MINMAX };

struct request {
    int columns; /* of pixels, for which an outline is enough; 0: all points */
    const char *root, *sweep, *output, *script;
    const char *smooth, *inset, *y2, *group_by, *color_by, *mark;
    const char *title, *size, *font, *xrange, *yrange, *panels;
    const char *panel_label; /* "a" */
    const char *x;           /* step, tokens ... or a metric; NULL: not given */
    enum legend legend;
    int term; /* a word */
    struct opt_list baseline, alias;
    int64_t skip;
    double every; /* seconds, with --watch; 0: not given */
    bool logx, logy, linx, liny, stitch, attempts, mono, dark, data, hash,
        watch, exact, traces, forecast, follow_links, finished, no_title,
        no_notes;

    enum along along;
    struct smooth how;
    unsigned marks; /* 1 << show for each word of --mark */
    enum band spread;
    double inset_lo, inset_hi;
    double x_lo, x_hi, y_lo, y_hi; /* NaN: not given */
    bool y_whole;                  /* --yrange all */
    double width, height;          /* points */
    char font_name[64];
    double font_size;
};

int request_parse(struct request *, struct err *);

/* Set the scales, ranges, inset and legend that were asked for. */
void request_axes(const struct request *, struct panel *);
/* Set the theme, the size and the font of the figure. */
void request_look(const struct request *, struct figure *);

/* Read n bytes as a bound of a range: "3", "2.5k", "80GiB", "2h"; NaN for an
 * open one, which is empty or "*". */
bool request_bound(const char *text, size_t n, double *out);

/*
 * The options of gplot, which fill one request.
 *
 *      static const struct opt name_opts[] = {
 *          COMMON_OPTS, AXIS_OPTS, LOOK_OPTS, OUT_OPTS, { 0 }
 *      };
 *
 * The file of a figure has a table like this one; those of one panel of curves
 * share curve_opts.
 */
extern struct request plot_request;

/* The words of --x, --band and --term, in the order of their values. */
extern const char *const option_axes[], *const option_bands[],
                                            *const option_terms[];

/* clang-format off */
#define COMMON_OPTS \
    { 'r', "root", "dir", OPT_STRING, &plot_request.root, \
      "use this store (default: GTRACK_ROOT or mlruns)" }, \
    { 'o', "output", "file", OPT_STRING, &plot_request.output, \
      "draw to FILE.{png,svg,pdf,eps,tex,tikz,html,txt,json}" }, \
    { 0, "follow-links", NULL, OPT_FLAG, &plot_request.follow_links, \
      "also read through symbolic links that leave a run" }

#define FINISHED_OPT \
    { 0, "finished", NULL, OPT_FLAG, &plot_request.finished, \
      "leave out runs that have not finished" }

#define SWEEP_OPT \
    { 0, "sweep", "name", OPT_STRING, &plot_request.sweep, \
      "select runs of this sweep or children of this run" }

#define LOOK_OPTS \
    { 0, "title", "text", OPT_STRING, &plot_request.title, \
      "write TEXT above the figure" }, \
    { 0, "no-title", NULL, OPT_FLAG, &plot_request.no_title, \
      "write nothing above the figure or its panels" }, \
    { 0, "no-notes", NULL, OPT_FLAG, &plot_request.no_notes, \
      "print the notes for a caption, instead of drawing them" }, \
    { 0, "panel-label", "letter", OPT_STRING, &plot_request.panel_label, \
      "write (LETTER) and the letters after it above the panels" }, \
    { 0, "alias", "run=text", OPT_LIST, &plot_request.alias, \
      "call a run TEXT in the legend; may be given many times" }, \
    { 0, "size", "wxh", OPT_STRING, &plot_request.size, \
      "set the size, as in 8.4cmx6cm; the units are cm, mm, in, pt and px" }, \
    { 0, "font", "name,size", OPT_STRING, &plot_request.font, \
      "set the font (default: Arial,9)" }, \
    { 0, "legend", "place", OPT_WORD, &plot_request.legend, \
      "put the legend at %s (default: auto)", figure_legends }, \
    { 0, "mono", NULL, OPT_FLAG, &plot_request.mono, \
      "use shades of grey and dashes, for print" }, \
    { 0, "dark", NULL, OPT_FLAG, &plot_request.dark, "use a dark background" }

#define OUT_OPTS \
    { 0, "script", "file", OPT_STRING, &plot_request.script, \
      "write a gnuplot script with its data to FILE" }, \
    { 0, "data", NULL, OPT_FLAG, &plot_request.data, \
      "print the numbers that are drawn instead of drawing" }, \
    { 0, "hash", NULL, OPT_FLAG, &plot_request.hash, \
      "print the SHA-256 of the numbers instead of drawing" }, \
    { 0, "term", "name", OPT_WORD, &plot_request.term, \
      "draw in the terminal by %s (default: auto)", option_terms }, \
    { 0, "watch", NULL, OPT_FLAG, &plot_request.watch, \
      "draw the figure again while a run is running" }, \
    { 0, "every", "time", OPT_SECS, &plot_request.every, \
      "with --watch, draw at this interval (default: 2s)" }

#define X_OPT \
    { 0, "x", "axis", OPT_STRING, &plot_request.x, \
      "draw against step, tokens, time, wall, gpuh, flops, or a metric" }

#define XRANGE_OPT \
    { 0, "xrange", "lo:hi", OPT_STRING, &plot_request.xrange, \
      "show only this range of x" }

#define AXIS_OPTS \
    XRANGE_OPT, \
    { 0, "yrange", "lo:hi", OPT_STRING, &plot_request.yrange, \
      "show only this range of y, or all values" }, \
    { 0, "logx", NULL, OPT_FLAG, &plot_request.logx, "make x logarithmic" }, \
    { 0, "logy", NULL, OPT_FLAG, &plot_request.logy, "make y logarithmic" }, \
    { 0, "linx", NULL, OPT_FLAG, &plot_request.linx, "make x linear" }, \
    { 0, "liny", NULL, OPT_FLAG, &plot_request.liny, "make y linear" }

#define SKIP_OPT \
    { 0, "skip", "steps", OPT_LONG, &plot_request.skip, \
      "leave out the first STEPS steps" }

#define BAND_OPT \
    { 0, "band", "spread", OPT_WORD, &plot_request.spread, \
      "let bands and bars show %s (default: std)", option_bands }

#define SMOOTH_OPT \
    { 0, "smooth", "method", OPT_STRING, &plot_request.smooth, \
      "smooth curves by auto, none, ema:BETA, ma:POINTS or gauss:SIGMA" }

#define CURVE_OPTS \
    COMMON_OPTS, \
    SWEEP_OPT, \
    FINISHED_OPT, \
    AXIS_OPTS, \
    X_OPT, \
    SMOOTH_OPT, \
    { 0, "inset", "lo:hi", OPT_STRING, &plot_request.inset, \
      "magnify this range of x in a window" }, \
    { 0, "y2", "metric", OPT_STRING, &plot_request.y2, \
      "also draw METRIC, with an axis on the right" }, \
    { 0, "group-by", "param", OPT_STRING, &plot_request.group_by, \
      "group runs with the same value of PARAM, and draw the mean of each " \
      "group with a band" }, \
    { 0, "color-by", "param", OPT_STRING, &plot_request.color_by, \
      "colour runs by their value of PARAM" }, \
    { 0, "traces", NULL, OPT_FLAG, &plot_request.traces, \
      "with --group-by, draw each run behind its mean" }, \
    { 0, "baseline", "name=value", OPT_LIST, &plot_request.baseline, \
      "draw a line at VALUE for comparison; may be given many times" }, \
    { 0, "mark", "events", OPT_STRING, &plot_request.mark, \
      "mark events, with commas between them: resume, checkpoint, best, " \
      "spike, eval" }, \
    { 0, "forecast", NULL, OPT_FLAG, &plot_request.forecast, \
      "draw the forecast of the rest of each curve, with its interval" }, \
    { 0, "stitch", NULL, OPT_FLAG, &plot_request.stitch, \
      "join the runs into one curve" }, \
    { 0, "attempts", NULL, OPT_FLAG, &plot_request.attempts, \
      "draw each attempt of a run as a curve of its own" }, \
    { 0, "exact", NULL, OPT_FLAG, &plot_request.exact, "draw every point" }, \
    SKIP_OPT, \
    BAND_OPT, \
    LOOK_OPTS, \
    OUT_OPTS
/* clang-format on */

extern const struct opt curve_opts[], report_opts[];
