/*
 * curve_summary - what the table below a figure says of a curve
 */
#include "config.h"

#include <stdlib.h>

#include "common/log.h"
#include "plot/curves.h"
#include "store/read/run_rate.h"

static void add(struct table *t, const struct curve_summary *c,
                const char *metric, const double *y)
{
    figure_summary_add(t, c->name, metric, c->unit, y, c->history->step,
                       c->history->n);
}

/* The lowest value may be that of one lucky batch, so the smoothed values have
 * a row as well. */
static void add_smoothed(struct table *t, const struct curve_summary *c)
{
    const struct history *h = c->history;
    double *y = xcalloc(h->n + 1, sizeof *y);

    add(t, c, arena_printf(&t->mem, "%s, single steps", c->key), h->y);
    history_smooth(h, c->how, y);
    add(t, c, arena_printf(&t->mem, "%s, smoothed", c->key), y);
    free(y);
}

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
    if (c->how)
        add_smoothed(t, c);
    else
        add(t, c, c->key, c->history->y);
    if (run_rate_is(c->key) && !r->stitch)
        add_speed(t, c, r);
}
