/*
 * answer_figure - a figure of gplot, on the page and as a file
 *
 * The parameters of the URL are options of gplot: the figure is the one that
 * its command line draws, and figure_request_command() writes that line.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/path.h"
#include "plot/curve_kind.h"
#include "plot/curves.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/json.h"
#include "plot/figures.h"
#include "store/read/runs.h"
#include "track/serve/site.h"

struct figure_request {
    const char *kind, *metric, *param, *hist, *panel; /* of the URL, or NULL */
    char **alias; /* those of gplot, and of other runs */
    size_t n_aliases;
    struct figure figure;
    struct request request; /* the options */
    struct build build;     /* its runs are those that were chosen */
    struct chosen chosen;
    struct arena mem;
    struct buf options; /* as words of the command line */
};

/* Take an option over from the query, and into the command line. */
static const char *take_option(struct figure_request *f, const struct query *q,
                               const char *key, const char *option)
{
    const char *value = query_get(q, key);

    buf_shell_option(&f->options, option, value);
    return value;
}

/* "1" and "0" select one of two options, anything else none. */
static void take_switch(struct figure_request *f, const struct query *q,
                        const char *key, const char *axis, bool *log, bool *lin)
{
    const char *value = query_get(q, key);

    if (!value)
        return;
    *log = strcmp(value, "1") == 0;
    *lin = !*log;
    buf_printf(&f->options, " --%s%s", *log ? "log" : "lin", axis);
}

/* "FROM:TO" out of two parameters; NULL if both are missing. */
static const char *take_range(struct figure_request *f, const struct query *q,
                              const char *from, const char *to,
                              const char *option)
{
    const char *lo = query_get(q, from), *hi = query_get(q, to);
    char *range;

    if (!lo && !hi)
        return NULL;
    range = arena_printf(&f->mem, "%s:%s", lo ? lo : "", hi ? hi : "");
    buf_shell_option(&f->options, option, range);
    return range;
}

/* The best value of another run as a line, as gplot's --baseline draws it. */
static int take_baseline(struct figure_request *f, struct site *s,
                         const struct query *q, struct err *e)
{
    const struct curve_kind *k = f->kind ? curve_kind_find(f->kind) : NULL;
    const struct run_info *r;
    const char *key = NULL;
    char value[NUM_TEXT], *word;
    double best;

    if (!query_get(q, "baseline"))
        return 0;
    r = site_run(s, q, "baseline", e);
    if (!r)
        return -1;
    for (int i = 0; k && i < KIND_LINES && k->line[i].label; i++)
        if (curve_kind_line_key(r, &k->line[i]))
            key = curve_kind_line_key(r, &k->line[i]);
    if (f->metric)
        key = f->metric;
    best = run_rate_best(r, key, key && curve_kind_high_is_good(key), e);
    if (e->kind)
        return -1;
    if (isnan(best))
        return 0;
    num_shortest(value, best);
    word = arena_printf(&f->mem, "%s=%s", r->name, value);
    APPEND(f->request.baseline.item, f->request.baseline.n,
           f->request.baseline.room) = word;
    buf_shell_option(&f->options, "--baseline", word);
    return 0;
}

/* "run" or "param:NAME" */
static int take_colour(struct figure_request *f, const struct query *q,
                       struct err *e)
{
    const char *colour = query_get(q, "colour");

    if (!colour || strcmp(colour, "run") == 0)
        return 0;
    if (strncmp(colour, "param:", 6) == 0)
        f->request.color_by = colour + 6;
    else
        return err_usage(e, "colour expects run or param:NAME, not '%.40s'",
                         colour);
    buf_shell_option(&f->options, "--color-by", f->request.color_by);
    return 0;
}

/* The columns of pixels in which each curve has points: of more curves than can
 * be told apart, fewer each, so that a figure of 200 is not larger than that of
 * a few. */
static int columns_of(const struct figure_request *f, int width)
{
    enum { FEW = 30, LEAST = 60 };
    const int runs = (int)f->build.runs.n;

    return runs <= FEW                  ? width
           : width * FEW / runs > LEAST ? width * FEW / runs
                                        : LEAST;
}

/* The size in pixels; the points are as many as a browser has room for. */
static int take_size(struct figure_request *f, const struct query *q,
                     struct err *e)
{
    enum { MOST_PIXELS = 16384, LEAST = 40 };
    static const double points = 0.75; /* in a pixel */
    int width, height, columns;

    if (query_number(q, "width", MOST_PIXELS, 600, &width, e) < 0 ||
        query_number(q, "height", MOST_PIXELS, 375, &height, e) < 0 ||
        query_number(q, "columns", MOST_PIXELS, columns_of(f, width), &columns,
                     e) < 0)
        return -1;
    if (width < LEAST || height < LEAST)
        return err_usage(e, "a figure of %d by %d pixels is too small", width,
                         height);
    f->figure.look.width = width * points;
    f->figure.look.height = height * points;
    f->figure.look.columns = columns ? columns : 1;
    f->request.columns = f->figure.look.columns;
    f->figure.look.bands = false; /* points are real ones, not means */
    return 0;
}

static int take_options(struct figure_request *f, struct site *s,
                        struct query *q, struct err *e)
{
    struct request *r = &f->request;

    r->x = take_option(f, q, "x", "--x");
    r->smooth = take_option(f, q, "smooth", "--smooth");
    r->group_by = take_option(f, q, "group", "--group-by");
    r->mark = take_option(f, q, "mark", "--mark");
    r->xrange = take_range(f, q, "from", "to", "--xrange");
    r->yrange = take_range(f, q, "yfrom", "yto", "--yrange");
    if (!r->yrange && query_flag(q, "outliers")) {
        r->yrange = "all";
        buf_str(&f->options, " --yrange all");
    }
    if (query_flag(q, "finished")) {
        r->finished = true;
        buf_str(&f->options, " --finished");
    }
    take_switch(f, q, "logx", "x", &r->logx, &r->linx);
    take_switch(f, q, "logy", "y", &r->logy, &r->liny);
    if (take_colour(f, q, e) < 0 || take_baseline(f, s, q, e) < 0 ||
        take_size(f, q, e) < 0)
        return -1;
    return request_parse(r, e);
}

static int figure_request_open(struct figure_request *f, struct site *s,
                               struct query *q, struct err *e)
{
    *f = (struct figure_request){
        .kind = query_get(q, "kind"),
        .metric = query_get(q, "metric"),
        .param = query_get(q, "param"),
        .hist = query_get(q, "hist"),
        .panel = query_get(q, "panel"),
        .figure = FIGURE_INIT,
        .options = BUF_INIT,
    };
    f->n_aliases = query_list(q, "alias", &f->alias);
    f->build = (struct build){ .figure = &f->figure, .request = &f->request };
    if (chosen_open(&f->chosen, s, q, e) < 0)
        return -1;
    f->build.runs = f->chosen.runs;
    f->request.root = f->chosen.live->path;
    f->request.follow_links = f->chosen.live->flags & LOAD_LINKS;
    if (f->build.runs.n == 0)
        return err_usage(e, "no run is selected");
    if (f->hist && !path_stays_below(f->hist))
        return err_usage(e, "hist expects the name of a histogram");
    return take_options(f, s, q, e);
}

static int figure_request_build(struct figure_request *f, struct err *e)
{
    const struct curve_kind *k = f->kind ? curve_kind_find(f->kind) : NULL;
    struct build *b = &f->build;

    b->runs.n = figure_keep_finished(b, b->runs.run, b->runs.n);
    if (b->runs.n == 0)
        return err_set(e, ERR_MISSING, "none of these runs has finished");
    run_set_init(&b->set, b->runs.run, b->runs.n, &f->mem);
    if (f->request.color_by &&
        run_set_colour_by(&b->set, f->request.color_by, &f->mem, e) < 0)
        return -1;
    for (size_t i = 0; i < f->n_aliases; i++) {
        const int found = figure_alias(&b->set, f->alias[i], e);

        if (found < 0)
            return -1;
        if (found)
            buf_shell_option(&f->options, "--alias", f->alias[i]);
    }
    if (f->param && f->metric)
        return fig_sweep_draw(b, f->param, f->metric, e);
    if (f->hist)
        return fig_hist_draw(b, f->hist, e);
    if (f->panel)
        return fig_panel_draw(b, f->panel, e);
    if (k)
        return fig_curves_draw(b, k, e);
    if (f->kind)
        return err_usage(e, "there is no kind of figure '%.40s'", f->kind);
    if (!f->metric)
        return err_usage(e, "the URL has neither a kind nor a metric");
    return curves_metrics(b, f->metric, e);
}

static void figure_request_command(const struct figure_request *f,
                                   struct emit *o)
{
    const bool sweep = f->param && f->metric;
    AUTO(buf_clear) struct buf b = BUF_INIT;
    const char *const words[] = { f->hist, f->panel, sweep ? f->param : NULL,
                                  f->metric };

    buf_printf(&b, "gplot %s",
               f->hist    ? "hist"
               : f->panel ? "dashboard --panels"
               : sweep    ? "sweep"
               : f->kind  ? f->kind
                          : "metric");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        buf_shell_option(&b, "", words[i]);
    chosen_words(&b, &f->chosen);
    site_root_option(&b, f->chosen.live);
    if (!sweep && !f->hist)
        buf_str(&b, f->options.s);
    emit_text(o, "command", b.s);
}

static void figure_request_close(struct figure_request *f)
{
    figure_free(&f->figure);
    chosen_close(&f->chosen);
    free(f->request.baseline.item);
    buf_clear(&f->options);
    arena_clear(&f->mem);
}

/* -- on the page, which paints it ------------------------------------------ */

/* "Loss of 3 runs" */
static void write_caption(struct emit *o, const struct figure_request *r)
{
    const struct figure *f = &r->figure;
    const size_t n = r->build.runs.n;
    const char *title = f->panel[0]->title;

    emit_printf(o, "caption", "%s of %zu run%s", title ? title : r->metric, n,
                n == 1 ? "" : "s");
}

/* Values of more curves have the digits that a screen can show. */
enum { FEW_CURVES = 30 };

int answer_figure(struct site *s, struct query *q, struct answer *a,
                  struct err *e)
{
    struct emit *const o = &a->out;
    struct figure_request r;
    int ret = -1;

    if (query_number(q, "digits", 17, 0, &o->digits, e) < 0)
        return -1;
    if (figure_request_open(&r, s, q, e) == 0) {
        if (r.build.runs.n > FEW_CURVES && !o->digits)
            o->digits = 8;
        r.request.legend = LEGEND_NONE; /* the page lists the curves itself */
        ret = figure_request_build(&r, e);
    }
    if (ret == 0) {
        r.figure.look.whole = s->frozen ? NULL : "\"Show outliers\"";
        r.figure.look.finer = s->frozen ? 3 : 0;
        figure_finish(&r.figure);
        figure_request_command(&r, o);
        write_caption(o, &r);
        json_figure(o, &r.figure);
    }
    figure_request_close(&r);
    return ret;
}

/* -- as a file ------------------------------------------------------------- */

static int draw(struct figure_request *r, const char *format, struct buf *out,
                struct err *e)
{
    if (figure_request_build(r, e) < 0)
        return -1;
    r->figure.look.bands = true;
    figure_finish(&r->figure);
    return gnuplot_draw(&r->figure, 1, gnuplot_form(format), out, e);
}

int answer_download(struct site *s, struct query *q, struct answer *a,
                    struct err *e)
{
    static const struct {
        const char *format, *type;
    } formats[] = {
        { "svg", "image/svg+xml" },
        { "pdf", "application/pdf" },
        { "png", "image/png" },
    };
    const char *wanted = query_get(q, "format");
    struct figure_request r;
    size_t i = 0;
    int ret = -1;

    while (i < 3 && (!wanted || strcmp(wanted, formats[i].format) != 0))
        i++;
    if (i == 3)
        return err_usage(e, "format expects svg, pdf or png");
    if (figure_request_open(&r, s, q, e) == 0)
        ret = draw(&r, formats[i].format, &a->body, e);
    if (ret == 0) {
        a->type = formats[i].type;
        a->sandbox = true;
        a->attach = true;
        a->file = xasprintf("%s.%s", r.kind ? r.kind : "figure", wanted);
    }
    figure_request_close(&r);
    return ret;
}
