/*
 * gnuplot_marks - events, baselines, best values and maps in a gnuplot script
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "plot/draw/axis.h"
#include "plot/draw/gnuplot_text.h"

/* Above a high point, below a low one; towards the middle near the edges. */
static void place_label(struct script *s, const struct panel *p,
                        const struct mark *m)
{
    const double x = axis_place(&p->x, m->x), y = axis_place(&p->y, m->y);

    buf_printf(s->b, " at first %.10g, first %.10g", m->x / p->x.factor,
               m->y / p->y.factor);
    buf_printf(s->b, " %s offset 0,%s",
               x > 0.85   ? "right"
               : x < 0.15 ? "left"
                          : "center",
               y < 0.5 && y > 0.16 ? "-0.9" : "0.9");
}

static void draw_mark(struct script *s, const struct panel *p,
                      const struct mark *m)
{
    static const struct {
        double place; /* 0 is the lower edge, 1 the upper one */
        int point;
        const char *size;
    } signs[] = {
        [MARK_AT_XY] = { 0, 6, "0.9 lw 1.2" },
        [MARK_NAN] = { 0.025, 2, "0.55 lw 1.2" },
        [MARK_ABOVE] = { 0.975, 9, "0.6" },
        [MARK_BELOW] = { 0.025, 11, "0.6" },
        [MARK_BEYOND] = { 0, 0, NULL },
    };
    const uint32_t rgb = palette_curve(s->fig->look.theme, m->colour);
    const double x = m->x / p->x.factor, y = m->y / p->y.factor;

    if (signs[m->type].point)
        buf_printf(s->b,
                   "set label '' at first %.10g, %s %.10g point pt %d ps %s "
                   "lc rgb '#%06X' front\n",
                   x, m->type == MARK_AT_XY ? "first" : "graph",
                   m->type == MARK_AT_XY ? y : signs[m->type].place,
                   signs[m->type].point, signs[m->type].size, rgb);
    else if (m->type == MARK_AT_X)
        buf_printf(s->b,
                   "set arrow from first %.10g, graph %s to first %.10g, "
                   "graph 1 nohead %s lw %s lc rgb '#%06X'\n",
                   x, m->small ? "0.97" : "0", x,
                   m->small ? "front" : "back dt (3,3)",
                   m->small ? "1.2" : "0.8", rgb);
    else if (m->type == MARK_AT_Y)
        buf_printf(s->b,
                   "set arrow from graph 0, first %.10g to graph 1, first "
                   "%.10g nohead back dt (8,4) lw 0.9 lc rgb '#%06X'\n",
                   y, y, rgb);
    if (!m->label)
        return;
    buf_str(s->b, "set label ");
    gnuplot_quote(s, m->label);
    if (mark_is_level(m))
        buf_printf(s->b, " at graph %s, first %.10g %s offset 0,0.45",
                   m->left ? "0.015" : "0.985", y, m->left ? "left" : "right");
    else if (m->type == MARK_AT_X)
        buf_printf(s->b,
                   " at first %.10g, graph 0.98 right rotate by 90 "
                   "offset 0.7,0",
                   x);
    else
        place_label(s, p, m);
    gnuplot_font(s, 0.85);
    buf_printf(s->b, " tc rgb '#%06X' front\n",
               m->colour < 0 ? rgb : palette_mix(rgb, s->pal->text, 0.6));
}

/* The marks inside the axes.  Of the crosses in a column of pixels one is
 * enough. */
void gnuplot_marks(struct script *s, const struct panel *p)
{
    double last = -INFINITY;

    for (size_t i = 0; i < p->n_marks; i++) {
        const struct mark *m = &p->mark[i];
        const double place = mark_is_level(m) ? axis_place(&p->y, m->y)
                                              : axis_place(&p->x, m->x);

        if (!(place >= 0 && place <= 1) ||
            (m->type == MARK_NAN && fabs(place - last) < 0.004))
            continue;
        if (m->type == MARK_NAN)
            last = place;
        draw_mark(s, p, m);
    }
}

/* ---- a map ------------------------------------------------------------- */

static void draw_fields(struct script *s, const struct panel *p)
{
    const struct heat *h = p->heat;
    const enum theme theme = s->fig->look.theme;
    const bool labels = h->nx <= 12 && h->ny <= 16;

    for (size_t i = 0; i < h->nx * h->ny; i++) {
        const double x = (double)(i % h->nx), y = (double)(i / h->nx);
        const uint32_t rgb =
            isfinite(h->value[i])
                ? palette_ramp(theme, heat_part(h, h->value[i]))
                : s->pal->grid;
        char text[32];

        buf_printf(s->b,
                   "set object rectangle from %g,%g to %g,%g behind "
                   "fc rgb '#%06X' fillstyle solid border lc rgb '#%06X' "
                   "lw 0.5\n",
                   x - 0.5, y - 0.5, x + 0.5, y + 0.5, rgb,
                   labels ? s->pal->ground : rgb);
        if (i == h->best)
            buf_printf(s->b,
                       "set object rectangle from %g,%g to %g,%g front "
                       "fillstyle empty border lc rgb '#%06X' lw 2.2\n",
                       x - 0.46, y - 0.46, x + 0.46, y + 0.46, 0xD55E00);
        if (!labels || !isfinite(h->value[i]))
            continue;
        buf_str(s->b, "set label ");
        gnuplot_quote(s, heat_text(text, h, h->value[i]));
        buf_printf(s->b, " at first %g, first %g center front", x, y);
        gnuplot_font(s, 0.9);
        buf_printf(s->b, " tc rgb '#%06X'\n", palette_on(rgb));
    }
}

enum { BAR_STEPS = 48 };

/* Colours on the right of the axes, from below, with three labels. */
static void draw_bar(struct script *s, const struct layout *l,
                     const uint32_t *rgb, char label[3][32])
{
    const double x0 = l->plot.x1 + layout_em_x(s->fig, 1 + l->bar);
    const double x1 = x0 + layout_em_x(s->fig, 0.9);
    const double high = l->plot.y1 - l->plot.y0;

    for (int i = 0; i < BAR_STEPS && !s->form->text; i++)
        buf_printf(s->b,
                   "set object rectangle from screen %.5f, screen %.5f to "
                   "screen %.5f, screen %.5f front fc rgb '#%06X' fillstyle "
                   "solid noborder\n",
                   x0, l->plot.y0 + high * i / BAR_STEPS, x1,
                   /* overlapping, without gaps between them */
                   l->plot.y0 + high * fmin(i + 1.5, BAR_STEPS) / BAR_STEPS,
                   rgb[i]);
    for (int i = 0; i <= 2; i++)
        gnuplot_label(s, label[i], x1 + layout_em_x(s->fig, 0.4),
                      l->plot.y0 + high * i / 2, "left", 0.85, s->pal->text);
}

void gnuplot_heat(struct script *s, const struct panel *p,
                  const struct layout *l)
{
    const struct heat *h = p->heat;
    const double span = h->hi - h->lo;
    uint32_t rgb[BAR_STEPS];
    char label[3][32];

    draw_fields(s, p);
    for (int i = 0; i < BAR_STEPS; i++)
        rgb[i] =
            palette_ramp(s->fig->look.theme,
                         heat_part(h, h->lo + span * (i + 0.5) / BAR_STEPS));
    for (int i = 0; i <= 2; i++)
        heat_text(label[i], h, h->lo + span * i / 2);
    draw_bar(s, l, rgb, label);
}

void gnuplot_ramp(struct script *s, const struct panel *p,
                  const struct layout *l)
{
    const struct ramp *r = p->ramp;
    bool fits;
    uint32_t rgb[BAR_STEPS];
    char label[3][32];

    for (int i = 0; i < BAR_STEPS; i++)
        rgb[i] = palette_curve(s->fig->look.theme,
                               palette_ramp_slot((i + 0.5) / BAR_STEPS));
    for (int i = 0; i <= 2; i++) {
        const double v = ramp_value(r, i / 2.0);

        snprintf(label[i], sizeof label[i],
                 v >= 10 && v < 1e5 ? "%.0f" : "%.2g", v);
    }
    draw_bar(s, l, rgb, label);
    fits = 0.85 * figure_text_width(r->label) < 5.8;
    gnuplot_label(s, r->label,
                  l->plot.x1 + layout_em_x(s->fig, (fits ? 1 : 6.8) + l->bar),
                  l->plot.y1 + layout_em_y(s->fig, 0.9),
                  fits ? "left" : "right", 0.85, s->pal->text);
}
