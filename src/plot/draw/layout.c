#include "config.h"
#include "plot/draw/layout.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/utf8.h"
#include "plot/draw/axis.h"

static const double char_width = 0.56, line_height = 1.35, note_size = 0.85;

double layout_em_x(const struct figure *f, double ems)
{
    return ems * f->look.font_size / f->look.width;
}

double layout_em_y(const struct figure *f, double ems)
{
    return ems * f->look.font_size / f->look.height;
}

size_t layout_note_width(const struct figure *f)
{
    return (size_t)((f->look.width - 2 * f->look.font_size) /
                    (f->look.font_size * note_size * 0.5));
}

size_t layout_notes(const struct figure *f)
{
    const size_t width = layout_note_width(f);
    size_t lines = 0;

    for (size_t i = 0; i < f->n_notes; i++)
        lines += (utf8_width(f->note[i]) + width - 1) / width;
    return lines;
}

/* The widest tick label, in ems. */
static double tick_width(const struct axis *a)
{
    return (double)axis_widest(a) * char_width;
}

/*
 * Legend.  An entry is a piece of the line, a space and the label, in a font
 * of 0.92 of the size; so many ems for so many characters.
 */
static double entry_width(size_t chars)
{
    return (double)chars * 0.92 * 0.5 + 3.4;
}

/* The number of entries, and the characters of the longest. */
static size_t legend_size(const struct panel *p, size_t *longest)
{
    size_t n = 0;

    *longest = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        const char *label = p->curve[i].label;

        n += label != NULL;
        if (label && utf8_width(label) > *longest)
            *longest = utf8_width(label);
    }
    return n;
}

/* Entries one after the other, like words in lines: the line of one of them,
 * and its x in ems.  With entry SIZE_MAX, the number of lines. */
static size_t flow_entries(const struct panel *p, double room, size_t entry,
                           double *x)
{
    size_t line = 0, at = 0;
    double used = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        double width;

        if (!p->curve[i].label)
            continue;
        width = entry_width(utf8_width(p->curve[i].label));
        if (used > 0 && used + width > room) {
            line++;
            used = 0;
        }
        if (at++ == entry) {
            *x = used;
            return line;
        }
        used += width;
    }
    return line + 1;
}

/* Below: columns of one width, if they need no more lines than a flow. */
static size_t legend_lines(struct layout *l, const struct panel *p)
{
    double x;
    size_t longest;
    const size_t n = legend_size(p, &longest);
    const size_t most =
        (size_t)fmax(1, floor(l->legend_room / entry_width(longest)));
    const size_t lines = flow_entries(p, l->legend_room, SIZE_MAX, &x);
    const size_t grid = (n + most - 1) / most;

    l->legend_cols = grid <= lines ? (n + grid - 1) / grid : 0;
    return grid <= lines ? grid : lines;
}

static bool is_right(enum legend place)
{
    return place == LEGEND_TOP_RIGHT || place == LEGEND_BOTTOM_RIGHT;
}

static bool is_bottom(enum legend place)
{
    return place == LEGEND_BOTTOM_LEFT || place == LEGEND_BOTTOM_RIGHT;
}

/* Where an entry of a legend below the panel begins. */
static void place_below(const struct layout *l, const struct figure *f,
                        const struct panel *p, size_t entry, double *x,
                        double *y)
{
    size_t longest, line, lines;
    const size_t n = legend_size(p, &longest);
    double ems = 0;

    if (l->legend_cols > 0) {
        lines = (n + l->legend_cols - 1) / l->legend_cols;
        ems = (double)(entry / lines) * entry_width(longest);
        line = entry % lines;
    } else {
        line = flow_entries(p, l->legend_room, entry, &ems);
    }
    *x = l->legend_x + layout_em_x(f, ems);
    *y = l->legend_y - layout_em_y(f, line_height * (double)line);
}

void layout_legend(const struct layout *l, const struct figure *f,
                   const struct panel *p, size_t entry, double *x, double *y)
{
    size_t longest;
    const size_t n = legend_size(p, &longest);

    if (p->legend == LEGEND_BELOW) {
        place_below(l, f, p, entry, x, y);
        return;
    }
    *x = p->legend == LEGEND_RIGHT ? l->legend_x
         : is_right(p->legend)
             ? l->plot.x1 - layout_em_x(f, entry_width(longest))
             : l->plot.x0 + layout_em_x(f, 0.9);
    *y = is_bottom(p->legend)
             ? l->plot.y0 +
                   layout_em_y(f, 0.9 + line_height * (double)(n - 1 - entry))
             : l->plot.y1 - layout_em_y(f, 0.9 + line_height * (double)entry);
}

/*
 * A panel as a grid: the cells that curves and marks need are used.
 */
enum { GRID_X = 64, GRID_Y = 48 };

struct grid {
    bool used[GRID_Y][GRID_X];
};

static void grid_line(struct grid *g, double x0, double y0, double x1,
                      double y1)
{
    const int steps =
        (int)(fmax(fabs(x1 - x0) * GRID_X, fabs(y1 - y0) * GRID_Y)) + 1;

    for (int i = 0; i <= steps && steps < 4 * GRID_X; i++) {
        const double t = (double)i / steps;
        const double x = x0 + (x1 - x0) * t, y = y0 + (y1 - y0) * t;

        if (x >= 0 && x < 1 && y >= 0 && y < 1)
            g->used[(int)(y * GRID_Y)][(int)(x * GRID_X)] = true;
    }
}

static void grid_fill(struct grid *g, const struct panel *p)
{
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];
        const struct axis *ay = curve_y(p, c);
        double px = NAN, py = NAN;

        for (size_t k = 0; k < c->n; k++) {
            const double x = axis_place(&p->x, c->x[k]);
            const double y = axis_place(ay, c->y[k]);

            const bool joined = isfinite(px) && c->style != STYLE_POINTS;

            if (isfinite(x) && isfinite(y))
                grid_line(g, joined ? px : x, joined ? py : y, x, y);
            if (isfinite(x) && isfinite(y) && c->lo)
                grid_line(g, x, axis_place(ay, c->lo[k]), x,
                          axis_place(ay, c->hi[k]));
            px = x;
            py = y;
        }
    }
    for (size_t i = 0; i < p->n_marks; i++) {
        const struct mark *m = &p->mark[i];
        const double x = axis_place(&p->x, m->x);
        const double y = axis_place(&p->y, m->y);

        if (m->type == MARK_AT_Y && isfinite(y))
            grid_line(g, 0, y, 0.999, y);
        else if (m->type == MARK_AT_XY && isfinite(x) && isfinite(y))
            grid_line(g, x - 0.02, y, x + 0.02, y);
        else if (m->type == MARK_AT_X && isfinite(x))
            grid_line(g, x, m->small ? 0.97 : m->label ? 0.8 : 1, x, 0.999);
    }
}

/* How many of the w x h cells in a corner are used? */
static int count_used(const struct grid *g, enum legend corner, int w, int h)
{
    const bool right = is_right(corner), top = !is_bottom(corner);
    int used = 0;

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            used +=
                g->used[top ? GRID_Y - 1 - y : y][right ? GRID_X - 1 - x : x];
    return used;
}

void layout_choose_legend(struct figure *f, struct panel *p, double width,
                          double height)
{
    static const enum legend corner[] = { LEGEND_TOP_RIGHT, LEGEND_BOTTOM_LEFT,
                                          LEGEND_TOP_LEFT,
                                          LEGEND_BOTTOM_RIGHT };
    const double em = f->look.font_size;
    size_t longest;
    const size_t n = legend_size(p, &longest);
    const double wide = em * (entry_width(longest) - 0.4);
    const double high = (double)n * 1.35 * em;
    const int w = (int)ceil(wide / width * GRID_X);
    const int h = (int)ceil(high / height * GRID_Y) + 1;
    const bool fits = n <= 8 && w <= GRID_X * 2 / 3 && h <= GRID_Y * 2 / 3;
    const bool room = high * wide < height * width * 0.22;
    enum legend best = LEGEND_TOP_RIGHT;
    int least = INT_MAX;
    struct grid *g;

    if (p->legend != LEGEND_AUTO)
        return;
    p->legend = LEGEND_NONE;
    if (n == 0 || p->heat)
        return;
    g = xcalloc(1, sizeof *g);
    grid_fill(g, p);
    for (size_t i = 0; i < sizeof corner / sizeof corner[0] && fits; i++) {
        const int used = count_used(g, corner[i], w, h);

        if (used < least) {
            least = used;
            best = corner[i];
        }
    }
    free(g);
    if (fits && (least <= w * h / 50 || (!room && least <= w * h / 12)))
        p->legend = best;
    else if (longest <= 34 && n > 4 && width >= 300 && high < height)
        p->legend = LEGEND_RIGHT;
    else if (high * wide < height * width)
        p->legend = LEGEND_BELOW;
    else
        figure_note(f, "%zu curves are too many for a legend.", n);
}

double layout_left(const struct figure *f)
{
    return f->look.margin / f->look.width + layout_em_x(f, 0.8);
}

double layout_title(const struct figure *f)
{
    return 1 - f->look.margin / f->look.height - layout_em_y(f, 1.2);
}

double layout_top(const struct figure *f)
{
    return 1 - f->look.margin / f->look.height -
           layout_em_y(f, (f->title ? 2.2 : 0.4) + 1.1 * (double)f->n_lines);
}

void layout_panel(struct layout *l, const struct figure *f, size_t panel)
{
    const struct panel *p = f->panel[panel];
    const size_t row = panel / f->cols, col = panel % f->cols;
    const double top = layout_top(f);
    const double bottom = layout_em_y(f, (double)layout_notes(f) * 1.15 + 0.3) +
                          f->look.margin / f->look.height;
    const double high = (top - bottom) / (double)f->rows;
    const double edge = f->look.margin / f->look.width;
    const double wide = (1 - 2 * edge) / (double)f->cols;
    double left = 2.9 + tick_width(&p->y), right = 1.6, below = 3.9;
    size_t longest;
    const size_t n = legend_size(p, &longest);
    const double legend = n ? entry_width(longest) : 0;
    const struct box cell =
        (struct box){ edge + (double)col * wide, top - (double)(row + 1) * high,
                      edge + (double)(col + 1) * wide,
                      top - (double)row * high };
    if (!*p->y.label)
        left -= 1.2;
    if (p->has_y2)
        right = 3.4 + tick_width(&p->y2);
    l->legend_cols = 1;
    l->legend_room = (cell.x1 - cell.x0) / layout_em_x(f, 1) - 1.5;
    if (p->legend == LEGEND_RIGHT)
        right += legend + 0.6;
    if (p->legend == LEGEND_BELOW && n)
        below += line_height * (double)legend_lines(l, p) + 0.2;
    if (f->look.font_size < 2) /* characters: no fractions */
        left += 1;
    l->plot.x0 = cell.x0 + layout_em_x(f, left);
    l->plot.x1 = cell.x1 - layout_em_x(f, right);
    l->plot.y0 = cell.y0 + layout_em_y(f, below);
    l->plot.y1 = cell.y1 - layout_em_y(f, p->title ? 1.8 : 0.6);
    l->y_label = cell.x0 + layout_em_x(f, 1.1);
    l->y2_label = l->plot.x1 + layout_em_x(f, tick_width(&p->y2) + 2.2);
    l->x_label = l->plot.y0 - layout_em_y(f, 2.95);
    l->legend_x = cell.x0 + layout_em_x(f, 1);
    l->legend_y = l->plot.y0 - layout_em_y(f, 4.2);
    if (p->legend == LEGEND_RIGHT)
        l->legend_x = l->plot.x1 + layout_em_x(f, right - legend - 0.6);
    l->inset = (struct box){ l->plot.x0 + 0.36 * (l->plot.x1 - l->plot.x0) +
                                 layout_em_x(f, tick_width(&p->inset_y)),
                             l->plot.y0 + 0.42 * (l->plot.y1 - l->plot.y0) +
                                 layout_em_y(f, 1),
                             l->plot.x1 - layout_em_x(f, 1),
                             l->plot.y1 - layout_em_y(f, 0.8) };
}
