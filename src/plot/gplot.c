#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/program.h"
#include "common/sig.h"
#include "plot/curves.h"
#include "plot/draw/gnuplot.h"
#include "plot/figures.h"
#include "plot/output.h"
#include "plot/summary.h"

static struct request req;

/* clang-format off */
#define COMMON_OPTS \
    { 'r', "root", "dir", OPT_STRING, &req.root, \
      "use this store (default: GTRACK_ROOT or mlruns)" }, \
    { 'o', "output", "file", OPT_STRING, &req.output, \
      "draw to FILE.{png,svg,pdf,eps,tex,tikz,html,txt}" }

#define LOOK_OPTS \
    { 0, "title", "text", OPT_STRING, &req.title, \
      "write TEXT above the figure" }, \
    { 0, "size", "wxh", OPT_STRING, &req.size, \
      "set the size, as in 8.4cmx6cm; the units are cm, mm, in, pt and px" }, \
    { 0, "font", "name,size", OPT_STRING, &req.font, \
      "set the font (default: Arial,9)" }, \
    { 0, "legend", "place", OPT_STRING, &req.legend, \
      "put the legend at auto, top-right, top-left, bottom-right, " \
      "bottom-left, right, below or none (default: auto)" }, \
    { 0, "mono", NULL, OPT_FLAG, &req.mono, \
      "use shades of grey and dashes, for print" }, \
    { 0, "dark", NULL, OPT_FLAG, &req.dark, "use a dark background" }

#define OUT_OPTS \
    { 0, "script", "file", OPT_STRING, &req.script, \
      "write a gnuplot script with its data to FILE" }, \
    { 0, "data", NULL, OPT_FLAG, &req.data, \
      "print the numbers that are drawn instead of drawing" }, \
    { 0, "term", "name", OPT_STRING, &req.term, \
      "draw in the terminal by auto, own, dumb, block, sixel or kitty " \
      "(default: auto)" }, \
    { 0, "watch", NULL, OPT_FLAG, &req.watch, \
      "draw the figure again while a run is running" }, \
    { 0, "every", "time", OPT_SECS, &req.every, \
      "with --watch, draw at this interval (default: 2s)" }

#define X_OPT \
    { 0, "x", "axis", OPT_STRING, &req.x, \
      "draw against step, tokens, time, wall, gpuh or flops" }

#define AXIS_OPTS \
    { 0, "xrange", "lo:hi", OPT_STRING, &req.xrange, \
      "show only this range of x" }, \
    { 0, "yrange", "lo:hi", OPT_STRING, &req.yrange, \
      "show only this range of y" }, \
    { 0, "logx", NULL, OPT_FLAG, &req.logx, "make x logarithmic" }, \
    { 0, "logy", NULL, OPT_FLAG, &req.logy, "make y logarithmic" }, \
    { 0, "linx", NULL, OPT_FLAG, &req.linx, "make x linear" }, \
    { 0, "liny", NULL, OPT_FLAG, &req.liny, "make y linear" }

#define SKIP_OPTS \
    { 0, "skip", "steps", OPT_LONG, &req.skip, \
      "leave out the first STEPS steps" }

#define BAND_OPT \
    { 0, "band", "spread", OPT_STRING, &req.band, \
      "let bands and bars show std, sem, ci95 or minmax (default: std)" }

#define REPORT_OPTS \
    { 0, "smooth", "method", OPT_STRING, &req.smooth, \
      "smooth curves by ema:BETA, ma:POINTS or gauss:SIGMA, as in ema:0.98" }, \
    { 0, "baseline", "name=value", OPT_LIST, &req.baseline, \
      "draw a line at VALUE in the figure of HellaSwag; may be given many " \
      "times" }

#define CURVE_OPTS \
    { 0, "smooth", "method", OPT_STRING, &req.smooth, \
      "smooth curves by ema:BETA, ma:POINTS or gauss:SIGMA, as in ema:0.98" }, \
    { 0, "inset", "lo:hi", OPT_STRING, &req.inset, \
      "magnify this range of x in a window" }, \
    { 0, "y2", "metric", OPT_STRING, &req.y2, \
      "also draw METRIC, with an axis on the right" }, \
    { 0, "group-by", "param", OPT_STRING, &req.group_by, \
      "group runs with the same value of PARAM, and draw the mean of each " \
      "group with a band" }, \
    { 0, "traces", NULL, OPT_FLAG, &req.traces, \
      "with --group-by, draw each run behind its mean" }, \
    { 0, "baseline", "name=value", OPT_LIST, &req.baseline, \
      "draw a line at VALUE for comparison; may be given many times" }, \
    { 0, "mark", "events", OPT_STRING, &req.mark, \
      "mark events, with commas between them: resume, checkpoint, best, " \
      "spike, eval" }, \
    { 0, "stitch", NULL, OPT_FLAG, &req.stitch, \
      "join the runs into one curve" }, \
    { 0, "attempts", NULL, OPT_FLAG, &req.attempts, \
      "draw each attempt of a run as a curve of its own" }, \
    { 0, "exact", NULL, OPT_FLAG, &req.exact, \
      "draw every point" }

static const struct opt curve_opts[] = {
    COMMON_OPTS, AXIS_OPTS, X_OPT, CURVE_OPTS, SKIP_OPTS, BAND_OPT, LOOK_OPTS,
    OUT_OPTS, { 0 }
};
static const struct opt sweep_opts[] = {
    COMMON_OPTS, AXIS_OPTS, BAND_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};
static const struct opt scaling_opts[] = {
    COMMON_OPTS, AXIS_OPTS, X_OPT, SKIP_OPTS, LOOK_OPTS, OUT_OPTS, { 0 }
};
static const struct opt schedule_opts[] = {
    COMMON_OPTS, AXIS_OPTS, SKIP_OPTS, LOOK_OPTS, OUT_OPTS, { 0 }
};
static const struct opt report_opts[] = {
    COMMON_OPTS, X_OPT, SKIP_OPTS, REPORT_OPTS, LOOK_OPTS, { 0 }
};
/* clang-format on */

/* Fill the request from the options; the words left are the command's. */
static int prepare(struct err *e)
{
    const char *env = getenv("GTRACK_ROOT");

    if (!req.root)
        req.root = env && *env ? env : "mlruns";
    if (req.every <= 0)
        req.every = 2;
    if (request_parse(&req, e) < 0)
        return -1;
    return output_check(&req, e);
}

static int look_once(build_fn *build, int argc, char **argv, bool *going,
                     struct err *e)
{
    struct figure f = FIGURE_INIT;
    struct table summary;
    int ret;

    summary_init(&summary);
    request_look(&req, &f);
    ret = build(&f, &summary, program_command()->name, argv, argc, &req, going,
                e);
    if (ret == 0)
        ret = output_figure(&f, &summary, &req, e);
    table_clear(&summary);
    figure_free(&f);
    return ret;
}

static void wait_a_while(double secs)
{
    struct timespec t = { (time_t)secs, (long)((secs - floor(secs)) * 1e9) };

    while (!sig_caught() && nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static int draw(build_fn *build, int argc, char **argv, struct err *e)
{
    const bool screen = !req.output && isatty(STDOUT_FILENO);
    bool going = false;

    if (prepare(e) < 0)
        return -1;
    if (!req.watch)
        return look_once(build, argc, argv, &going, e);
    sig_watch();
    do {
        going = false;
        if (screen)
            printf("\033[H\033[2J");
        if (look_once(build, argc, argv, &going, e) < 0) {
            if (e->kind != ERR_MISSING || !going)
                return -1;
            /* of a run that goes on, what is not there yet may come */
            log_warn("%s", e->text);
            *e = (struct err)ERR_INIT;
        }
        fflush(stdout);
        if (going)
            wait_a_while(req.every);
    } while (going && !sig_caught());
    return 0;
}

/* Which function builds the figure of a command that is no row of kinds. */
static const struct {
    const char *name;
    build_fn *build;
} builders[] = {
    { "metric", build_metric },     { "sweep", build_sweep },
    { "compare", build_compare },   { "scaling", build_scaling },
    { "schedule", build_schedule }, { "dashboard", build_dashboard },
};

static int run_figure(int argc, char **argv, struct err *e)
{
    for (size_t i = 0; i < sizeof builders / sizeof builders[0]; i++)
        if (strcmp(builders[i].name, program_command()->name) == 0)
            return draw(builders[i].build, argc, argv, e);
    return draw(build_kind, argc, argv, e);
}

static int run_report(int argc, char **argv, struct err *e)
{
    if (prepare(e) < 0)
        return -1;
    return report_write(argv, argc, &req, e);
}

/* clang-format off */
static const struct cmd *const cmds[] = {
    &(const struct cmd){ "lr", "RUN...",
        "draw the learning rate",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "loss", "RUN...",
        "draw the training and the validation loss",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "perplexity", "RUN...",
        "draw the training and the validation perplexity",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "grad-norm", "RUN...",
        "draw the norm of the gradient",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "throughput", "RUN...",
        "draw the number of tokens per second",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "memory", "RUN...",
        "draw the memory of the device and of the process, by rank",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "util", "RUN...",
        "draw the utilisation of GPUs and CPUs, by rank",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "hellaswag", "RUN...",
        "draw the accuracy on HellaSwag",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "metric", "NAME[,NAME...] RUN...",
        "draw any metrics, by name or pattern",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "sweep", "PARAM[,PARAM] METRIC [RUN...]",
        "draw a metric's best value against one or two parameters",
        sweep_opts, run_figure, NULL },
    &(const struct cmd){ "compare", "RUN...",
        "draw losses, learning rate and throughput in four panels",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "scaling", "RUN...",
        "draw the loss against FLOPs or tokens, with a power law",
        scaling_opts, run_figure, NULL },
    &(const struct cmd){ "schedule", "CONF...",
        "draw the learning rate that settings files give",
        schedule_opts, run_figure, NULL },
    &(const struct cmd){ "dashboard", "RUN...",
        "draw six panels of a run",
        curve_opts, run_figure, NULL },
    &(const struct cmd){ "report", "RUN...",
        "write figures and tables to one document, FILE.{html,pdf,md}",
        report_opts, run_report, NULL },
    NULL
};
/* clang-format on */

static void describe(void)
{
    char version[16];

    if (gnuplot_found(version))
        printf("gnuplot %s\n", version);
    else
        printf("gnuplot: not found; figures are drawn in the terminal only\n");
}

static const struct program program = {
    .name = "gplot",
    .summary = "Draw figures of training runs.",
    .cmds = cmds,
    .describe = describe,
};

int main(int argc, char **argv)
{
    return program_main(&program, argc, argv);
}
