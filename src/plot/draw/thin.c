/*
 * thin - drop points that cannot be seen
 */
#include "config.h"
#include "plot/draw/figure_finish.h"

#include <math.h>
#include <stdlib.h>

#include "plot/draw/axis.h"

/* Indices to keep of one column: first, last and extremes. */
struct column {
    size_t first, last, low, high, lowest, highest;
    bool any, any_finite;
    size_t n; /* finite points */
};

enum { CROWD = 8 };

struct kept {
    size_t *index;
    size_t n, room;
};

static void keep(struct kept *k, size_t i)
{
    if (k->n && k->index[k->n - 1] == i)
        return;
    APPEND(k->index, k->n, k->room) = i;
}

static int by_index(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void column_flush(struct column *c, struct kept *k)
{
    size_t all[] = {
        c->first, c->low, c->high, c->lowest, c->highest, c->last
    };

    if (!c->any)
        return;
    if (!c->any_finite) {
        keep(k, c->first);
    } else {
        /* of many points in a column, only the extremes are visible */
        if (c->n >= CROWD) {
            all[0] = c->low;
            all[5] = c->high;
        }
        qsort(all, sizeof all / sizeof all[0], sizeof all[0], by_index);
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            keep(k, all[i]);
    }
    *c = (struct column){ 0 };
}

static void column_add(struct column *c, const struct curve *v, size_t i)
{
    if (!c->any)
        *c = (struct column){ .any = true, .first = i };
    if (!isfinite(v->y[i]))
        return;
    if (!c->any_finite) {
        *c = (struct column){ i, i, i, i, i, i, true, true, 1 };
        return;
    }
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

static double *pick(const double *from, const struct kept *k, struct arena *mem)
{
    double *to = arena_alloc(mem, (k->n + 1) * sizeof *to);

    for (size_t i = 0; i < k->n; i++)
        to[i] = from[k->index[i]];
    return to;
}

void thin_curve(struct curve *v, const struct axis *x, int columns,
                struct arena *mem)
{
    struct column c = { 0 };
    struct kept k = { 0 };
    long now = -1;

    if (columns <= 0 || v->n <= 4 * (size_t)columns)
        return;
    for (size_t i = 1; i < v->n; i++)
        if (v->x[i] < v->x[i - 1])
            return; /* the points are no line, so there are no columns */
    for (size_t i = 0; i < v->n; i++) {
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
            column_flush(&c, &k);
        now = at;
        column_add(&c, v, i);
        if (place > 1 && isfinite(v->y[i]))
            break;
    }
    column_flush(&c, &k);
    v->x = pick(v->x, &k, mem);
    v->y = pick(v->y, &k, mem);
    if (v->lo)
        v->lo = pick(v->lo, &k, mem);
    if (v->hi)
        v->hi = pick(v->hi, &k, mem);
    v->n = k.n;
    free(k.index);
}

/* The mean and the extremes of the points of one column. */
struct mean {
    double x, y, lo, hi;
    size_t n;
};

static void end_column(struct curve *to, struct mean *m)
{
    if (m->n == 0)
        return;
    to->x[to->n] = m->x / (double)m->n;
    to->y[to->n] = m->y / (double)m->n;
    to->lo[to->n] = m->lo;
    to->hi[to->n++] = m->hi;
    *m = (struct mean){ 0 };
}

bool thin_crowd(struct curve *v, const struct axis *x, int columns,
                struct arena *mem)
{
    const size_t room = 2 * (size_t)columns + 4;
    struct curve to = *v;
    struct mean m = { 0 };
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
    to.crowd = true;
    for (size_t i = 0; i < v->n; i++) {
        const double place = axis_place(x, v->x[i]);
        const long at = (long)(place * columns);

        if (!(place >= 0 && place <= 1))
            continue;
        if (at != now)
            end_column(&to, &m);
        now = at;
        m.lo = m.n ? fmin(m.lo, v->y[i]) : v->y[i];
        m.hi = m.n ? fmax(m.hi, v->y[i]) : v->y[i];
        m.x += v->x[i];
        m.y += v->y[i];
        m.n++;
    }
    end_column(&to, &m);
    *v = to;
    return true;
}
