#include "config.h"
#include "plot/draw/grid.h"

#include <math.h>

#include "common/utf8.h"
#include "plot/draw/axis.h"

static double clamp(double v)
{
    return fmin(fmax(v, -0.5), 1.5);
}

static void grid_line(struct grid *g, double x0, double y0, double x1,
                      double y1)
{
    int steps;

    x0 = clamp(x0), x1 = clamp(x1), y0 = clamp(y0), y1 = clamp(y1);
    steps = (int)(fmax(fabs(x1 - x0) * GRID_X, fabs(y1 - y0) * GRID_Y)) + 1;
    for (int i = 0; i <= steps; i++) {
        const double t = (double)i / steps;
        const double x = x0 + (x1 - x0) * t, y = y0 + (y1 - y0) * t;

        if (x >= 0 && x <= 1 && y >= 0 && y <= 1)
            g->used[(int)fmin(y * GRID_Y, GRID_Y - 1)]
                   [(int)fmin(x * GRID_X, GRID_X - 1)] = true;
    }
}

void grid_box(struct grid *g, double x0, double y0, double x1, double y1)
{
    for (double y = y0; y < y1 + 1.0 / GRID_Y; y += 1.0 / GRID_Y)
        grid_line(g, x0, fmin(y, y1), x1, fmin(y, y1));
}

static void grid_curve(struct grid *g, const struct panel *p,
                       const struct curve *c)
{
    const struct axis *ay = curve_y(p, c);
    double px = NAN, py = NAN, plo = NAN, phi = NAN;

    for (size_t k = 0; k < c->n; k++) {
        const double x = axis_place(&p->x, c->x[k]);
        const double y = axis_place(ay, c->y[k]);
        const double lo = c->lo ? axis_place(ay, c->lo[k]) : y;
        const double hi = c->lo ? axis_place(ay, c->hi[k]) : y;
        const bool joined = isfinite(px) && c->style != STYLE_POINTS;

        if (!isfinite(x) || !isfinite(y)) {
            px = NAN;
            continue;
        }
        grid_line(g, joined ? px : x, joined ? py : y, x, y);
        if (isfinite(lo) && isfinite(hi)) {
            const int steps = joined && !c->bars && isfinite(plo + phi)
                                  ? (int)(fabs(x - px) * GRID_X) % GRID_X + 1
                                  : 1;

            for (int i = 1; i <= steps && c->lo; i++) {
                const double t = (double)i / steps;
                const double at = steps > 1 ? px + (x - px) * t : x;

                grid_line(g, at, steps > 1 ? plo + (lo - plo) * t : lo, at,
                          steps > 1 ? phi + (hi - phi) * t : hi);
            }
        }
        px = x, py = y, plo = lo, phi = hi;
    }
}

/* The line or the circle of a mark, and its label. */
static void grid_mark(struct grid *g, const struct panel *p,
                      const struct mark *m)
{
    const double x = axis_place(&p->x, m->x), y = axis_place(&p->y, m->y);
    const double wide =
        m->label ? (double)utf8_width(m->label) * 0.5 * g->em_x : 0;

    if (m->type == MARK_AT_Y && isfinite(y)) {
        grid_line(g, 0, y, 1, y);
        if (m->label)
            grid_box(g, m->left ? 0 : 1 - wide, y, m->left ? wide : 1,
                     y + g->em_y);
    } else if (m->type == MARK_AT_XY && isfinite(x) && isfinite(y)) {
        /* the label is above or below, and centred or at one side */
        grid_box(g, x - fmax(wide, g->em_x), y - 1.5 * g->em_y,
                 x + fmax(wide, g->em_x), y + 1.5 * g->em_y);
    } else if (m->type == MARK_AT_X && isfinite(x)) {
        const double high =
            m->label ? (double)utf8_width(m->label) * 0.5 * g->em_y : 0;

        grid_box(g, x,
                 m->small   ? 0.97
                 : m->label ? 0.98 - high
                            : 1,
                 x + (m->label ? g->em_x : 0), 1);
    } else if (m->type == MARK_ABOVE && isfinite(x)) {
        grid_box(g, x - 0.4 * g->em_x, 1 - g->em_y, x + 0.4 * g->em_x, 1);
    } else if (m->type == MARK_NAN && isfinite(x)) {
        grid_box(g, x - 0.4 * g->em_x, 0, x + 0.4 * g->em_x, g->em_y);
    }
}

void grid_fill(struct grid *g, const struct figure *f, const struct panel *p,
               const struct box *plot)
{
    *g = (struct grid){ .em_x = layout_em_x(f, 1) / (plot->x1 - plot->x0),
                        .em_y = layout_em_y(f, 1) / (plot->y1 - plot->y0) };
    for (size_t i = 0; i < p->n_curves; i++)
        grid_curve(g, p, &p->curve[i]);
    for (size_t i = 0; i < p->n_marks; i++)
        grid_mark(g, p, &p->mark[i]);
    if (p->inset.x1 > 0)
        grid_box(g, p->inset.x0, p->inset.y0, p->inset.x1, p->inset.y1);
}

bool grid_is_free(const struct grid *g, int x, int y, int w, int h)
{
    for (int row = y; row < y + h; row++)
        for (int col = x; col < x + w; col++)
            if (g->used[row][col])
                return false;
    return true;
}
