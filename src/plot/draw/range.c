/*
 * range - the scales and ranges of a panel's axes, and of its inset
 */
#include "config.h"
#include "plot/draw/figure_finish.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/num.h"
#include "plot/draw/axis.h"

static bool is_inside(const struct axis *a, double v)
{
    return !(v < a->lo) && !(v > a->hi); /* a NaN is no bound */
}

static void x_range(struct panel *p)
{
    double lo = INFINITY, hi = -INFINITY;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        for (size_t k = 0; k < c->n; k++) {
            if (!isfinite(c->x[k]) || (p->x.scale == SCALE_LOG && c->x[k] <= 0))
                continue;
            lo = fmin(lo, c->x[k]);
            hi = fmax(hi, c->x[k]);
        }
    }
    /* an axis without a margin begins at 0 if the lines begin near it */
    if (p->x.scale != SCALE_LOG && p->x.margin <= 0 && lo > 0 && lo < 0.06 * hi)
        lo = 0;
    axis_range(&p->x, lo, hi, p->x.margin);
}

enum { FEW = 50 }; /* with fewer values, all are shown */

/* A sample of what is drawn on one y axis, and its exact extremes. */
struct sample {
    double value[20000];
    size_t n;
    double lo, hi, hi_x;
};

static void take_sample(struct sample *s, const struct panel *p, bool right,
                        const struct axis *x, bool log)
{
    size_t all = 0, step;

    *s = (struct sample){ .lo = INFINITY, .hi = -INFINITY };
    for (size_t i = 0; i < p->n_curves; i++)
        all += p->curve[i].right == right ? p->curve[i].n : 0;
    step = all / (sizeof s->value / sizeof s->value[0]) + 1;
    all = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (c->right != right)
            continue;
        for (size_t k = 0; k < c->n; k++) {
            if (!isfinite(c->y[k]) || (log && c->y[k] <= 0) ||
                !is_inside(x, c->x[k]))
                continue;
            if (c->y[k] > s->hi)
                s->hi = c->y[k], s->hi_x = c->x[k];
            s->lo = fmin(s->lo, c->y[k]);
            if (all++ % step == 0)
                s->value[s->n++] = c->y[k];
        }
    }
}

/* Make room for error bars, bands and baselines that are near the lines. */
static void widen_range(const struct panel *p, const struct axis *x, bool right,
                        double *lo, double *hi)
{
    const double span = *hi - *lo, low = *lo, high = *hi;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (!c->lo || c->right != right)
            continue;
        for (size_t k = 0; k < c->n; k++) {
            if (!is_inside(x, c->x[k]))
                continue;
            if (c->lo[k] > low - span)
                *lo = fmin(*lo, c->lo[k]);
            if (c->hi[k] < high + span)
                *hi = fmax(*hi, c->hi[k]);
        }
    }
    for (size_t i = 0; i < p->n_marks; i++) {
        const struct mark *m = &p->mark[i];

        if (m->type == MARK_AT_Y && !right && isfinite(m->y) &&
            m->y > low - 3 * span && m->y < high + 3 * span) {
            *lo = fmin(*lo, m->y);
            *hi = fmax(*hi, m->y);
        }
    }
}

/* Count the values above the range that is shown. */
static size_t count_above(const struct panel *p, bool right, double hi,
                          const struct axis *x)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        for (size_t k = 0; c->right == right && !c->faint && k < c->n; k++)
            n += isfinite(c->y[k]) && c->y[k] > hi && is_inside(x, c->x[k]);
    }
    return n;
}

static bool is_outlined(const struct panel *p)
{
    for (size_t i = 0; i < p->n_curves; i++)
        if (p->curve[i].outlined)
            return true;
    return false;
}

/* "3 points above 7.5"; of outlined curves, their number is not known. */
static void note_cut(struct figure *f, const struct axis *x,
                     const struct axis *y, const struct sample *s, size_t n,
                     bool known)
{
    char text[32], at[32], limit[32];

    axis_value(limit, y->unit, y->hi);
    axis_value(text, y->unit, s->hi);
    axis_value(at, x->unit, s->hi_x);
    if (known)
        figure_note(f, "%zu point%s above %s cut off, up to %s at %s %s.", n,
                    n == 1 ? "" : "s", limit, text, x->label, at);
    else
        figure_note(f, "Points above %s are cut off, up to %s at %s %s.", limit,
                    text, x->label, at);
}

/* Is a point labelled?  The label needs room. */
static bool has_label(const struct panel *p)
{
    for (size_t i = 0; i < p->n_marks; i++)
        if (p->mark[i].type == MARK_AT_XY && p->mark[i].label)
            return true;
    return false;
}

/* From this x on, the values of the first steps are over: after 2% of the
 * range, if that makes at least a fifth of the height free.  Otherwise the
 * lower end of x. */
static double settled_from(const struct panel *p, const struct axis *y,
                           struct sample *s)
{
    const struct sample all = { .lo = s->lo, .hi = s->hi };
    struct axis x = p->x;
    double span, whole;
    size_t longest = 0;

    for (size_t i = 0; i < p->n_curves; i++)
        if (p->curve[i].n > longest)
            longest = p->curve[i].n;
    if (longest < FEW || !y->settles || y->whole || y->fixed ||
        p->x.scale == SCALE_LOG)
        return p->x.lo;
    x.lo += 0.02 * (x.hi - x.lo);
    take_sample(s, p, false, &x, y->scale == SCALE_LOG);
    span = y->scale == SCALE_LOG ? log(s->hi / all.lo) : s->hi - all.lo;
    whole = y->scale == SCALE_LOG ? log(all.hi / all.lo) : all.hi - all.lo;
    s->lo = all.lo;
    if (s->n >= 2 && span > 0 && span < 0.8 * whole)
        return x.lo;
    take_sample(s, p, false, &p->x, y->scale == SCALE_LOG);
    return p->x.lo;
}

/* Mark where curves come down from above, and say so. */
static void note_start(struct figure *f, struct panel *p, double until,
                       double most)
{
    const bool many = f->n_panels > 1 && p->title;
    const char *whole = f->look.whole;
    char at[32], value[32];
    double last = NAN;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        for (size_t k = 0; k < c->n && !c->faint && !c->right; k++)
            if (c->x[k] >= p->x.lo && c->x[k] < until && c->y[k] > p->y.hi)
                last = fmax(isnan(last) ? c->x[k] : last, c->x[k]);
    }
    if (isnan(last))
        return;
    p->y.fixed = true; /* what the mark and the note say stays true */
    panel_mark(p, MARK_ABOVE, last, p->y.hi);
    figure_note(f, "%s%she start, to %s %s and up to %s, is above%s%s%s.",
                many ? p->title : "", many ? ": t" : "T", p->x.label,
                axis_value(at, p->x.unit, last),
                axis_value(value, p->y.unit, most), whole ? "; " : "",
                whole ? whole : "", whole ? " shows it" : "");
}

static void y_range(struct figure *f, struct panel *p, bool right)
{
    struct axis *y = right ? &p->y2 : &p->y, x = p->x;
    struct sample *s = xmalloc(sizeof *s);
    bool log;
    double lo, hi, most, cut = INFINITY;

    y->fixed = !isnan(y->hi);
    take_sample(s, p, right, &p->x, false);
    axis_scale(y, s->value, s->n);
    log = y->scale == SCALE_LOG;
    if (log)
        take_sample(s, p, right, &p->x, true);
    most = s->hi;
    if (!right)
        x.lo = settled_from(p, y, s);
    lo = s->lo;
    hi = s->hi;
    if (!y->fixed && !y->whole && s->n >= FEW) {
        double q_lo, q_hi, span;

        num_sort(s->value, s->n);
        q_lo = s->value[s->n / 200];
        q_hi = s->value[s->n - 1 - s->n / 200];
        span = log ? q_hi / q_lo : q_hi - q_lo;
        if (log ? hi > q_hi * pow(span, 8) : span > 0 && hi > q_hi + 8 * span)
            hi = cut = log ? q_hi * span : q_hi + 1.5 * span;
    }
    widen_range(p, &x, right, &lo, &hi);
    if (y->unit == UNIT_PERCENT && y->from_zero && hi > 85 && hi < 100)
        hi = 100;
    axis_range(y, lo, hi, !right && has_label(p) ? 0.1 : 0.04);
    if (x.lo > p->x.lo)
        note_start(f, p, x.lo, most);
    if (isfinite(cut)) {
        const size_t n = count_above(p, right, y->hi, &x);

        if (n)
            note_cut(f, &p->x, y, s, n, !is_outlined(p));
    }
    free(s);
}

static void inset_range(struct panel *p)
{
    struct sample *s = xmalloc(sizeof *s);

    p->inset_x = p->x;
    p->inset_x.scale = SCALE_LINEAR;
    p->inset_x.lo = p->inset_lo;
    p->inset_x.hi = p->inset_hi;
    p->inset_y = p->y;
    p->inset_y.lo = p->inset_y.hi = NAN;
    take_sample(s, p, false, &p->inset_x, p->y.scale == SCALE_LOG);
    axis_range(&p->inset_y, s->lo, s->hi, 0.05);
    free(s);
}

void range_choose(struct figure *f, struct panel *p)
{
    if (p->x.scale == SCALE_AUTO)
        p->x.scale = SCALE_LINEAR;
    if (p->x.unit != UNIT_NAMED)
        x_range(p);
    y_range(f, p, false);
    if (p->has_y2)
        y_range(f, p, true);
    if (isfinite(p->inset_lo))
        inset_range(p);
}
