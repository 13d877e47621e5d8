/*
 * fig_curves - figures of one panel of curves
 */
#include "config.h"

#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/program.h"
#include "plot/curve_groups.h"
#include "plot/curves.h"
#include "plot/figures.h"
#include "plot/history.h"
#include "plot/kind.h"
#include "plot/options.h"

/* In a figure of one kind it matters that a run is not there. */
static void warn_of_missing(const struct run_set *set, const struct kind *k)
{
    for (size_t n = 0; n < set->n; n++) {
        bool any = false;

        for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
            any = any || history_find(&set->run[n], k->line[i].names);
        if (!any)
            log_warn("%s has no metric for %s and is left out", set->name[n],
                     k->cmd.name);
    }
}

static int build_kind(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    const struct kind *k = (const struct kind *)program_command();
    struct runs runs = RUNS_INIT;
    struct run_set set;
    struct panel *p;
    int ret;

    if (b->n == 0)
        return err_set(e, ERR_USAGE, "a run is expected: gplot %s RUN...",
                       k->cmd.name);
    if (figure_runs(&runs, b, 0, e) < 0)
        return -1;
    run_set_init(&set, runs.run, runs.n, &f->mem);
    p = figure_panel(f, k->title);
    ret = curves_kind(f, p, k, &set, r, summary, e);
    if (ret == 0)
        warn_of_missing(&set, k);
    runs_free(&runs);
    return ret;
}

int kind_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_kind, argc, argv, e);
}

static int build_metric(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    struct runs runs = RUNS_INIT;
    struct run_set set;
    struct panel *p;
    int ret;

    if (b->n < 2)
        return err_set(e, ERR_USAGE,
                       "a metric and a run are expected: "
                       "gplot metric NAME[,NAME...] RUN...");
    if (figure_runs(&runs, b, 1, e) < 0)
        return -1;
    run_set_init(&set, runs.run, runs.n, &f->mem);
    p = figure_panel(f, NULL);
    ret = curves_metrics(f, p, b->words[0], &set, r, summary, e);
    runs_free(&runs);
    return ret;
}

static int metric_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_metric, argc, argv, e);
}

const struct cmd cmd_metric = {
    .name = "metric",
    .args = "NAME[,NAME...] RUN...",
    .help = "draw any metrics, by name or pattern",
    .opts = curve_opts,
    .run = metric_main,
};
