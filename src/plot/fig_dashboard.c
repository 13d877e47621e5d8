/*
 * fig_dashboard - several panels: a run at a glance, or runs side by side
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "plot/curves.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/history.h"
#include "plot/options.h"

/*
 * boards - several panels: all of one run, or some runs beside each other
 */
static const char *const dashboard[] = { "loss",       "lr",     "grad-norm",
                                         "throughput", "memory", "util",
                                         NULL };
static const char *const comparison[] = { "train", "validation", "lr",
                                          "throughput", NULL };

/* Of "loss", the training or the validation curve by itself. */
static struct kind half_of_loss(const char *name)
{
    struct kind half = *kind_find("loss");
    const bool train = strcmp(name, "train") == 0;

    half.title = train ? "Training loss" : "Validation loss";
    half.line[0] = half.line[train ? 0 : 1];
    memset(&half.line[1], 0, sizeof half.line[1]);
    return half;
}

/* Panels of those kinds for which a run has metrics, in a grid. */
static int draw_panels(struct figure *f, const char *const *names, size_t cols,
                       const struct run_set *set, const struct request *r,
                       struct table *summary, struct err *e)
{
    for (; *names; names++) {
        const struct kind *k = kind_find(*names);
        const struct kind half = k ? *k : half_of_loss(*names);
        struct panel *p;
        bool any = false;

        for (int i = 0; i < KIND_LINES && half.line[i].label; i++)
            for (size_t n = 0; n < set->n; n++)
                any = any || history_find(&set->run[n], half.line[i].names);
        if (!any) {
            log_info("nothing to draw for %s", half.cmd.name);
            continue;
        }
        p = figure_panel(f, half.title);
        if (curves_kind(f, p, &half, set, r, summary, e) < 0)
            return -1;
        /* the figure's title names a run that is alone */
        if (set->n == 1 && p->n_curves == 1 && r->legend < 0)
            p->legend = LEGEND_NONE;
    }
    if (f->n_panels == 0)
        return err_set(e, ERR_MISSING,
                       "%s has none of the metrics that are "
                       "drawn here; 'gtrack show %s' lists what it has",
                       set->run[0].name, set->run[0].name);
    f->cols = f->n_panels < cols ? f->n_panels : cols;
    f->rows = (f->n_panels + f->cols - 1) / f->cols;
    if (!r->size) {
        f->look.width = 245.0 * (double)f->cols;
        f->look.height = 165.0 * (double)f->rows + 20;
        f->look.font_size = r->font_size > 0 ? r->font_size : 8;
    } else if (r->font_size <= 0) {
        /* so that a panel is some thirty ems wide */
        f->look.font_size = fmin(fmax(r->width / (double)f->cols / 30, 5), 9);
    }
    return 0;
}

static int build_dashboard(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    struct runs runs = RUNS_INIT;
    struct run_set set;
    int ret;

    if (b->n == 0)
        return err_set(e, ERR_USAGE, "a run is expected: gplot dashboard RUN");
    if (figure_runs(&runs, b, 0, e) < 0)
        return -1;
    run_set_init(&set, runs.run, runs.n, &f->mem);
    if (!r->title) {
        struct buf names = BUF_INIT;

        for (size_t i = 0; i < runs.n && i < 6; i++)
            buf_printf(&names, "%s%s", i ? ", " : "", set.name[i]);
        f->title = arena_strdup(&f->mem, names.s);
        buf_clear(&names);
    }
    ret = draw_panels(f, dashboard, 3, &set, r, summary, e);
    runs_free(&runs);
    return ret;
}

static int dashboard_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_dashboard, argc, argv, e);
}

const struct cmd cmd_dashboard = {
    .name = "dashboard",
    .args = "RUN...",
    .help = "draw six panels of a run",
    .opts = curve_opts,
    .run = dashboard_main,
};

/* The parameters in which runs differ, at most three, after their names:
 * "run2: lr = 6e-4". */
static void name_by_difference(struct run_set *c, struct arena *mem)
{
    enum { MOST = 3 };
    const char *key[MOST];
    size_t n = 0;

    for (size_t i = 0; c->n > 1 && i < c->run[0].n_params && n < MOST; i++) {
        const char *name = c->run[0].params[i].key;
        bool differs =
            strncmp(name, "is.", 3) != 0 && strncmp(name, "run.", 4) != 0;
        bool same = true;

        for (size_t k = 1; k < c->n && differs; k++) {
            const char *v = run_info_param(&c->run[k], name);

            same = same && v && strcmp(v, c->run[0].params[i].value) == 0;
        }
        if (differs && !same)
            key[n++] = name;
    }
    for (size_t i = 0; i < c->n && n; i++) {
        struct buf b = BUF_INIT;

        buf_str(&b, c->name[i]);
        for (size_t k = 0; k < n; k++) {
            const char *v = run_info_param(&c->run[i], key[k]);
            const char *dot = strrchr(key[k], '.');

            buf_printf(&b, "%s%s = %s", k ? ", " : ": ", dot ? dot + 1 : key[k],
                       v ? v : "?");
        }
        c->name[i] = arena_strdup(mem, b.s);
        buf_clear(&b);
    }
}

static int build_compare(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    struct runs runs = RUNS_INIT;
    struct run_set set;
    int ret;

    if (b->n == 0)
        return err_set(e, ERR_USAGE,
                       "runs are expected: gplot compare RUN RUN...");
    if (figure_runs(&runs, b, 0, e) < 0)
        return -1;
    run_set_init(&set, runs.run, runs.n, &f->mem);
    name_by_difference(&set, &f->mem);
    ret = draw_panels(f, comparison, 2, &set, r, summary, e);
    if (ret == 0 && !r->size)
        f->look.width = f->cols == 2 ? 580 : f->look.width;
    /* the names are those of the first panel: once is enough */
    for (size_t i = 1; i < f->n_panels && ret == 0 && r->legend < 0; i++)
        f->panel[i]->legend = LEGEND_NONE;
    runs_free(&runs);
    return ret;
}

static int compare_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_compare, argc, argv, e);
}

const struct cmd cmd_compare = {
    .name = "compare",
    .args = "RUN...",
    .help = "draw losses, learning rate and throughput in four panels",
    .opts = curve_opts,
    .run = compare_main,
};
