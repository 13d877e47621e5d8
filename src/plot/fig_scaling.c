/*
 * fig_scaling - loss against compute or tokens, with a power law
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "plot/curves.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/fit.h"
#include "plot/history.h"
#include "plot/options.h"

/*
 * scaling - loss against tokens or FLOPs for models of several sizes
 *
 * The curves are drawn with both axes logarithmic; the power law is fitted to
 * the best value of each run, where the run had come that far.
 */
static const char *const losses[] = {
    "val/loss",        "valid_loss", "val_loss", "eval/loss",  "eval_loss",
    "validation_loss", "train/loss", "loss",     "train_loss", NULL
};

/* Drawn from half a decade before the first run to as far after the last. */
static void draw_law(struct figure *f, struct panel *p, const struct fit *fit,
                     const double *x, size_t n, const char *symbol)
{
    enum { STEPS = 60 };
    double lo = INFINITY, hi = 0;
    struct curve *c;
    char scale[32], exponent[32];

    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, x[i]);
        hi = fmax(hi, x[i]);
    }
    lo /= 1.8;
    hi *= 1.8;
    c = panel_curve(f, p,
                    arena_printf(&f->mem,
                                 "%s %s^\xe2\x88\x92%s"
                                 ", R\xc2\xb2 = %.4f",
                                 axis_value(scale, UNIT_NONE, fit->a), symbol,
                                 axis_value(exponent, UNIT_NONE, fit->b),
                                 fit->r2),
                    STEPS + 1);
    for (int i = 0; i <= STEPS; i++) {
        c->x[i] = lo * pow(hi / lo, (double)i / STEPS);
        c->y[i] = fit->a * pow(c->x[i], -fit->b);
    }
    c->colour = COLOUR_GREY;
    c->dash = 1;
    c->run = "fit";
}

struct ends {
    double *x, *y;
    size_t n;
};

static int draw_runs(struct figure *f, struct panel *p,
                     const struct run_set *set, const struct request *r,
                     struct ends *ends, struct table *t, struct err *e)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];
        const char *key = history_find(run, losses);
        size_t best = SIZE_MAX;
        struct history h;
        struct curve *c;

        if (!key) {
            log_warn("%s has no loss and is left out", set->name[i]);
            continue;
        }
        if (history_load(&h, run, key, r, e) < 0)
            return -1;
        history_skip(&h, r->skip);
        c = panel_curve(f, p, set->name[i], h.n);
        memcpy(c->x, h.x, h.n * sizeof *c->x);
        memcpy(c->y, h.y, h.n * sizeof *c->y);
        c->run = set->name[i];
        c->colour = set->slot[i];
        for (size_t k = 0; k < h.n; k++)
            if (h.y[k] > 0 && h.x[k] > 0 && isfinite(h.y[k]) &&
                (best == SIZE_MAX || h.y[k] < h.y[best]))
                best = k;
        if (best != SIZE_MAX) {
            ends->x[ends->n] = h.x[best];
            ends->y[ends->n++] = h.y[best];
            panel_mark(p, MARK_AT_XY, h.x[best], h.y[best])->colour =
                set->slot[i];
            table_text(t, set->name[i]);
            table_text(t, key);
            table_real(t, h.x[best]);
            table_real(t, h.y[best]);
        }
        history_free(&h);
    }
    return 0;
}

static void law_columns(struct table *t, const char *x)
{
    table_clear(t);
    *t = (struct table)TABLE_INIT("gplot.scaling/1");
    table_column(t, "run");
    table_column(t, "metric");
    table_column(t, x);
    table_column(t, "loss");
}

static int build_scaling(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    struct request own = *r;
    struct runs runs = RUNS_INIT;
    struct ends ends = { 0 };
    struct panel *p;
    struct run_set set;
    struct fit fit;
    int ret;

    if (b->n == 0)
        return err_set(e, ERR_USAGE, "runs are expected: gplot scaling RUN...");
    if (r->x < 0)
        own.along = ALONG_FLOPS;
    if (figure_runs(&runs, b, 0, e) < 0)
        return -1;
    run_set_init(&set, runs.run, runs.n, &f->mem);
    p = figure_panel(f, "Scaling");
    history_axis(&own, &p->x);
    axis_init(&p->y, "loss (nats/token)", UNIT_NONE);
    request_axes(&own, p);
    if (p->x.scale == SCALE_AUTO)
        p->x.scale = SCALE_LOG;
    if (p->y.scale == SCALE_AUTO)
        p->y.scale = SCALE_LOG;
    law_columns(summary, p->x.label);
    ends.x = xcalloc(runs.n + 1, sizeof *ends.x);
    ends.y = xcalloc(runs.n + 1, sizeof *ends.y);
    ret = draw_runs(f, p, &set, &own, &ends, summary, e);
    if (ret == 0 && ends.n == 0)
        ret = err_set(e, ERR_MISSING, "no run has a loss to fit");
    if (ret == 0 && fit_power(&fit, ends.x, ends.y, ends.n)) {
        char scale[32], exponent[32];

        draw_law(f, p, &fit, ends.x, ends.n,
                 own.along == ALONG_TOKENS  ? "D"
                 : own.along == ALONG_FLOPS ? "C"
                                            : "x");
        figure_note(f,
                    "Fitted to the best loss of each run (circled): "
                    "loss = a\xc2\xb7x^\xe2\x88\x92"
                    "b, a = %s, b = %s, in "
                    "logarithms.",
                    axis_value(scale, UNIT_NONE, fit.a),
                    axis_value(exponent, UNIT_NONE, fit.b));
    } else if (ret == 0) {
        log_warn("no power law is fitted: it needs three runs or more that "
                 "end at different places");
    }
    free(ends.x);
    free(ends.y);
    runs_free(&runs);
    return ret;
}

static int scaling_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_scaling, argc, argv, e);
}

const struct cmd cmd_scaling = {
    .name = "scaling",
    .args = "RUN...",
    .help = "draw the loss against FLOPs or tokens, with a power law",
    .opts = scaling_opts,
    .run = scaling_main,
};
