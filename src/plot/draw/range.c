/*
 * range - the scales and ranges of a panel's axes, and of its inset
 */
#include "config.h"
#include "plot/draw/figure_finish.h"

#include <math.h>

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
            lo = c->x[k] < lo ? c->x[k] : lo;
            hi = c->x[k] > hi ? c->x[k] : hi;
        }
    }
    /* an axis without a margin begins at 0 if the lines begin near it */
    if (p->x.scale != SCALE_LOG && p->x.margin <= 0 && lo > 0 && lo < 0.06 * hi)
        lo = 0;
    axis_range(&p->x, lo, hi, p->x.margin);
}

enum { FEW = 50 }; /* with fewer values, all are shown */

/* Which curves of a y axis: smoothed where they are, or single values only. */
enum which { SMOOTHED, SINGLE };

static bool is_of(const struct curve *c, enum which which)
{
    return which == SINGLE ? !c->smoothed && (c->raw || !c->faint) : !c->raw;
}

/* A sample of what is drawn on one y axis, and its exact extremes. */
struct sample {
    double value[20000];
    size_t n;
    double lo, hi, lo_x, hi_x;
};

static void take_sample(struct sample *s, const struct panel *p, bool right,
                        const struct axis *x, enum which which)
{
    const bool log = (right ? p->y2 : p->y).scale == SCALE_LOG;
    size_t all = 0, step, next = 1;

    *s = (struct sample){ .lo = INFINITY, .hi = -INFINITY };
    for (size_t i = 0; i < p->n_curves; i++)
        all += p->curve[i].right == right ? p->curve[i].n : 0;
    step = all / (sizeof s->value / sizeof s->value[0]) + 1;
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (c->right != right || !is_of(c, which))
            continue;
        for (size_t k = 0; k < c->n; k++) {
            if (!isfinite(c->y[k]) || (log && c->y[k] <= 0) ||
                !is_inside(x, c->x[k]))
                continue;
            if (c->y[k] > s->hi)
                s->hi = c->y[k], s->hi_x = c->x[k];
            if (c->y[k] < s->lo)
                s->lo = c->y[k], s->lo_x = c->x[k];
            if (--next == 0) {
                s->value[s->n++] = c->y[k];
                next = step;
            }
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

static bool is_outlined(const struct panel *p)
{
    for (size_t i = 0; i < p->n_curves; i++)
        if (p->curve[i].outlined)
            return true;
    return false;
}

static bool is_beyond(double end, double value, bool above)
{
    return isfinite(value) && (above ? value > end : value < end);
}

/* Mark where single values are beyond the end of an axis; returns how many. */
static size_t mark_cut(struct panel *p, bool right, const struct axis *x,
                       double end)
{
    const double far = (p->x.hi - p->x.lo) / 50;
    const bool above = !(end < (right ? p->y2 : p->y).hi);
    size_t n = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];
        double last = -INFINITY;

        for (size_t k = 0; c->right == right && is_of(c, SINGLE) && k < c->n;
             k++) {
            if (!is_beyond(end, c->y[k], above) || !is_inside(x, c->x[k]))
                continue;
            n++;
            if (c->x[k] - last < far)
                continue;
            last = c->x[k];
            panel_mark(p, above ? MARK_ABOVE : MARK_BELOW, last, NAN)->colour =
                c->colour;
        }
    }
    return n;
}

/* Say how many values are beyond the end of an axis: "3 points above 7.5".  In
 * many places, it is noise, and only those beyond `single` count, as in the
 * terminal, which does not draw raw values.  Of outlined curves, their number
 * is not known. */
static void note_cut(struct figure *f, struct panel *p, bool right,
                     const struct axis *x, const struct sample *s, double end,
                     double single)
{
    enum { MANY = 10 };
    const struct axis *y = right ? &p->y2 : &p->y;
    const bool above = !(end < y->hi);
    const char *side = above ? "above" : "below";
    const char *panel = f->n_panels > 1 && p->title
                            ? arena_printf(&f->mem, "%s: ", p->title)
                            : "";
    char text[32], at[32], limit[32];
    const double beyond = above ? fmax(end, single) : fmin(end, single);
    const size_t before = p->n_marks;
    size_t n;

    if (f->look.plain)
        end = beyond;
    n = mark_cut(p, right, x, end);
    if (p->n_marks > before + MANY) {
        p->n_marks = before;
        end = beyond;
        n = mark_cut(p, right, x, end);
    }
    if (n == 0)
        return;
    axis_value(limit, y->unit, end);
    axis_value(text, y->unit, above ? s->hi : s->lo);
    axis_value(at, x->unit, above ? s->hi_x : s->lo_x);
    if (is_outlined(p))
        figure_note(f, "%s%soints %s %s are cut off, %s to %s at %s %s.", panel,
                    *panel ? "p" : "P", side, limit, above ? "up" : "down",
                    text, x->label, at);
    else
        figure_note(f, "%s%zu point%s %s %s %s cut off, %s to %s at %s %s.",
                    panel, n, n == 1 ? "" : "s", side, limit,
                    n == 1 ? "is" : "are", above ? "up" : "down", text,
                    x->label, at);
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
static double settled_from(const struct panel *p, const struct axis *y)
{
    AUTO_FREE struct sample *s = xmalloc(sizeof *s);
    struct axis x = p->x;
    double lo, hi, whole, span;
    size_t longest = 0, n;

    for (size_t i = 0; i < p->n_curves; i++)
        if (p->curve[i].n > longest)
            longest = p->curve[i].n;
    take_sample(s, p, false, &p->x, SINGLE);
    lo = s->lo;
    hi = s->hi;
    x.lo += 0.02 * (x.hi - x.lo);
    take_sample(s, p, false, &x, SINGLE);
    span = y->scale == SCALE_LOG ? log(s->hi / lo) : s->hi - lo;
    whole = y->scale == SCALE_LOG ? log(hi / lo) : hi - lo;
    n = s->n;
    return longest >= FEW && y->settles && !y->whole && !y->fixed &&
                   p->x.scale != SCALE_LOG && n >= 2 && span > 0 &&
                   span < 0.8 * whole
               ? x.lo
               : p->x.lo;
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

/* An end of a range of which a few values would take more than half: a little
 * beyond all others.  On a logarithmic scale, everything is a logarithm. */
static double robust_end(double end, double most, double other)
{
    const double span = most - other;

    return fabs(end - most) > 1.2 * fabs(span) && fabs(span) > 0
               ? most + 0.15 * span
               : end;
}

/* The ends of the values without those that single ones have moved out. */
static void robust_ends(struct sample *s, bool log_scale, double *lo,
                        double *hi)
{
    const size_t few = s->n / 200 > 1 ? s->n / 200 : 1;
    double q_lo, q_hi;

    *lo = s->lo;
    *hi = s->hi;
    if (s->n < FEW)
        return;
    q_lo = num_nth(s->value, s->n, few);
    q_hi = num_nth(s->value, s->n, s->n - 1 - few);
    if (log_scale) {
        *hi = exp(robust_end(log(*hi), log(q_hi), log(q_lo)));
        *lo = exp(robust_end(log(*lo), log(q_lo), log(q_hi)));
    } else {
        *hi = robust_end(*hi, q_hi, q_lo);
        *lo = robust_end(*lo, q_lo, q_hi);
    }
}

/* What the raw values may add to the range of the smoothed ones at each end:
 * half of it, and more where these are almost level, so that small waves do not
 * look like large ones. */
static double raw_room(const struct figure *f, double smoothed, double raw)
{
    return fmax(f->look.plain ? 0 : smoothed / 2, (raw / 3 - smoothed) / 2);
}

static void y_range(struct figure *f, struct panel *p, bool right)
{
    struct axis *y = right ? &p->y2 : &p->y, x = p->x;
    AUTO_FREE struct sample *s = xmalloc(sizeof *s);
    double lo, hi, single_lo, single_hi, span, most;
    bool whole, log_scale;

    y->fixed = !isnan(y->hi);
    whole = y->fixed || y->whole;
    take_sample(s, p, right, &p->x, SMOOTHED);
    axis_scale(y, s->value, s->n);
    log_scale = y->scale == SCALE_LOG;
    if (log_scale)
        take_sample(s, p, right, &p->x, SMOOTHED);
    most = s->hi;
    lo = s->lo;
    if (!right)
        x.lo = settled_from(p, y);
    take_sample(s, p, right, &x, SMOOTHED);
    s->lo = lo; /* nothing is left out below */
    hi = s->hi;
    if (!whole)
        robust_ends(s, log_scale, &lo, &hi);
    take_sample(s, p, right, &x, SINGLE);
    robust_ends(s, log_scale, &single_lo, &single_hi);
    span =
        whole ? (double)INFINITY : raw_room(f, hi - lo, single_hi - single_lo);
    lo = fmin(lo, fmax(lo - span, whole ? s->lo : single_lo));
    hi = fmax(hi, fmin(hi + span, whole ? s->hi : single_hi));
    widen_range(p, &x, right, &lo, &hi);
    if (y->unit == UNIT_PERCENT && y->from_zero && hi > 85 && hi < 100)
        hi = 100;
    axis_range(y, lo, hi, !right && has_label(p) ? 0.1 : 0.04);
    if (x.lo > p->x.lo)
        note_start(f, p, x.lo, most);
    if (!whole) {
        note_cut(f, p, right, &x, s, y->hi, single_hi);
        note_cut(f, p, right, &x, s, y->lo, single_lo);
    }
}

static void inset_range(const struct figure *f, struct panel *p)
{
    AUTO_FREE struct sample *s = xmalloc(sizeof *s);
    double lo, hi, single_lo, single_hi, room;

    p->inset_x = p->x;
    p->inset_x.scale = SCALE_LINEAR;
    p->inset_x.lo = p->inset_lo;
    p->inset_x.hi = p->inset_hi;
    p->inset_y = p->y;
    p->inset_y.lo = p->inset_y.hi = NAN;
    take_sample(s, p, false, &p->inset_x, SMOOTHED);
    lo = s->lo;
    hi = s->hi;
    take_sample(s, p, false, &p->inset_x, SINGLE);
    robust_ends(s, p->y.scale == SCALE_LOG, &single_lo, &single_hi);
    room = raw_room(f, hi - lo, single_hi - single_lo);
    axis_range(&p->inset_y, fmin(lo, fmax(lo - room, single_lo)),
               fmax(hi, fmin(hi + room, single_hi)), 0.05);
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
        inset_range(f, p);
}
