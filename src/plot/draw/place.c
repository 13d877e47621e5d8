/*
 * place - find room for the legend and the inset where they cover nothing
 */
#include "config.h"
#include "plot/draw/figure_finish.h"

#include <math.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"
#include "plot/draw/layout.h"

/* ---- the space inside the axes ----------------------------------------- */

/* The cells that curves, bands, marks with their labels, or the inset need. */
enum { GRID_X = 96, GRID_Y = 72 };

struct grid {
    bool used[GRID_Y][GRID_X];
    double em_x, em_y; /* parts of the width, of the height */
};

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

static void grid_box(struct grid *g, double x0, double y0, double x1, double y1)
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

    if (mark_is_level(m) && isfinite(y)) {
        if (m->type == MARK_AT_Y)
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
    } else if ((m->type == MARK_NAN || m->type == MARK_BELOW) && isfinite(x)) {
        grid_box(g, x - 0.4 * g->em_x, 0, x + 0.4 * g->em_x, g->em_y);
    }
}

static void grid_fill(struct grid *g, const struct figure *f,
                      const struct panel *p, const struct box *plot)
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

static bool grid_is_free(const struct grid *g, int x, int y, int w, int h)
{
    for (int row = y; row < y + h; row++)
        for (int col = x; col < x + w; col++)
            if (g->used[row][col])
                return false;
    return true;
}

/* ---- the legend -------------------------------------------------------- */

/* Find a free place for a legend of `cols` columns: a corner, else along the
 * upper and the lower edge, else along the sides. */
static bool find_free(struct panel *p, const struct grid *g, size_t cols)
{
    static const double corner[][2] = {
        { 1, 1 }, { 0, 0 }, { 0, 1 }, { 1, 0 }
    };
    enum { STEPS = 12 };
    const size_t first = legend_first(p), n = p->n_entries - first;
    const size_t rows = (n + cols - 1) / cols;
    const double wide = legend_width(p->entry + first, n) * (double)cols + 0.6;
    const double high = LEGEND_LINE * (double)rows + 0.7;
    const int w = (int)ceil(wide * g->em_x * GRID_X);
    const int h = (int)ceil(high * g->em_y * GRID_Y);

    if (w > GRID_X * 9 / 10 || h > GRID_Y * 2 / 3)
        return false;
    for (int i = 0; i < 4 + 4 * STEPS; i++) {
        const double along = (double)((i - 4) % STEPS) / STEPS;
        const int side = (i - 4) / STEPS;
        const double x = i < 4       ? corner[i][0]
                         : side < 2  ? 1 - along
                         : side == 2 ? 1
                                     : 0;
        const double y = i < 4       ? corner[i][1]
                         : side > 1  ? 1 - along
                         : side == 0 ? 1
                                     : 0;

        if (grid_is_free(g, (int)(x * (GRID_X - w)), (int)(y * (GRID_Y - h)), w,
                         h)) {
            p->legend_x = x;
            p->legend_y = y;
            p->legend_cols = cols;
            p->legend = LEGEND_INSIDE;
            p->found = true;
            return true;
        }
    }
    return false;
}

static bool find_inside(struct figure *f, struct panel *p, struct box plot)
{
    const size_t n = p->n_entries - legend_first(p);
    AUTO_FREE struct grid *g = xmalloc(sizeof *g);

    grid_fill(g, f, p, &plot);
    return find_free(p, g, 1) || (n > 1 && find_free(p, g, n)) ||
           (n > 3 && find_free(p, g, (n + 1) / 2));
}

/* Leave room above the curves, as little as is needed. */
static bool make_room(struct figure *f, struct panel *p, size_t panel)
{
    static const double parts[] = { 0.06, 0.1, 0.14, 0.18, 0.22, 0.25 };
    const double hi = p->y.hi, hi2 = p->y2.hi;

    if (p->y.fixed || (p->has_y2 && p->y2.fixed))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct layout l;

        axis_extend(&p->y, parts[i], p->y.lo, hi);
        axis_extend(&p->y2, parts[i], p->y2.lo, hi2);
        layout_panel(&l, f, panel);
        if (find_inside(f, p, l.plot)) {
            axis_renew(&p->y, &f->mem);
            axis_renew(&p->y2, &f->mem);
            return true;
        }
    }
    p->y.hi = hi;
    p->y2.hi = hi2;
    return false;
}

/* ---- labels at the ends of lines --------------------------------------- */

/* The place at which a curve ends: the median over the last part of it; NaN if
 * that is far from the margin with the labels. */
static double end_of(const struct panel *p, const struct curve *c)
{
    double some[512], last = NAN;
    size_t n = 0;

    for (size_t k = c->n; k-- > 0 && n < sizeof some / sizeof some[0];) {
        const double x = axis_place(&p->x, c->x[k]);
        const double y = axis_place(curve_y(p, c), c->y[k]);

        if (!isfinite(y) || !(x <= 1 + 1e-9) || !(x >= 0))
            continue;
        if (isnan(last))
            last = x;
        if (last < 0.8)
            return NAN;
        if (x < last - 0.05)
            break;
        some[n++] = y;
    }
    return n ? num_nth(some, n, n / 2) : (double)NAN;
}

enum { ENDS_MAX = 6 };

/* Move labels apart until none is nearer than `gap` to another; their order is
 * that of the ends. */
static void spread_ends(struct entry *e, size_t n, double gap)
{
    struct entry *order[ENDS_MAX];
    bool moved = true;

    for (size_t i = 0, k; i < n; i++) {
        for (k = i; k > 0 && order[k - 1]->end > e[i].end; k--)
            order[k] = order[k - 1];
        order[k] = &e[i];
    }
    for (int round = 0; round < 500 && moved; round++) {
        moved = false;
        for (size_t i = 1; i < n; i++) {
            const double lack = gap - (order[i]->end - order[i - 1]->end);

            if (lack > 1e-6) {
                order[i]->end = fmin(order[i]->end + lack / 2, 1);
                order[i - 1]->end = fmax(order[i - 1]->end - lack / 2, 0);
                moved = true;
            }
        }
    }
}

static void choose_ends(struct figure *f, struct panel *p, size_t panel)
{
    struct layout l;

    for (size_t i = 0; i < p->n_curves; i++)
        if (p->curve[i].value)
            return;
    layout_panel(&l, f, panel);
    if (p->n_owners < 2 || p->n_owners > ENDS_MAX || p->has_y2 ||
        p->owners == OWNERS_SHARED ||
        layout_em_x(f, legend_width(p->entry, p->n_owners) - 2) >
            0.3 * (l.plot.x1 - l.plot.x0))
        return;
    for (size_t i = 0; i < p->n_owners; i++) {
        p->entry[i].end = NAN;
        for (size_t k = 0; k < p->n_curves && isnan(p->entry[i].end); k++)
            if (p->curve[k].label && p->curve[k].owner &&
                legend_has(p, &p->entry[i], &p->curve[k]))
                p->entry[i].end = end_of(p, &p->curve[k]);
        if (isnan(p->entry[i].end))
            return;
        p->entry[i].end = fmin(fmax(p->entry[i].end, 0), 1);
    }
    spread_ends(p->entry, p->n_owners,
                layout_em_y(f, 1.15) / (l.plot.y1 - l.plot.y0));
    p->owners = OWNERS_AT_ENDS;
}

void place_legend(struct figure *f, size_t panel)
{
    struct panel *p = f->panel[panel];
    struct layout l;
    size_t first, n;

    if (p->legend >= LEGEND_TOP_RIGHT && p->legend <= LEGEND_BOTTOM_LEFT) {
        p->legend_x =
            p->legend == LEGEND_TOP_RIGHT || p->legend == LEGEND_BOTTOM_RIGHT;
        p->legend_y =
            p->legend == LEGEND_TOP_RIGHT || p->legend == LEGEND_TOP_LEFT;
        p->legend_cols = 1;
        p->legend = LEGEND_INSIDE;
    }
    if (p->legend != LEGEND_AUTO && (p->legend != LEGEND_INSIDE || !p->found))
        return;
    p->legend = LEGEND_NONE;
    if (p->heat)
        return;
    choose_ends(f, p, panel);
    first = legend_first(p);
    /* the title of the figure is the only label */
    if (first == p->n_entries || (f->n_panels > 1 && p->n_entries == 1))
        return;
    layout_panel(&l, f, panel);
    if (find_inside(f, p, l.plot) || make_room(f, p, panel))
        return;
    n = p->n_entries - first;
    p->legend =
        n > 4 && layout_em_x(f, legend_width(p->entry + first, n)) < 0.42 &&
                layout_em_y(f, LEGEND_LINE * (double)n) < l.plot.y1 - l.plot.y0
            ? LEGEND_RIGHT
            : LEGEND_BELOW;
    /* at least half of the panel is for the curves */
    do
        layout_panel(&l, f, panel);
    while (p->legend == LEGEND_BELOW &&
           l.plot.y1 - l.plot.y0 < 0.5 / (double)f->rows &&
           legend_shorten(f, p));
}

/* ---- the inset --------------------------------------------------------- */

/* A free place of this size: the higher, and the farther right, the better. */
static bool find_size(struct panel *p, const struct grid *g, double wide,
                      double high)
{
    const int w = (int)ceil(wide * GRID_X), h = (int)ceil(high * GRID_Y);

    for (int y = GRID_Y - h; y >= 0; y--)
        for (int x = GRID_X - w; x >= 0; x--)
            if (grid_is_free(g, x, y, w, h)) {
                p->inset = (struct box){ (double)x / GRID_X, (double)y / GRID_Y,
                                         (double)(x + w) / GRID_X,
                                         (double)(y + h) / GRID_Y };
                return true;
            }
    return false;
}

static bool find_place(struct figure *f, struct panel *p, size_t panel)
{
    static const double size[][2] = {
        { 0.72, 0.62 }, { 0.64, 0.56 }, { 0.56, 0.5 }, { 0.5, 0.46 }
    };
    AUTO_FREE struct grid *g = xmalloc(sizeof *g);
    struct layout l;
    bool found = false;

    layout_panel(&l, f, panel);
    grid_fill(g, f, p, &l.plot);
    grid_box(g, axis_place(&p->x, p->inset_x.lo),
             axis_place(&p->y, p->inset_y.lo), axis_place(&p->x, p->inset_x.hi),
             axis_place(&p->y, p->inset_y.hi));
    for (size_t i = 0; i < sizeof size / sizeof size[0] && !found; i++)
        found = find_size(p, g, size[i][0], size[i][1]);
    return found;
}

void place_inset(struct figure *f, size_t panel)
{
    struct panel *p = f->panel[panel];
    const double hi = p->y.hi;

    if (find_place(f, p, panel))
        return;
    for (int i = 1; i <= 6 && !p->y.fixed && !p->has_y2; i++) {
        axis_extend(&p->y, 0.2 * i, p->y.lo, hi);
        if (find_place(f, p, panel)) {
            axis_renew(&p->y, &f->mem);
            return;
        }
    }
    p->y.hi = hi;
    p->inset = (struct box){ 0.5, 0.54, 1, 1 };
}
