#ifndef PLOT_OPTIONS_H
#define PLOT_OPTIONS_H

#include "common/opt.h"
#include "common/path.h"
#include "plot/request.h"

/*
 * options - the options of gplot, which fill one request
 *
 *      static const struct opt name_opts[] = {
 *          COMMON_OPTS, AXIS_OPTS, LOOK_OPTS, OUT_OPTS, { 0 }
 *      };
 *
 * The file of a figure has a table like this one; those of one panel of curves
 * share curve_opts.  request_parse() then checks the texts in plot_request.
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

#define LOOK_OPTS \
    { 0, "title", "text", OPT_STRING, &plot_request.title, \
      "write TEXT above the figure" }, \
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
    { 0, "term", "name", OPT_WORD, &plot_request.term, \
      "draw in the terminal by %s (default: auto)", option_terms }, \
    { 0, "watch", NULL, OPT_FLAG, &plot_request.watch, \
      "draw the figure again while a run is running" }, \
    { 0, "every", "time", OPT_SECS, &plot_request.every, \
      "with --watch, draw at this interval (default: 2s)" }

#define X_OPT \
    { 0, "x", "axis", OPT_WORD, &plot_request.x, \
      "draw against %s", option_axes }

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
      "smooth curves by ema:BETA, ma:POINTS or gauss:SIGMA, as in ema:0.98" }
/* clang-format on */

extern const struct opt curve_opts[], report_opts[];

#endif
