/*
 * fig_scaling - loss against tokens or FLOPs, with a power law
 *
 * Both axes are logarithmic; the power law is fitted to the best value of each
 * run.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "common/log.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/fit.h"
#include "plot/history.h"
#include "plot/options.h"

static const char *const losses[] = {
    "val/loss",        "valid_loss", "val_loss", "eval/loss",  "eval_loss",
    "validation_loss", "train/loss", "loss",     "train_loss", NULL
};

struct ends {
    double *x, *y;
    size_t n;
};

/* The law, from a quarter of a decade before the first end to as much after
 * the last. */
static void draw_law(struct figure *f, struct panel *p, const struct fit *fit,
                     const struct ends *ends, const char *symbol)
{
    enum { STEPS = 60 };
    double lo = INFINITY, hi = 0;
    struct curve *c;
    char scale[32], exponent[32];

    for (size_t i = 0; i < ends->n; i++) {
        lo = fmin(lo, ends->x[i]);
        hi = fmax(hi, ends->x[i]);
    }
    lo /= 1.8;
    hi *= 1.8;
    c = panel_curve(
        f, p,
        arena_printf(&f->mem, "%s %s^\xe2\x88\x92%s, R\xc2\xb2 = %.4f",
                     axis_value(scale, UNIT_NONE, fit->a), symbol,
                     axis_value(exponent, UNIT_NONE, fit->b), fit->r2),
        STEPS + 1);
    for (int i = 0; i <= STEPS; i++) {
        c->x[i] = lo * pow(hi / lo, (double)i / STEPS);
        c->y[i] = fit->a * pow(c->x[i], -fit->b);
    }
    c->colour = COLOUR_GREY;
    c->dash = 1;
    c->run = "fit";
}

static size_t find_best(const struct history *h)
{
    size_t best = h->n;

    for (size_t i = 0; i < h->n; i++)
        if (h->y[i] > 0 && h->x[i] > 0 && isfinite(h->y[i]) &&
            (best == h->n || h->y[i] < h->y[best]))
            best = i;
    return best;
}

static int draw_runs(struct build *b, struct panel *p, const struct request *r,
                     struct ends *ends, struct err *e)
{
    struct table *t = b->summary;

    for (size_t i = 0; i < b->set.n; i++) {
        const char *name = b->set.name[i];
        const char *key = history_find(&b->set.run[i], losses);
        struct history h;
        struct curve *c;
        size_t best;

        if (!key) {
            log_warn("%s has no loss and is left out", name);
            continue;
        }
        if (history_load(&h, &b->set.run[i], key, r, e) < 0)
            return -1;
        history_skip(&h, r->skip);
        c = history_curve(b->figure, p, name, &h);
        c->run = name;
        c->colour = b->set.slot[i];
        best = find_best(&h);
        if (best < h.n) {
            ends->x[ends->n] = h.x[best];
            ends->y[ends->n++] = h.y[best];
            panel_mark(p, MARK_AT_XY, h.x[best], h.y[best])->colour = c->colour;
            table_text(t, name);
            table_text(t, key);
            table_real(t, h.x[best]);
            table_real(t, h.y[best]);
        }
        history_free(&h);
    }
    return ends->n ? 0 : err_set(e, ERR_MISSING, "no run has a loss to fit");
}

static void fit_law(struct figure *f, struct panel *p, const struct ends *ends,
                    enum along along)
{
    char scale[32], exponent[32];
    struct fit fit;

    if (!fit_power(&fit, ends->x, ends->y, ends->n)) {
        log_warn("no power law is fitted: it needs three runs or more that "
                 "end at different places");
        return;
    }
    draw_law(f, p, &fit, ends,
             along == ALONG_TOKENS  ? "D"
             : along == ALONG_FLOPS ? "C"
                                    : "x");
    figure_note(f,
                "Fitted to the best loss of each run (circled): "
                "loss = a\xc2\xb7x^\xe2\x88\x92"
                "b, a = %s, b = %s, in logarithms.",
                axis_value(scale, UNIT_NONE, fit.a),
                axis_value(exponent, UNIT_NONE, fit.b));
}

static int build_scaling(struct build *b, struct err *e)
{
    struct request r = *b->request;
    struct ends ends = { 0 };
    struct panel *p;
    int ret;

    if (r.x < 0)
        r.along = ALONG_FLOPS;
    if (figure_runs(b, 0, e) < 0)
        return -1;
    p = figure_panel(b->figure, "Scaling");
    history_axis(&r, &p->x);
    axis_init(&p->y, "loss (nats/token)", UNIT_NONE);
    request_axes(&r, p);
    if (p->x.scale == SCALE_AUTO)
        p->x.scale = SCALE_LOG;
    if (p->y.scale == SCALE_AUTO)
        p->y.scale = SCALE_LOG;
    table_clear(b->summary);
    *b->summary = (struct table)TABLE_INIT("gplot.scaling/1");
    table_columns(b->summary, "run", "metric", p->x.label, "loss", NULL);
    ends.x = xcalloc(b->set.n + 1, sizeof *ends.x);
    ends.y = xcalloc(b->set.n + 1, sizeof *ends.y);
    ret = draw_runs(b, p, &r, &ends, e);
    if (ret == 0)
        fit_law(b->figure, p, &ends, r.along);
    free(ends.x);
    free(ends.y);
    return ret;
}

static const struct figure_type scaling = { build_scaling, 1, "runs are" };

const struct cmd cmd_scaling = {
    .name = "scaling",
    .args = "RUN...",
    .help = "draw the loss against FLOPs or tokens, with a power law",
    .opts = scaling_opts,
    .run = figure_main,
    .arg = &scaling,
};
