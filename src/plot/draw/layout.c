#include "config.h"
#include "plot/draw/layout.h"

#include <math.h>
#include <stdint.h>

#include "common/utf8.h"

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
        lines += (utf8_width(f->note[i].text) + width - 1) / width;
    return lines;
}

/* The widest tick label, in ems. */
static double tick_width(const struct axis *a)
{
    size_t widest = 0;

    for (size_t i = 0; i < a->n_ticks; i++)
        if (utf8_width(a->tick[i].label) > widest)
            widest = utf8_width(a->tick[i].label);
    return (double)widest * char_width;
}

/*
 * Legend.  An entry is a piece of line, a blank, its text, in 0.92 of the
 * font.
 */
static double entry_width(const struct curve *c)
{
    return (double)utf8_width(c->label) * 0.92 * 0.5 + 3.4;
}

static size_t legend_size(const struct panel *p, double *widest)
{
    size_t n = 0;

    *widest = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        if (!p->curve[i].label)
            continue;
        n++;
        *widest = fmax(*widest, entry_width(&p->curve[i]));
    }
    return n;
}

/* One after the other, as words in lines: where is this entry, in ems?  With
 * entry SIZE_MAX, how many lines are there? */
static size_t flow(const struct panel *p, double room, size_t entry, double *x)
{
    size_t line = 0, at = 0;
    double used = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        double width;

        if (!p->curve[i].label)
            continue;
        width = entry_width(&p->curve[i]);
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
    double widest, x;
    const size_t n = legend_size(p, &widest);
    const size_t most = (size_t)fmax(1, floor(l->legend_room / widest));
    const size_t lines = flow(p, l->legend_room, SIZE_MAX, &x);
    const size_t grid = (n + most - 1) / most;

    l->legend_cols = grid <= lines ? (n + grid - 1) / grid : 0;
    return grid <= lines ? grid : lines;
}

void layout_legend(const struct layout *l, const struct figure *f,
                   const struct panel *p, size_t entry, double *x, double *y)
{
    double widest, ems = 0;
    const size_t n = legend_size(p, &widest);
    const bool top =
        p->legend != LEGEND_BOTTOM_LEFT && p->legend != LEGEND_BOTTOM_RIGHT;
    const bool right =
        p->legend == LEGEND_TOP_RIGHT || p->legend == LEGEND_BOTTOM_RIGHT;
    size_t line = entry;

    if (p->legend == LEGEND_BELOW && l->legend_cols > 0) {
        const size_t lines = (n + l->legend_cols - 1) / l->legend_cols;

        ems = (double)(entry / lines) * widest;
        line = entry % lines;
    } else if (p->legend == LEGEND_BELOW) {
        line = flow(p, l->legend_room, entry, &ems);
    }
    *x = l->plot.x0 + layout_em_x(f, 0.9);
    *y = l->plot.y1 - layout_em_y(f, 0.9 + line_height * (double)line);
    if (right)
        *x = l->plot.x1 - layout_em_x(f, widest);
    if (!top)
        *y = l->plot.y0 +
             layout_em_y(f, 0.9 + line_height * (double)(n - 1 - line));
    if (p->legend == LEGEND_RIGHT)
        *x = l->legend_x;
    if (p->legend == LEGEND_BELOW) {
        *x = l->legend_x + layout_em_x(f, ems);
        *y = l->legend_y - layout_em_y(f, line_height * (double)line);
    }
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
    double legend;
    const size_t n = legend_size(p, &legend);

    l->cell =
        (struct box){ edge + (double)col * wide, top - (double)(row + 1) * high,
                      edge + (double)(col + 1) * wide,
                      top - (double)row * high };
    if (!*p->y.label)
        left -= 1.2;
    if (p->has_y2)
        right = 3.4 + tick_width(&p->y2);
    l->legend_cols = 1;
    l->legend_room = (l->cell.x1 - l->cell.x0) / layout_em_x(f, 1) - 1.5;
    if (p->legend == LEGEND_RIGHT)
        right += legend + 0.6;
    if (p->legend == LEGEND_BELOW && n)
        below += line_height * (double)legend_lines(l, p) + 0.2;
    if (f->look.font_size < 2) /* characters: no fractions */
        left += 1;
    l->plot.x0 = l->cell.x0 + layout_em_x(f, left);
    l->plot.x1 = l->cell.x1 - layout_em_x(f, right);
    l->plot.y0 = l->cell.y0 + layout_em_y(f, below);
    l->plot.y1 = l->cell.y1 - layout_em_y(f, p->title ? 1.8 : 0.6);
    l->y_label = l->cell.x0 + layout_em_x(f, 1.1);
    l->y2_label = l->plot.x1 + layout_em_x(f, tick_width(&p->y2) + 2.2);
    l->x_label = l->plot.y0 - layout_em_y(f, 2.95);
    l->legend_x = l->cell.x0 + layout_em_x(f, 1);
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
