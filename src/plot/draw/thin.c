/*
 * thin - drop points that cannot be seen
 */
#include "config.h"
#include "plot/draw/figure_finish.h"

#include <math.h>
#include <stdlib.h>

#include "plot/draw/axis.h"

/* Of one column: the first point, the last one, and the extremes. */
struct column {
    size_t first, last, low, high, lowest, highest;
    bool any;
    size_t n; /* finite points */
};

static void column_flush(struct column *c, bool *kept)
{
    enum { CROWD = 8 }; /* so many points, and only the extremes are visible */

    if (c->any && c->n < CROWD)
        kept[c->first] = kept[c->last] = true;
    if (c->n > 0)
        kept[c->low] = kept[c->high] = kept[c->lowest] = kept[c->highest] =
            true;
    *c = (struct column){ 0 };
}

static void column_add(struct column *c, const struct curve *v, size_t i)
{
    const bool finite = isfinite(v->y[i]);

    if (!c->any || (finite && c->n == 0))
        *c = (struct column){ i, i, i, i, i, i, true, finite };
    else if (finite) {
        c->last = i;
        c->n++;
        if (v->y[i] < v->y[c->low])
            c->low = i;
        if (v->y[i] > v->y[c->high])
            c->high = i;
        if (v->lo && v->lo[i] < v->lo[c->lowest])
            c->lowest = i;
        if (v->hi && v->hi[i] > v->hi[c->highest])
            c->highest = i;
    }
}

/* The values that are kept, or NULL of NULL. */
static double *pick(const double *from, const bool *kept, size_t n,
                    size_t n_kept, struct arena *mem)
{
    double *to = from ? arena_alloc(mem, (n_kept + 1) * sizeof *to) : NULL;

    for (size_t i = 0, k = 0; i < n && from; i++)
        if (kept[i])
            to[k++] = from[i];
    return to;
}

void thin_curve(struct curve *v, const struct axis *x, int columns,
                struct arena *mem)
{
    struct column c = { 0 };
    const size_t n = v->n;
    bool *kept;
    long now = -1;

    if (columns <= 0 || n <= 4 * (size_t)columns)
        return;
    for (size_t i = 1; i < n; i++)
        if (v->x[i] < v->x[i - 1])
            return; /* the points are no line, so there are no columns */
    kept = xcalloc(n, sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        const double place = axis_place(x, v->x[i]);
        long at = (long)(place * columns);

        if (isnan(place))
            continue;
        if (place < 0) { /* keep the last point before the range */
            c = (struct column){ 0 };
            at = -2;
        } else if (place > 1) {
            at = columns + 1;
        }
        if (at != now)
            column_flush(&c, kept);
        now = at;
        column_add(&c, v, i);
        if (place > 1 && isfinite(v->y[i]))
            break;
    }
    column_flush(&c, kept);
    v->n = 0;
    for (size_t i = 0; i < n; i++)
        v->n += kept[i];
    v->x = pick(v->x, kept, n, v->n, mem);
    v->y = pick(v->y, kept, n, v->n, mem);
    v->lo = pick(v->lo, kept, n, v->n, mem);
    v->hi = pick(v->hi, kept, n, v->n, mem);
    free(kept);
}

bool thin_crowd(struct curve *v, const struct axis *x, int columns,
                struct arena *mem)
{
    const size_t room = 2 * (size_t)columns + 4;
    struct curve to = *v;
    double *points;
    size_t inside = 0;
    long now = -1;

    for (size_t i = 0; i < v->n; i++) {
        const double place = axis_place(x, v->x[i]);

        inside += place >= 0 && place <= 1;
        if (!isfinite(v->y[i]) || (i > 0 && v->x[i] < v->x[i - 1]))
            return false;
    }
    if (columns <= 0 || v->style != STYLE_LINE || v->lo || v->faint ||
        inside < 4 * (size_t)columns)
        return false;
    to.n = 0;
    to.x = arena_alloc(mem, room * sizeof *to.x);
    to.y = arena_alloc(mem, room * sizeof *to.y);
    to.lo = arena_alloc(mem, room * sizeof *to.lo);
    to.hi = arena_alloc(mem, room * sizeof *to.hi);
    points = arena_alloc(mem, room * sizeof *points);
    to.crowd = true;
    for (size_t i = 0, k = 0; i < v->n; i++) {
        const double place = axis_place(x, v->x[i]), y = v->y[i];
        const long at = (long)(place * columns);

        if (!(place >= 0 && place <= 1))
            continue;
        if (at != now) {
            k = to.n++;
            to.lo[k] = to.hi[k] = y;
        }
        now = at;
        to.lo[k] = y < to.lo[k] ? y : to.lo[k];
        to.hi[k] = y > to.hi[k] ? y : to.hi[k];
        to.x[k] += v->x[i];
        to.y[k] += y;
        points[k]++;
    }
    for (size_t k = 0; k < to.n; k++) {
        to.x[k] /= points[k];
        to.y[k] /= points[k];
    }
    *v = to;
    return true;
}
