/*
 * fig_hours - what the hours of runs were spent on
 *
 * A bar for each run, divided into parts.  A part is a curve with a band from
 * the part below it up to its own upper end, two points wide, and with a gap
 * after each bar.
 */
#include "config.h"

#include <math.h>

#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "store/analysis/spent.h"

enum { POINTS = 3 }; /* of a bar: left, right, gap */

static void draw_part(struct build *b, struct panel *p, enum spent_part part,
                      const struct spent *all)
{
    struct curve *c =
        panel_curve(b->figure, p, spent_words[part], b->set.n * POINTS);

    c->colour = (int)part;
    c->style = STYLE_AREA;
    curve_band(b->figure, c);
    for (size_t i = 0; i < b->set.n; i++) {
        const struct spent *s = &all[i];
        double below = 0, *x = c->x + i * POINTS, *y = c->y + i * POINTS;

        for (int k = 0; k < (int)part; k++)
            below += s->secs[k];
        for (size_t k = 0; k < POINTS; k++) {
            x[k] = (double)i + (k == 0 ? -0.35 : 0.35);
            y[k] = k < 2 && s->secs[part] > 0 ? below + s->secs[part]
                                              : (double)NAN;
            c->hi[i * POINTS + k] = y[k];
            c->lo[i * POINTS + k] = isnan(y[k]) ? (double)NAN : below;
        }
    }
}

static bool is_used(const struct spent *all, size_t n, int part)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].secs[part] > 0)
            return true;
    return false;
}

static void draw_bars(struct build *b, const struct spent *all)
{
    struct panel *p = figure_panel(b->figure, "Where the hours went");

    axis_init(&p->x, "run", UNIT_NAMED);
    axis_init(&p->y, "wall-clock time", UNIT_SECONDS);
    p->y.from_zero = true;
    p->y.whole = true;
    request_axes(b->request, p);
    for (int k = 0; k < SPENT_QUEUE; k++)
        if (is_used(all, b->set.n, k))
            draw_part(b, p, (enum spent_part)k, all);
    axis_names(&p->x, &b->figure->mem, b->set.shown, b->set.n, 12);
}

static void fill_table(struct table *t, const struct run_set *set,
                       const struct spent *all)
{
    *t = TABLE_INIT("gplot.hours/1");
    table_column(t, "run");
    for (int k = 0; k < SPENT_PARTS; k++)
        if (is_used(all, set->n, k))
            table_column(t, spent_words[k]);
    for (size_t i = 0; i < set->n; i++) {
        table_text(t, set->name[i]);
        for (int k = 0; k < SPENT_PARTS; k++)
            if (is_used(all, set->n, k))
                table_secs(t, all[i].secs[k]);
    }
}

static int build_hours(struct build *b, struct err *e)
{
    AUTO_FREE struct spent *all = NULL;
    int ret = figure_runs(b, 0, e);

    if (ret < 0)
        return -1;
    all = xcalloc(b->set.n, sizeof *all);
    for (size_t i = 0; ret == 0 && i < b->set.n; i++)
        ret = spent_load(&all[i], &b->set.run[i], spent_seconds(&b->set.run[i]),
                         e);
    if (ret == 0) {
        draw_bars(b, all);
        fill_table(b->summary, &b->set, all);
    }
    return ret;
}

static const struct opt hours_opts[] = { COMMON_OPTS, SWEEP_OPT, AXIS_OPTS,
                                         LOOK_OPTS,   OUT_OPTS,  { 0 } };

const struct cmd fig_hours = {
    .name = "hours",
    .args = "[RUN|FILTER]...",
    .help = "draw what the hours of runs were spent on",
    .opts = hours_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_hours, 0, NULL },
};
