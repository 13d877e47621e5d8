#include "config.h"
#include "plot/layout.h"

#include <math.h>

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

static size_t legend_size(const struct panel *p, size_t *longest)
{
    size_t n = 0;

    *longest = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        if (!p->curve[i].label)
            continue;
        n++;
        if (utf8_width(p->curve[i].label) > *longest)
            *longest = utf8_width(p->curve[i].label);
    }
    return n;
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
    double left = 2.9 + tick_width(&p->y), right = 1.6, below = 3.7;
    size_t longest;
    const size_t n = legend_size(p, &longest);
    const double legend = (double)longest * char_width * 0.88 + 3.4;

    l->cell =
        (struct box){ edge + (double)col * wide, top - (double)(row + 1) * high,
                      edge + (double)(col + 1) * wide,
                      top - (double)row * high };
    if (!*p->y.label)
        left -= 1.2;
    if (p->has_y2)
        right = 3.4 + tick_width(&p->y2);
    l->legend_cols = 1;
    if (p->legend == LEGEND_RIGHT)
        right += legend;
    if (p->legend == LEGEND_BELOW && n) {
        const double room =
            (l->cell.x1 - l->cell.x0) / layout_em_x(f, 1) - left - right;

        l->legend_cols = (size_t)fmax(1, floor(room / legend));
        if (l->legend_cols > n)
            l->legend_cols = n;
        below +=
            line_height * (double)((n + l->legend_cols - 1) / l->legend_cols) +
            0.2;
    }
    if (f->look.font_size < 2) /* characters: no fractions */
        left += 1;
    l->plot.x0 = l->cell.x0 + layout_em_x(f, left);
    l->plot.x1 = l->cell.x1 - layout_em_x(f, right);
    l->plot.y0 = l->cell.y0 + layout_em_y(f, below);
    l->plot.y1 = l->cell.y1 - layout_em_y(f, p->title ? 1.8 : 0.6);
    l->y_label = l->cell.x0 + layout_em_x(f, 1.1);
    l->y2_label = l->plot.x1 + layout_em_x(f, tick_width(&p->y2) + 2.2);
    l->x_label = l->plot.y0 - layout_em_y(f, 2.75);
    l->legend_x = l->plot.x0;
    l->legend_y = l->plot.y0 - layout_em_y(f, 3.5);
    if (p->legend == LEGEND_RIGHT) {
        l->legend_x = l->plot.x1 + layout_em_x(f, right - legend - 0.8);
        l->legend_y = l->plot.y1;
    }
    l->inset = (struct box){ l->plot.x0 + 0.36 * (l->plot.x1 - l->plot.x0) +
                                 layout_em_x(f, tick_width(&p->inset_y)),
                             l->plot.y0 + 0.42 * (l->plot.y1 - l->plot.y0) +
                                 layout_em_y(f, 1),
                             l->plot.x1 - layout_em_x(f, 1),
                             l->plot.y1 - layout_em_y(f, 0.8) };
}
