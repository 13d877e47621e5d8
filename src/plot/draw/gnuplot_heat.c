/*
 * gnuplot_heat - a map of values in a gnuplot script
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>

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
                   x - 0.5, y - 0.5, x + 0.5, y + 0.5, rgb, s->pal->ground);
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

/* The colours of a map, from the lowest value to the highest. */
static void draw_bar(struct script *s, const struct panel *p,
                     const struct layout *l)
{
    enum { STEPS = 48 };
    const struct heat *h = p->heat;
    const double x0 = l->plot.x1 + layout_em_x(s->fig, 1);
    const double x1 = x0 + layout_em_x(s->fig, 0.9);
    const double high = l->plot.y1 - l->plot.y0;
    char text[32];

    for (int i = 0; i < STEPS && !s->form->text; i++)
        buf_printf(s->b,
                   "set object rectangle from screen %.5f, screen %.5f to "
                   "screen %.5f, screen %.5f front fc rgb '#%06X' fillstyle "
                   "solid noborder\n",
                   x0, l->plot.y0 + high * i / STEPS, x1,
                   /* overlapping, without gaps between them */
                   l->plot.y0 + high * fmin(i + 1.5, STEPS) / STEPS,
                   palette_ramp(s->fig->look.theme,
                                heat_part(h, h->lo + (h->hi - h->lo) *
                                                         (i + 0.5) / STEPS)));
    for (int i = 0; i <= 2; i++)
        gnuplot_label(s, heat_text(text, h, h->lo + (h->hi - h->lo) * i / 2),
                      x1 + layout_em_x(s->fig, 0.4), l->plot.y0 + high * i / 2,
                      "left", 0.85, s->pal->text);
}

void gnuplot_heat(struct script *s, const struct panel *p,
                  const struct layout *l)
{
    draw_fields(s, p);
    draw_bar(s, p, l);
}
