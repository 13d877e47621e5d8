/*
 * gnuplot_panel - one panel of a gnuplot script
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"
#include "plot/draw/layout.h"

/* clang-format off */
/* Dashes and points that are the same in all terminals of gnuplot. */
static const char *const dashes[PALETTE_DASHES] = {
    "solid", "(9,4)", "(3,3)", "(9,3,3,3)", "(14,4,4,4)",
};
static const int points[] = { 7, 5, 9, 13, 6, 4, 8, 12 };
/* clang-format on */

/* The smaller the font, the finer the lines. */
static double width_of(const struct script *s, const struct curve *c)
{
    return 1.2 *
           (c->faint  ? 0.7
            : c->thin ? 0.6
            : c->best ? 1.7
                      : 1) *
           fmin(fmax(s->fig->look.font_size / 9, 0.6), 1.5);
}

static const char *dash_of(const struct script *s, const struct curve *c)
{
    return dashes[palette_dash(s->fig->look.theme, c->colour, c->dash)];
}

/* Without colours, curves differ by the shape of their points. */
static int point_of(const struct script *s, const struct curve *c)
{
    const bool mono = s->fig->look.theme == THEME_MONO && c->colour > 0;

    return points[mono ? c->colour % PALETTE_COLOURS : 0];
}

static uint32_t colour_of(const struct script *s, int slot)
{
    return palette_curve(s->fig->look.theme, slot);
}

/*
 * Axes
 */

/* The labels of x are too low in some terminals. */
static void set_ticks(struct script *s, const char *which, const struct axis *a,
                      const char *options, uint32_t rgb)
{
    const char *comma = "";

    buf_printf(s->b, "set %stics nomirror out scale %s textcolor rgb '#%06X'",
               which, options, rgb);
    if (*which == 'x' && s->form->raise > 0)
        buf_printf(s->b, " offset 0,%g", s->form->raise);
    buf_str(s->b, " (");
    for (size_t i = 0; i < a->n_ticks; i++) {
        const double at = a->tick[i].at / a->factor;

        buf_str(s->b, comma);
        gnuplot_quote(s, a->tick[i].label);
        /* gnuplot would show a rounding error as a number */
        buf_printf(s->b, " %.10g %d", fabs(at) < 1e-300 ? 0.0 : at,
                   *a->tick[i].label == '\0');
        comma = ", ";
    }
    buf_str(s->b, ")\n");
}

static void set_range(struct script *s, const char *which, const struct axis *a)
{
    buf_printf(s->b, "set %srange [%.10g:%.10g]\n", which, a->lo / a->factor,
               a->hi / a->factor);
    if (a->scale == SCALE_LOG)
        buf_printf(s->b, "set logscale %s\n", which);
}

static void set_margins(struct script *s, const struct box *box)
{
    buf_printf(s->b,
               "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
               "set bmargin at screen %.5f\nset tmargin at screen %.5f\n",
               box->x0, box->x1, box->y0, box->y1);
}

/* The colour of the curves on the second y axis, if it is the same for all. */
static uint32_t colour_of_y2(const struct script *s, const struct panel *p)
{
    int slot = COLOUR_NONE;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (c->right && slot != COLOUR_NONE && c->colour != slot)
            return s->pal->text;
        if (c->right)
            slot = c->colour;
    }
    return colour_of(s, slot);
}

/* Without its unit, if it is higher than the axis. */
static void draw_y_label(struct script *s, const struct axis *y,
                         const struct layout *l)
{
    const double high = l->plot.y1 - l->plot.y0;
    const char *unit = strstr(y->shown, " (");
    const bool fits =
        layout_em_y(s->fig, 0.5 * (double)utf8_width(y->shown)) < 1.2 * high;
    AUTO_FREE char *text = xstrndup(
        y->shown, fits || !unit ? strlen(y->shown) : (size_t)(unit - y->shown));

    gnuplot_label(s, text, l->y_label, (l->plot.y0 + l->plot.y1) / 2,
                  "center rotate by 90", 1, s->pal->text);
}

static void draw_axes(struct script *s, const struct panel *p,
                      const struct layout *l)
{
    static const char options[] = "0.5,0.3 norotate";

    set_margins(s, &l->plot);
    buf_printf(s->b, "set border %d back lc rgb '#%06X' lw 0.6\n",
               p->heat     ? 15
               : p->has_y2 ? 11
                           : 3,
               s->pal->text);
    set_range(s, "x", &p->x);
    set_range(s, "y", &p->y);
    set_ticks(s, "x", &p->x, options, s->pal->text);
    set_ticks(s, "y", &p->y, options, s->pal->text);
    if (p->has_y2) {
        const uint32_t rgb = colour_of_y2(s, p);

        set_range(s, "y2", &p->y2);
        set_ticks(s, "y2", &p->y2, options, rgb);
        gnuplot_label(s, p->y2.shown, l->y2_label,
                      (l->plot.y0 + l->plot.y1) / 2, "center rotate by 270", 1,
                      rgb);
    }
    if (p->heat || s->form->text)
        buf_str(s->b, "unset grid\n");
    else
        buf_printf(s->b,
                   "set grid xtics ytics back lt 1 lc rgb '#%06X' "
                   "lw 0.5\n",
                   s->pal->grid);
    gnuplot_label(s, p->x.shown, (l->plot.x0 + l->plot.x1) / 2, l->x_label,
                  "center", 1, s->pal->text);
    if (s->form->text) /* characters cannot be turned */
        gnuplot_label(s, p->y.shown, l->plot.x1,
                      l->plot.y1 + layout_em_y(s->fig, 0.9), "right", 1,
                      s->pal->text);
    else
        draw_y_label(s, &p->y, l);
    if (p->title)
        gnuplot_label(s, p->title, l->plot.x0,
                      l->plot.y1 + layout_em_y(s->fig, 0.9), "left", 1.05,
                      s->pal->text);
}

/* One entry: a piece of the line, its point, the label. */
void gnuplot_entry(struct script *s, const struct entry *e, double x, double y)
{
    const double wide = layout_em_x(s->fig, 1.7);
    const uint32_t rgb = colour_of(s, e->colour);
    const struct curve like = { .colour = e->colour, .dash = e->dash };
    const double bold = e->style == STYLE_AREA ? 6 : 1;

    if (e->style != STYLE_POINTS && e->colour != COLOUR_NONE)
        buf_printf(s->b,
                   "set arrow from screen %.5f, screen %.5f to screen %.5f, "
                   "screen %.5f nohead front lc rgb '#%06X' lw %.3g dt %s\n",
                   x, y, x + wide, y, rgb, bold * width_of(s, &like),
                   dash_of(s, &like));
    if (e->style == STYLE_POINTS || e->style == STYLE_LINE_POINTS)
        buf_printf(s->b,
                   "set label '' at screen %.5f, screen %.5f point pt %d "
                   "ps 0.55 lc rgb '#%06X' front\n",
                   x + wide / 2, y, point_of(s, &like), rgb);
    if (e->colour != COLOUR_NONE)
        x += wide + layout_em_x(s->fig, s->form->text ? 1.2 : 0.5);
    gnuplot_label(s, e->label, x, y, "left", 0.92, s->pal->text);
}

/* The names of owners, in the margin beside the ends of their lines. */
static void draw_ends(struct script *s, const struct panel *p,
                      const struct layout *l)
{
    for (size_t i = 0; i < p->n_owners; i++)
        gnuplot_label(
            s, p->entry[i].label, l->plot.x1 + layout_em_x(s->fig, 0.5),
            l->plot.y0 + p->entry[i].end * (l->plot.y1 - l->plot.y0), "left",
            0.92,
            palette_mix(colour_of(s, p->entry[i].colour), s->pal->text, 0.8));
}

/* Not gnuplot's key, which is left out where there is little room. */
static void draw_legend(struct script *s, const struct panel *p,
                        const struct layout *l)
{
    if (p->owners == OWNERS_AT_ENDS)
        draw_ends(s, p, l);
    for (size_t i = legend_first(p);
         i < p->n_entries && p->legend != LEGEND_NONE; i++) {
        double x, y;

        layout_legend(l, s->fig, p, i, &x, &y);
        gnuplot_entry(s, &p->entry[i], x, y);
    }
    buf_str(s->b, "unset key\n");
}

/*
 * Data
 */

static bool is_drawn(const struct panel *p, const struct curve *c, size_t k)
{
    return isfinite(c->y[k]) && (p->x.scale != SCALE_LOG || c->x[k] > 0) &&
           (curve_y(p, c)->scale != SCALE_LOG || c->y[k] > 0);
}

/* gnuplot refuses an empty block. */
static bool is_empty(const struct panel *p, const struct curve *c)
{
    for (size_t k = 0; k < c->n; k++)
        if (is_drawn(p, c, k))
            return false;
    return true;
}

/* One block a curve.  An empty line makes a gap. */
static void write_data(struct script *s, const struct panel *p, size_t panel)
{
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];
        const double x = p->x.factor, y = curve_y(p, c)->factor;
        bool gap = true;

        buf_printf(s->b, "$p%zuc%zu << EOD\n", panel + 1, i + 1);
        for (size_t k = 0; k < c->n; k++) {
            const bool drawn = is_drawn(p, c, k);

            if (!drawn && !gap)
                buf_char(s->b, '\n');
            gap = !drawn;
            if (!drawn)
                continue;
            buf_printf(s->b, "%.7g %.7g", c->x[k] / x, c->y[k] / y);
            if (c->lo)
                buf_printf(s->b, " %.7g %.7g", c->lo[k] / y, c->hi[k] / y);
            buf_char(s->b, '\n');
        }
        buf_str(s->b, "EOD\n");
    }
}

/* Begin the next item of the plot command, some columns of a curve's block. */
static void begin_item(struct script *s, const char **before, size_t panel,
                       size_t curve, const char *columns)
{
    const struct curve *c = &s->fig->panel[panel]->curve[curve];

    buf_printf(s->b, "%s$p%zuc%zu using %s axes x1y%d with ", *before,
               panel + 1, curve + 1, columns, c->right ? 2 : 1);
    *before = ", \\\n     ";
}

/* The colour of a line.  Raw values let through what is behind them. */
static void write_colour(struct script *s, const struct curve *c)
{
    const uint32_t rgb = colour_of(s, c->colour);
    const double part = !c->faint ? 1 : c->style == STYLE_POINTS ? 0.5 : 0.3;

    if (c->faint && s->form->alpha)
        buf_printf(s->b, " lc rgb '#%02X%06X'",
                   (unsigned)lround(255 * (1 - part)), rgb);
    else
        buf_printf(s->b, " lc rgb '#%06X'",
                   palette_mix(rgb, s->pal->ground, part));
}

static void write_curve(struct script *s, const char **before, size_t panel,
                        size_t curve)
{
    static const char *const with[] = {
        [STYLE_LINE] = "lines",
        [STYLE_POINTS] = "points",
        [STYLE_LINE_POINTS] = "linespoints",
    };
    const struct curve *c = &s->fig->panel[panel]->curve[curve];

    if (c->bars && c->lo) {
        begin_item(s, before, panel, curve, "1:2:3:4");
        buf_printf(s->b, "yerrorbars lc rgb '#%06X' lw 1 pt 0 notitle",
                   colour_of(s, c->colour));
    }
    begin_item(s, before, panel, curve, "1:2");
    buf_str(s->b, with[c->style]);
    write_colour(s, c);
    buf_printf(s->b, " lw %.3g dt %s", width_of(s, c), dash_of(s, c));
    if (c->style != STYLE_LINE)
        buf_printf(s->b, " pt %d ps %.2g", point_of(s, c),
                   c->n > 60 ? 0.35 : 0.55);
    if (c->style == STYLE_LINE_POINTS && c->every > 1)
        buf_printf(s->b, " pi %zu", c->every);
    buf_str(s->b, " notitle");
}

/* Bands are behind all lines, raw values behind all smoothed ones. */
static void write_plot(struct script *s, const struct panel *p, size_t panel)
{
    const char *const first = "plot ", *before = first;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (!c->lo || c->bars || is_empty(p, c))
            continue;
        begin_item(s, &before, panel, i, "1:3:4");
        buf_printf(s->b,
                   "filledcurves lc rgb '#%06X' fillstyle transparent solid "
                   "%.2f noborder notitle",
                   colour_of(s, c->colour),
                   c->style == STYLE_AREA ? 1
                   : c->crowd             ? 0.4
                                          : 0.18);
    }
    for (int level = 0; level < CURVE_LEVELS; level++)
        for (size_t i = 0; i < p->n_curves; i++)
            if (curve_level(&p->curve[i]) == level &&
                p->curve[i].style != STYLE_AREA && !is_empty(p, &p->curve[i]))
                write_curve(s, &before, panel, i);
    buf_str(s->b, before == first ? "plot NaN notitle\n" : "\n");
}

static void draw_inset(struct script *s, const struct panel *p, size_t panel,
                       const struct layout *l)
{
    buf_str(s->b, "unset label\nunset arrow\nunset object\nunset key\n"
                  "unset logscale\nunset y2tics\nunset grid\n");
    set_margins(s, &l->inset);
    buf_printf(s->b, "set border 15 back lc rgb '#%06X' lw 0.5\n",
               s->pal->grey);
    set_range(s, "x", &p->inset_x);
    set_range(s, "y", &p->inset_y);
    set_ticks(s, "x", &p->inset_x, "0.4,0.2", s->pal->text);
    set_ticks(s, "y", &p->inset_y, "0.4,0.2", s->pal->text);
    if (!s->form->text && !s->form->tex) {
        buf_str(s->b, "set xtics");
        gnuplot_font(s, 0.8);
        buf_str(s->b, "\nset ytics");
        gnuplot_font(s, 0.8);
        buf_char(s->b, '\n');
    }
    write_plot(s, p, panel);
    buf_str(s->b, "set xtics font ''\nset ytics font ''\n");
}

/* The ground of the inset, a frame around what it magnifies, and lines from one
 * to the other. */
static void draw_window(struct script *s, const struct panel *p,
                        const struct layout *l)
{
    const struct box *w = &l->window;
    const double x0 = p->inset_x.lo / p->x.factor,
                 x1 = p->inset_x.hi / p->x.factor,
                 y0 = p->inset_y.lo / p->y.factor,
                 y1 = p->inset_y.hi / p->y.factor;
    const bool above =
        p->inset.y0 + p->inset.y1 >
        axis_place(&p->y, p->inset_y.lo) + axis_place(&p->y, p->inset_y.hi);

    buf_printf(s->b,
               "set object rectangle from screen %.5f, screen %.5f to screen "
               "%.5f, screen %.5f front fc rgb '#%06X' fillstyle solid "
               "noborder\n",
               w->x0, w->y0, w->x1, w->y1, s->pal->ground);
    buf_printf(s->b,
               "set object rectangle from first %.10g, first %.10g to first "
               "%.10g, first %.10g front fillstyle empty border lc rgb "
               "'#%06X' lw 0.7\n",
               x0, y0, x1, y1, s->pal->grey);
    for (int i = 0; i < 2; i++)
        buf_printf(s->b,
                   "set arrow from first %.10g, first %.10g to screen %.5f, "
                   "screen %.5f nohead front lc rgb '#%06X' lw 0.5 dt (3,3)\n",
                   i ? x1 : x0, above ? y1 : y0, i ? l->inset.x1 : l->inset.x0,
                   above ? w->y0 : w->y1, s->pal->grey);
}

void gnuplot_panel(struct script *s, size_t i)
{
    const struct panel *p = s->fig->panel[i];
    struct layout l;

    layout_panel(&l, s->fig, i);
    write_data(s, p, i);
    draw_axes(s, p, &l);
    draw_legend(s, p, &l);
    if (p->ramp)
        gnuplot_ramp(s, p, &l);
    gnuplot_marks(s, p);
    if (p->heat)
        gnuplot_heat(s, p, &l);
    if (isfinite(p->inset_lo))
        draw_window(s, p, &l);
    write_plot(s, p, i);
    if (isfinite(p->inset_lo))
        draw_inset(s, p, i, &l);
}
