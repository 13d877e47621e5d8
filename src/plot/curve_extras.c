/*
 * curve_extras - what comes with the curves of a panel: a magnified part of
 * them, their forecasts, and their rows in the table below the figure
 */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/path.h"
#include "plot/curve_kind.h"
#include "plot/curves.h"
#include "plot/draw/axis.h"
#include "store/analysis/forecast_run.h"
#include "store/analysis/spike.h"
#include "store/read/runs.h"

enum { MOST_MARKS = 400, NAMED = 3 /* runs in a tally */ };

static void add_to(struct tally *t, const struct run_info *run,
                   const char *what, long long number)
{
    if (t->seen[run - t->run])
        return;
    t->seen[run - t->run] = true;
    if (t->n++ < NAMED)
        buf_printf(&t->text, "%s%s %s %lld", t->n > 1 ? ", " : "", run->name,
                   what, number);
}

void mark_tally(struct figure *f, struct tally *t, const char *what)
{
    if (t->n > NAMED)
        figure_note(f, "%s, %zu runs: %s, and %zu more.", what, t->n, t->text.s,
                    t->n - NAMED);
    else if (t->n)
        figure_note(f, "%s: %s.", what, t->text.s);
    buf_clear(&t->text);
}

void mark_bad(const struct marked *c)
{
    const struct history *h = c->history;
    const struct metric_sum *m = run_info_metric(c->run, c->key);
    size_t n = 0, first = 0;
    double last = -INFINITY;

    for (size_t i = 0; i < h->n; i++) {
        if (isfinite(h->y[i]))
            continue;
        if (n++ == 0)
            first = i;
        /* one mark is enough for several values at one x */
        if (n > MOST_MARKS || h->x[i] <= last)
            continue;
        last = h->x[i];
        panel_mark(c->panel, MARK_NAN, h->x[i], NAN)->colour = c->slot;
    }
    if (n && h->coarse && m) /* it has one of each block */
        n = (size_t)m->nonfinite;
    if (n && c->bad)
        add_to(c->bad, c->run, "from step", (long long)h->step[first]);
    else if (n)
        figure_note(c->figure,
                    "\xc3\x97 marks %zu value%s that %s not finite, the "
                    "first at step %lld.",
                    n, n == 1 ? "" : "s", n == 1 ? "is" : "are",
                    (long long)h->step[first]);
}

/* Frequent events are ticks: lines would hide the curves. */
void mark_tick(struct panel *p, double x, int slot)
{
    struct mark *m = panel_mark(p, MARK_AT_X, x, NAN);

    m->small = true;
    m->colour = slot;
}

static void mark_resumes(const struct marked *c)
{
    int64_t step[MOST_MARKS];
    const size_t n = history_resumes(c->run, c->key, step, MOST_MARKS);

    for (size_t i = 0; i < n; i++) {
        const double x = history_x(c->history, step[i]);

        if (isfinite(x))
            panel_mark(c->panel, MARK_AT_X, x, NAN)->label =
                i == 0 ? "resume" : NULL;
    }
}

void mark_seam(struct panel *p, const struct run_info *run,
               const char *const *names, const struct history *h)
{
    const char *key = history_find(run, names);
    const struct metric_sum *m = key ? run_info_metric(run, key) : NULL;
    const double x = m ? history_x(h, m->first_step) : (double)NAN;

    if (isfinite(x))
        panel_mark(p, MARK_AT_X, x, NAN)->label = "resume";
}

/* The number that ends a checkpoint's name: "step-000050" is 50. */
static int64_t step_of(const char *name)
{
    const char *end = name + strcspn(name, ".");
    const char *begin = end;

    while (begin > name && isdigit((unsigned char)begin[-1]))
        begin--;
    return begin < end && end - begin < 18 ? strtoll(begin, NULL, 10) : -1;
}

static void mark_checkpoints(const struct marked *c)
{
    AUTO(path_list_clear) struct path_list list = { 0 };
    AUTO_FREE char *folder = path_join(c->run->artifacts, "checkpoints");
    bool any = false;

    if (!path_is_link(folder) || !path_leaves(folder, run_info_inside(c->run)))
        path_list(&list, folder, ERR_IGNORED);
    for (size_t i = 0; i < list.n; i++) {
        const int64_t step = step_of(list.name[i]);
        const double x = step < 0 ? (double)NAN : history_x(c->history, step);

        if (isfinite(x) && c->panel->n_marks < MOST_MARKS) {
            mark_tick(c->panel, x, COLOUR_GREY);
            any = true;
        }
    }
    if (any)
        figure_note(c->figure, "Ticks above: checkpoints.");
    else
        figure_note(c->figure, "%s keeps no checkpoints among its artifacts.",
                    c->run->name);
}

static void mark_best(const struct marked *c)
{
    const struct history *h = c->history;
    const bool high = curve_kind_high_is_good(c->key);
    size_t best = h->n;
    char value[32];
    struct mark *m;

    for (size_t i = 0; i < h->n; i++)
        if (isfinite(h->y[i]) &&
            (best == h->n ||
             (high ? h->y[i] > h->y[best] : h->y[i] < h->y[best])))
            best = i;
    if (best == h->n)
        return;
    m = panel_mark(c->panel, MARK_AT_XY, h->x[best], h->y[best]);
    m->colour = c->slot;
    m->label = arena_strdup(&c->figure->mem,
                            axis_value(value, c->panel->y.unit, h->y[best]));
}

/* The command that shows what was in the batch of a training step, or NULL. */
static const char *batch_command(const struct marked *c, int64_t step)
{
    AUTO(buf_clear) struct buf command = BUF_INIT;

    if (strcmp(c->key, "train/loss") != 0)
        return NULL;
    buf_str(&command, "gtrain batch ");
    buf_shell_short(&command, c->run->name);
    buf_printf(&command, " %lld", (long long)step);
    return arena_strdup(&c->figure->mem, command.s);
}

static void note_highest(const struct marked *c, int64_t step)
{
    const char *command = batch_command(c, step);

    if (!command)
        return;
    log_info("'%s' shows the documents of the highest spike", command);
    figure_note(c->figure, "The highest spike of %s is at step %lld; see '%s'.",
                c->run->name, (long long)step, command);
}

static void mark_spike(const struct marked *c, int64_t step, double value)
{
    const double x = history_x(c->history, step);
    struct mark *m;

    if (!isfinite(x) || c->panel->n_marks >= MOST_MARKS)
        return;
    m = panel_mark(c->panel, MARK_AT_XY, x, value);
    m->colour = c->slot;
    m->command = batch_command(c, step);
}

/* Whether a value is a spike depends on all values before it, so an outline
 * will not do. */
static void mark_spikes(const struct marked *c)
{
    const struct history *h = c->history;
    struct spike_window window = { .n = 0 };
    AUTO(series_free) struct series all = { 0 };
    struct series s = { .n = h->n, .step = h->step, .value = h->y };
    size_t found = 0, highest = 0;

    if (h->weight && series_load(&all, c->run, c->key, 0, ERR_IGNORED) == 0)
        s = all;
    for (size_t i = 0; i < s.n; i++) {
        double middle;
        const double score = spike_score(&window, s.value[i], &middle);

        if (!isfinite(s.value[i]) || !(score > SPIKE_DEVIATIONS))
            continue;
        if (found++ == 0 || s.value[i] > s.value[highest])
            highest = i;
        mark_spike(c, s.step[i], s.value[i]);
    }
    if (found && c->spikes)
        add_to(c->spikes, c->run, "has", (long long)found);
    else if (!c->spikes)
        figure_note(c->figure, "%zu spike%s circled.", found,
                    found == 1 ? "" : "s");
    if (found && !(c->spikes && c->spikes->n > 3))
        note_highest(c, s.step[highest]);
}

static void mark_evals(const struct marked *c)
{
    const struct curve_kind *loss = curve_kind_find("loss");
    const char *key = history_find(c->run, loss->line[1].names);
    AUTO(series_free) struct series s = { 0 };

    if (!key || series_load(&s, c->run, key, 0, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < s.n && i < MOST_MARKS; i++) {
        const double x = history_x(c->history, s.step[i]);

        if (isfinite(x))
            mark_tick(c->panel, x, 1);
    }
    figure_note(c->figure, "Ticks above, coloured: evaluations.");
}

void mark_wanted(const struct marked *c, unsigned marks)
{
    if (marks & 1U << SHOW_RESUME)
        mark_resumes(c);
    if (marks & 1U << SHOW_CHECKPOINT)
        mark_checkpoints(c);
    if (marks & 1U << SHOW_EVAL)
        mark_evals(c);
    if (marks & 1U << SHOW_SPIKE)
        mark_spikes(c);
    if (marks & 1U << SHOW_BEST)
        mark_best(c);
}

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
    AUTO(forecast_run_clear) struct run_forecast f = { 0 };
    struct err e = { 0 };

    if (figure_store(b, &e) < 0 ||
        forecast_run(&f, &r, &b->store, run, &e) < 0) {
        log_warn("%s", e.text);
    } else {
        add_curve(b, p, run, key, &f, slot);
        note_forecast(b->figure, &f.point[f.n - 1]);
    }
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
