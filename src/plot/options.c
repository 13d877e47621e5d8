#include "config.h"
#include "plot/options.h"

struct request plot_request = { .x = -1, .legend = -1, .every = 2 };

const char *const option_axes[] = { [ALONG_STEP] = "step",
                                    [ALONG_TOKENS] = "tokens",
                                    [ALONG_TIME] = "time",
                                    [ALONG_WALL] = "wall",
                                    [ALONG_GPUH] = "gpuh",
                                    [ALONG_FLOPS] = "flops",
                                    NULL };

const char *const option_bands[] = { [BAND_STD] = "std",
                                     [BAND_SEM] = "sem",
                                     [BAND_CI95] = "ci95",
                                     [BAND_MINMAX] = "minmax",
                                     NULL };

const char *const option_terms[] = { "auto",  "own",   "dumb", "block",
                                     "sixel", "kitty", NULL };

const struct opt curve_opts[] = {
    COMMON_OPTS,
    AXIS_OPTS,
    X_OPT,
    SMOOTH_OPT,
    { 0, "inset", "lo:hi", OPT_STRING, &plot_request.inset,
      "magnify this range of x in a window" },
    { 0, "y2", "metric", OPT_STRING, &plot_request.y2,
      "also draw METRIC, with an axis on the right" },
    { 0, "group-by", "param", OPT_STRING, &plot_request.group_by,
      "group runs with the same value of PARAM, and draw the mean of each "
      "group with a band" },
    { 0, "color-by", "param", OPT_STRING, &plot_request.color_by,
      "colour runs by their value of PARAM" },
    { 0, "traces", NULL, OPT_FLAG, &plot_request.traces,
      "with --group-by, draw each run behind its mean" },
    { 0, "baseline", "name=value", OPT_LIST, &plot_request.baseline,
      "draw a line at VALUE for comparison; may be given many times" },
    { 0, "mark", "events", OPT_STRING, &plot_request.mark,
      "mark events, with commas between them: resume, checkpoint, best, "
      "spike, eval" },
    { 0, "forecast", NULL, OPT_FLAG, &plot_request.forecast,
      "draw the forecast of the rest of each curve, with its interval" },
    { 0, "stitch", NULL, OPT_FLAG, &plot_request.stitch,
      "join the runs into one curve" },
    { 0, "attempts", NULL, OPT_FLAG, &plot_request.attempts,
      "draw each attempt of a run as a curve of its own" },
    { 0, "exact", NULL, OPT_FLAG, &plot_request.exact, "draw every point" },
    SKIP_OPT,
    BAND_OPT,
    LOOK_OPTS,
    OUT_OPTS,
    { 0 }
};

const struct opt report_opts[] = {
    COMMON_OPTS,
    X_OPT,
    SKIP_OPT,
    SMOOTH_OPT,
    { 0, "baseline", "name=value", OPT_LIST, &plot_request.baseline,
      "draw a line at VALUE in the figure of HellaSwag; may be given many "
      "times" },
    LOOK_OPTS,
    { 0 }
};
