/* The scales and the ranges of a figure's axes. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "plot/draw/figure.h"
#include "plot/curve_kind.h"
#include "t/lib/tap.h"

static void outliers_are_cut_and_said(void)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, "Loss");
    struct curve *c = panel_curve(&f, p, "run1", 1000);

    for (int i = 0; i < 1000; i++) {
        c->x[i] = i + 1;
        c->y[i] = 3 + 0.1 * sin(i);
    }
    c->y[500] = 900;
    figure_finish(&f);
    ok(p->y.hi < 10, "one extreme value in a thousand does not set the range");
    ok(f.n_notes == 1 && strstr(f.note[0], "1 point above") &&
           strstr(f.note[0], "900"),
       "a value outside the range is noted: %s", f.n_notes ? f.note[0] : "");
    ok(p->n_marks == 1 && p->mark[0].type == MARK_ABOVE && p->mark[0].x == 501,
       "an arrow marks a value above the range");
    figure_free(&f);
    f = FIGURE_INIT;
    p = figure_panel(&f, "Loss");
    c = panel_curve(&f, p, "run1", 300);
    for (int i = 0; i < 300; i++) {
        c->x[i] = i + 1;
        c->y[i] = 53 + 0.1 * sin(i) + (i == 100 ? 0.5 : i == 200 ? -0.5 : 0);
    }
    figure_finish(&f);
    ok(p->y.hi < 53.3 && p->y.lo > 52.7 && p->n_marks == 2 &&
           p->mark[1].type == MARK_BELOW,
       "two spikes leave more than half of the height to the others, at both "
       "ends");
    figure_free(&f);
    f = FIGURE_INIT;
    p = figure_panel(&f, "Loss");
    c = panel_curve(&f, p, "run1", 1000);
    for (int i = 0; i < 1000; i++) {
        c->x[i] = i + 1;
        c->y[i] = 3 + 8 * exp(-i / 30.0);
    }
    figure_finish(&f);
    ok(p->y.hi >= 11 && f.n_notes == 0,
       "the start of a loss curve is shown completely");
    ok(p->legend == LEGEND_INSIDE && p->legend_x >= 1 && p->legend_y >= 1,
       "the legend of a falling curve stands at the upper right");
    figure_free(&f);
}

/* A loss curve of n points, which begins at 11 and ends at 3. */
static struct panel *settling(struct figure *f, int n)
{
    struct panel *p = figure_panel(f, "Loss");
    struct curve *c;

    curve_kind_axis(curve_kind_find("loss"), NULL, &p->y);
    c = panel_curve(f, p, "run1", (size_t)n);
    for (int i = 0; i < n; i++) {
        c->x[i] = i + 1;
        c->y[i] = 3 + 8 * exp(-i / (0.02 * n));
    }
    return p;
}

static void losses_are_shown_where_they_settle(void)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = settling(&f, 2000);

    figure_finish(&f);
    ok(p->y.hi > 5.9 && p->y.hi < 6.5,
       "the range of a loss ends at the value after 2%% of the steps: %g",
       p->y.hi);
    ok(f.n_notes == 1 && strstr(f.note[0], "to step 3"),
       "a note says what is above the axes: %s", f.n_notes ? f.note[0] : "");
    ok(p->n_marks == 1 && p->mark[0].type == MARK_ABOVE,
       "a mark shows where the curve comes from above");
    figure_free(&f);
    f = FIGURE_INIT;
    p = settling(&f, 2000);
    p->y.whole = true;
    figure_finish(&f);
    ok(p->y.hi >= 11 && f.n_notes == 0, "the whole range is shown on request");
    figure_free(&f);
    f = FIGURE_INIT;
    p = settling(&f, 20);
    figure_finish(&f);
    ok(p->y.hi >= 11, "a loss of a few points is shown completely");
    figure_free(&f);
}

/* The scale of a figure whose values fall from 1 to 1e-9. */
static enum scale scale_of(const char *kind)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, "x");
    struct curve *c;
    enum scale scale;

    curve_kind_axis(curve_kind_find(kind), NULL, &p->y);
    c = panel_curve(&f, p, "run1", 100);
    for (int i = 0; i < 100; i++) {
        c->x[i] = i;
        c->y[i] = pow(10, -i / 11.0);
    }
    figure_finish(&f);
    scale = p->y.scale;
    figure_free(&f);
    return scale;
}

static void scales_are_conventional(void)
{
    ok(scale_of("lr") == SCALE_LINEAR,
       "a learning rate that ends near 0 is drawn linearly");
    ok(scale_of("util") == SCALE_LINEAR &&
           scale_of("hellaswag") == SCALE_LINEAR,
       "percentages are drawn linearly");
    ok(scale_of("perplexity") == SCALE_LOG,
       "a perplexity of many magnitudes is drawn logarithmically");
}

int main(void)
{
    outliers_are_cut_and_said();
    losses_are_shown_where_they_settle();
    scales_are_conventional();
    return done_testing();
}
