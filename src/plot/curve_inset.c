/*
 * curve_inset - a panel instead of a window that would not magnify
 */
#include "config.h"
#include "plot/curves.h"

#include <math.h>
#include <string.h>

#include "plot/draw/axis.h"

void curves_inset(struct build *b, struct panel *p)
{
    struct figure *f = b->figure;
    struct panel *q;
    double lo = INFINITY, hi = -INFINITY;
    const char *title;
    char from[32], to[32];

    for (size_t i = 0; i < p->n_curves; i++)
        for (size_t k = 0; k < p->curve[i].n; k++) {
            lo = fmin(lo, p->curve[i].x[k]);
            hi = fmax(hi, p->curve[i].x[k]);
        }
    lo = fmax(lo, p->x.lo);
    hi = fmin(hi, p->x.hi);
    if (!b->request->inset || f->n_panels > 1 ||
        !(p->inset_hi - p->inset_lo > 0.5 * (hi - lo)))
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
