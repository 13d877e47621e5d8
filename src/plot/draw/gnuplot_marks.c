/*
 * gnuplot_marks - events, baselines and best values in a gnuplot script
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>

#include "plot/draw/axis.h"

/* Above a high point, below a low one; towards the middle near the edges. */
static void place_label(struct script *s, const struct panel *p,
                        const struct mark *m)
{
    const double x = axis_place(&p->x, m->x), y = axis_place(&p->y, m->y);

    buf_printf(s->b, " at first %.10g, first %.10g", m->x / p->x.factor,
               m->y / p->y.factor);
    if (m->left)
        buf_printf(s->b, " %s",
                   x > 0.7 ? "right offset -1.4,0" : "left offset 1.4,0");
    else
        buf_printf(s->b, " %s offset 0,%s",
                   x > 0.85   ? "right"
                   : x < 0.15 ? "left"
                              : "center",
                   y < 0.5 && y > 0.16 ? "-0.9" : "0.9");
}

static void draw_mark(struct script *s, const struct panel *p,
                      const struct mark *m)
{
    const uint32_t rgb = palette_curve(s->fig->look.theme, m->colour);
    const double x = m->x / p->x.factor, y = m->y / p->y.factor;

    switch (m->type) {
    case MARK_AT_X:
        buf_printf(s->b,
                   "set arrow from first %.10g, graph %s to first %.10g, "
                   "graph 1 nohead %s lw %s lc rgb '#%06X'\n",
                   x, m->small ? "0.97" : "0", x,
                   m->small ? "front" : "back dt (3,3)",
                   m->small ? "1.2" : "0.8", rgb);
        break;
    case MARK_AT_Y:
        buf_printf(s->b,
                   "set arrow from graph 0, first %.10g to graph 1, first "
                   "%.10g nohead back dt (8,4) lw 0.9 lc rgb '#%06X'\n",
                   y, y, rgb);
        break;
    case MARK_AT_XY:
        buf_printf(s->b,
                   "set label '' at first %.10g, first %.10g point pt 6 "
                   "ps 0.9 lw 1.2 lc rgb '#%06X' front\n",
                   x, y, rgb);
        break;
    case MARK_NAN:
        buf_printf(s->b,
                   "set label '' at first %.10g, graph 0.025 point pt 2 "
                   "ps 0.55 lw 1.2 lc rgb '#%06X' front\n",
                   x, rgb);
        break;
    case MARK_ABOVE:
        buf_printf(s->b,
                   "set label '' at first %.10g, graph 0.975 point pt 9 "
                   "ps 0.6 lc rgb '#%06X' front\n",
                   x, rgb);
        break;
    }
    if (!m->label)
        return;
    buf_str(s->b, "set label ");
    gnuplot_quote(s, m->label);
    if (m->type == MARK_AT_Y)
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
        const double place = m->type == MARK_AT_Y ? axis_place(&p->y, m->y)
                                                  : axis_place(&p->x, m->x);

        if (!(place >= 0 && place <= 1) ||
            (m->type == MARK_NAN && fabs(place - last) < 0.004))
            continue;
        if (m->type == MARK_NAN)
            last = place;
        draw_mark(s, p, m);
    }
}
