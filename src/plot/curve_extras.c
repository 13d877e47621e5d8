/*
 * curve_extras - what comes with the curves of a panel: a magnified part of
 * them, their forecasts, and their rows in the table below the figure
 */
#include "config.h"
#include "plot/curves.h"

#include <math.h>
#include <string.h>

#include "common/log.h"
#include "plot/draw/axis.h"
#include "store/analysis/forecast_run.h"
#include "store/read/run_rate.h"

void curves_inset(struct build *b, struct panel *p)
{
    struct figure *f = b->figure;
    struct panel *q;
    double lo = INFINITY, hi = -INFINITY;
    const char *title;
    char from[32], to[32];

    if (!b->request->inset || f->n_panels > 1)
        return;
    for (size_t i = 0; i < p->n_curves; i++)
        for (size_t k = 0; k < p->curve[i].n; k++) {
            lo = fmin(lo, p->curve[i].x[k]);
            hi = fmax(hi, p->curve[i].x[k]);
        }
    lo = fmax(lo, p->x.lo);
    hi = fmin(hi, p->x.hi);
    if (!(p->inset_hi - p->inset_lo > 0.5 * (hi - lo)))
        return;
    title = arena_printf(&f->mem, "%s, %s %s to %s",
                         p->title ? p->title : p->y.label, p->x.label,
                         axis_value(from, p->x.unit, p->inset_lo),
                         axis_value(to, p->x.unit, p->inset_hi));
    q = figure_panel(f, title);
    title = q->title;
    *q = *p;
    q->title = title;
    q->curve = xcalloc(p->n_curves, sizeof *q->curve);
    memcpy(q->curve, p->curve, p->n_curves * sizeof *q->curve);
    q->curve_room = p->n_curves;
    q->mark = xcalloc(p->n_marks + 1, sizeof *q->mark);
    if (p->n_marks)
        memcpy(q->mark, p->mark, p->n_marks * sizeof *q->mark);
    q->mark_room = p->n_marks + 1;
    q->x.lo = p->inset_lo;
    q->x.hi = p->inset_hi;
    p->inset_lo = q->inset_lo = NAN;
    f->shared = true;
    if (!b->request->size)
        f->look.height *= 1.6;
}

/* ---- the forecast of the rest of a curve -------------------------------- */

enum { POINTS = 50, DASH = 2 };

/* The interval begins where the curve ends, with no width. */
static void add_curve(struct build *b, struct panel *p,
                      const struct run_info *run, const char *key,
                      const struct run_forecast *f, int slot)
{
    const char *label = arena_printf(&b->figure->mem, "%s, forecast", key);
    struct curve *c = panel_curve(b->figure, p, label, (size_t)f->n + 1);
    const bool band = f->point[f->n - 1].value.coverage > 0;

    c->run = run->name;
    c->id = run->id;
    c->colour = slot;
    c->dash = DASH;
    c->unlisted = true;
    if (band)
        curve_band(b->figure, c);
    for (int i = 0; i <= f->n; i++) {
        const struct forecast_point now = { f->now,
                                            { f->last, f->last, f->last, 0 },
                                            0 };
        const struct forecast_point *at = i > 0 ? &f->point[i - 1] : &now;

        c->x[i] = (double)at->step;
        c->y[i] = at->value.loss;
        if (band) {
            c->lo[i] = at->value.low;
            c->hi[i] = at->value.high;
        }
    }
}

static void note_forecast(struct figure *f, const struct forecast_point *end)
{
    if (end->value.coverage > 0)
        figure_note(f,
                    "Dotted: the forecast, and the interval that has the value "
                    "with a probability of %.0f%%, tested on %lld other runs.",
                    100 * end->value.coverage, (long long)end->tested_on);
    else
        figure_note(f, "Dotted: the forecast; fewer than three other finished "
                       "runs test it, so it has no interval.");
}

void curve_forecast(struct build *b, struct panel *p,
                    const struct run_info *run, const char *key, int slot)
{
    const struct forecast_request r = { key, 0, POINTS };
    struct run_forecast f = { 0 };
    struct err e = { 0 };

    if (figure_store(b, &e) < 0 ||
        forecast_run(&f, &r, &b->store, run, &e) < 0) {
        log_warn("%s", e.text);
    } else {
        add_curve(b, p, run, key, &f, slot);
        note_forecast(b->figure, &f.point[f.n - 1]);
    }
    forecast_run_clear(&f);
}

/* ---- the table below the figure ------------------------------------------ */

/* The speed of all steps that are drawn together. */
static void add_speed(struct table *t, const struct curve_summary *c,
                      const struct request *r)
{
    const struct history *h = c->history;
    size_t first = 0, end = h->n;
    struct err e = { 0 };
    const char *name;
    double speed;

    while (first < end && ((r->skip > 0 && h->step[first] <= r->skip) ||
                           h->x[first] < r->x_lo))
        first++;
    while (end > first && h->x[end - 1] > r->x_hi)
        end--;
    if (first == end)
        return;
    if (first == 0 && end == h->n) {
        name = arena_printf(&t->mem, "%s, over time", c->key);
        speed = run_rate(c->run, c->key, &e);
    } else {
        name = arena_printf(&t->mem, "%s, over time from step %lld to %lld",
                            c->key, (long long)h->step[first],
                            (long long)h->step[end - 1]);
        speed = run_rate_between(c->run, c->key, h->step[first] - 1,
                                 h->step[end - 1], &e);
    }
    if (e.kind)
        log_lack(e.text);
    figure_summary_add(t, c->name, name, c->unit, &speed, &h->step[end - 1], 1);
}

void curve_summarise(struct table *t, const struct curve_summary *c,
                     const struct request *r)
{
    struct history *h = c->history;

    figure_summary_add(
        t, c->name,
        arena_printf(&t->mem, "%s%s", c->key, c->how ? ", single steps" : ""),
        c->unit, h->y, h->step, h->n);
    if (c->how) /* the lowest value may be that of one lucky batch */
        figure_summary_add(t, c->name,
                           arena_printf(&t->mem, "%s, smoothed", c->key),
                           c->unit, history_smooth(h, c->how), h->step, h->n);
    if (run_rate_is(c->key) && !r->stitch)
        add_speed(t, c, r);
}
