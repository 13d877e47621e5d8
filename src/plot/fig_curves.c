/*
 * fig_curves - figures of one panel of curves
 */
#include "config.h"

#include "common/log.h"
#include "common/program.h"
#include "plot/curves.h"
#include "plot/figures.h"
#include "plot/kind.h"
#include "plot/options.h"

static int build_kind(struct build *b, struct err *e)
{
    const struct kind *k = (const struct kind *)program_command();

    if (figure_runs(b, 0, e) < 0 ||
        curves_kind(b, figure_panel(b->figure, k->title), k, e) < 0)
        return -1;
    for (size_t i = 0; i < b->set.n; i++)
        if (!kind_has_metric(k, &b->set.run[i]))
            log_warn("%s has no metric for %s and is left out", b->set.name[i],
                     k->cmd.name);
    return 0;
}

const struct figure_type kind_figure = { build_kind, 1, "a run is" };

static int build_metric(struct build *b, struct err *e)
{
    if (figure_runs(b, 1, e) < 0)
        return -1;
    return curves_metrics(b, figure_panel(b->figure, NULL), b->words[0], e);
}

static const struct figure_type metric = { build_metric, 2,
                                           "a metric and a run are" };

const struct cmd cmd_metric = {
    .name = "metric",
    .args = "NAME[,NAME...] RUN...",
    .help = "draw any metrics, by name or pattern",
    .opts = curve_opts,
    .run = figure_main,
    .arg = &metric,
};
