/*
 * fig_curves - figures of one panel of curves
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/program.h"
#include "plot/curve_kind.h"
#include "plot/curves.h"
#include "plot/figures.h"

/* A panel for each line of the figure that a run has. */
static int draw_apart(struct build *b, const struct curve_kind *k,
                      struct err *e)
{
    struct figure *f = b->figure;

    for (int i = 0; i < KIND_LINES && k->line[i].label; i++) {
        struct curve_kind one = *k;
        const char *title =
            arena_printf(&f->mem, "%s %s", k->line[i].label, k->label);

        memset(one.line, 0, sizeof one.line);
        one.line[0] = k->line[i];
        /* the title says what the curves are */
        one.line[0].dash = 0;
        one.line[0].label = one.label = "";
        if (curve_kind_has_metric(&one, b->set.run, b->set.n) &&
            curves_kind(b, figure_panel(f, title), &one, e) < 0)
            return -1;
    }
    if (f->n_panels > 1 && !b->request->size)
        f->look.height *= 1.4;
    return 0;
}

int fig_curves_draw(struct build *b, const struct curve_kind *k, struct err *e)
{
    b->figure->shared = k->apart;
    if (k->apart && draw_apart(b, k, e) < 0)
        return -1;
    if (b->figure->n_panels > 0)
        return 0;
    return curves_kind(b, figure_panel(b->figure, k->title), k, e);
}

static int build_kind(struct build *b, struct err *e)
{
    const struct curve_kind *k = (const struct curve_kind *)program_command();
    int ret;

    if (figure_runs(b, 0, e) < 0)
        return -1;
    ret = fig_curves_draw(b, k, e);
    for (size_t i = 0; i < b->set.n && ret == 0; i++)
        if (!curve_kind_has_metric(k, &b->set.run[i], 1))
            log_warn("%s %s metric for %s and is left out", b->set.name[i],
                     b->set.run[i].unread ? "could not be read, shows no"
                                          : "has no",
                     k->cmd.name);
    return ret;
}

const struct figure_type fig_curves_type = { build_kind, 1, "a run is", true };

static int build_metric(struct build *b, struct err *e)
{
    if (figure_runs(b, 1, e) < 0 || curves_metrics(b, b->words[0], e) < 0)
        return -1;
    fig_arrange(b, 2);
    return 0;
}

const struct cmd fig_metric = {
    .name = "metric",
    .args = "NAME[,NAME...] RUN...",
    .help = "draw any metrics, by name or pattern",
    .opts = curve_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_metric, 2,
                                        "a metric and a run are", true },
};
