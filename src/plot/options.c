/*
 * options - the option tables of gplot, which fill one request
 */
#include "config.h"
#include "plot/options.h"

#include "common/path.h"

struct request plot_request = { .x = -1, .legend = -1, .every = 2 };

static const char *const x_words[] = {
    [ALONG_STEP] = "step", [ALONG_TOKENS] = "tokens", [ALONG_TIME] = "time",
    [ALONG_WALL] = "wall", [ALONG_GPUH] = "gpuh",     [ALONG_FLOPS] = "flops",
    NULL
};

static const char *const band_words[] = {
    [BAND_STD] = "std",
    [BAND_SEM] = "sem",
    [BAND_CI95] = "ci95",
    [BAND_MINMAX] = "minmax",
    NULL
};

const char *const term_words[] = {
    "auto", "own", "dumb", "block", "sixel", "kitty", NULL
};

/* clang-format off */
#define COMMON_OPTS \
    { 'r', "root", "dir", OPT_STRING, &plot_request.root, \
      "use this store (default: GTRACK_ROOT or mlruns)" }, \
    { 'o', "output", "file", OPT_STRING, &plot_request.output, \
      "draw to FILE.{png,svg,pdf,eps,tex,tikz,html,txt,json}" }, \
    { 0, "follow-links", NULL, OPT_FLAG, &path_follow_links, \
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
      "draw in the terminal by %s (default: auto)", term_words }, \
    { 0, "watch", NULL, OPT_FLAG, &plot_request.watch, \
      "draw the figure again while a run is running" }, \
    { 0, "every", "time", OPT_SECS, &plot_request.every, \
      "with --watch, draw at this interval (default: 2s)" }

#define X_OPT \
    { 0, "x", "axis", OPT_WORD, &plot_request.x, \
      "draw against %s", x_words }

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
      "let bands and bars show %s (default: std)", band_words }

#define SMOOTH_OPT \
    { 0, "smooth", "method", OPT_STRING, &plot_request.smooth, \
      "smooth curves by ema:BETA, ma:POINTS or gauss:SIGMA, as in ema:0.98" }

#define REPORT_OPTS \
    { 0, "baseline", "name=value", OPT_LIST, &plot_request.baseline, \
      "draw a line at VALUE in the figure of HellaSwag; may be given many " \
      "times" }

#define CURVE_OPTS \
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
    { 0, "exact", NULL, OPT_FLAG, &plot_request.exact, \
      "draw every point" }

const struct opt curve_opts[] = {
    COMMON_OPTS, AXIS_OPTS, X_OPT, SMOOTH_OPT, CURVE_OPTS, SKIP_OPT, BAND_OPT,
    LOOK_OPTS, OUT_OPTS, { 0 }
};
const struct opt sweep_opts[] = {
    COMMON_OPTS, AXIS_OPTS, BAND_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};
const struct opt scaling_opts[] = {
    COMMON_OPTS, AXIS_OPTS, X_OPT, SKIP_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};
const struct opt hist_opts[] = { COMMON_OPTS, LOOK_OPTS, OUT_OPTS, { 0 } };
const struct opt hours_opts[] = {
    COMMON_OPTS, AXIS_OPTS, LOOK_OPTS, OUT_OPTS, { 0 }
};
const struct opt timeline_opts[] = {
    COMMON_OPTS, XRANGE_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};
const struct opt schedule_opts[] = {
    COMMON_OPTS, AXIS_OPTS, SKIP_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};
const struct opt report_opts[] = {
    COMMON_OPTS, X_OPT, SKIP_OPT, SMOOTH_OPT, REPORT_OPTS, LOOK_OPTS, { 0 }
};
/* clang-format on */
