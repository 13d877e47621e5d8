/*
 * curve_forecast - the forecast of the rest of a curve
 */
#include "config.h"
#include "plot/curves.h"

#include "common/log.h"
#include "store/analysis/forecast_run.h"

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
