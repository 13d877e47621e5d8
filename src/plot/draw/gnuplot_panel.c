/*
 * gnuplot_panel - one panel of a gnuplot script
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "plot/draw/axis.h"

/* clang-format off */
/* gnuplot's numbers for dashes and points differ by terminal; these do not. */
static const char *const dashes[PALETTE_DASHES] = {
    "solid", "(9,4)", "(3,3)", "(9,3,3,3)", "(14,4,4,4)",
};
static const int points[] = { 7, 5, 9, 13, 6, 4, 8, 12 };
/* clang-format on */

/*
 * Words
 */

/* Letters that pdflatex has in mathematics only. */
static const char *tex_of(int32_t code)
{
    static const char *const greek[] = {
        "alpha",   "beta", "gamma", "delta",    "epsilon", "zeta", "eta",
        "theta",   "iota", "kappa", "lambda",   "mu",      "nu",   "xi",
        "omicron", "pi",   "rho",   "varsigma", "sigma",   "tau",  "upsilon",
        "varphi",  "chi",  "psi",   "omega",
    };
    static const struct {
        int32_t code;
        const char *name;
    } others[] = {
        { 0x2212, "-" },     { 0x00D7, "times" },  { 0x00B7, "cdot" },
        { 0x00B1, "pm" },    { 0x00B5, "mu" },     { 0x2264, "leq" },
        { 0x2265, "geq" },   { 0x2248, "approx" }, { 0x2192, "rightarrow" },
        { 0x221E, "infty" }, { 0x0394, "Delta" },  { 0x03A3, "Sigma" },
        { 0x03A9, "Omega" },
    };

    if (code >= 0x3B1 && code <= 0x3C9 && code != 0x3BF)
        return greek[code - 0x3B1];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].code == code)
            return others[i].name;
    return NULL;
}

static void add_tex(struct buf *b, int32_t code)
{
    static const char *const escaped[128] = {
        ['\\'] = "\\textbackslash{}",
        ['^'] = "\\textasciicircum{}",
        ['~'] = "\\textasciitilde{}",
        ['{'] = "\\{",
        ['}'] = "\\}",
        ['$'] = "\\$",
        ['&'] = "\\&",
        ['#'] = "\\#",
        ['_'] = "\\_",
        ['%'] = "\\%",
        ['"'] = "\\textquotedbl{}",
        ['|'] = "\\textbar{}",
        ['<'] = "\\textless{}",
        ['>'] = "\\textgreater{}",
        ['`'] = "\\textasciigrave{}",
        ['\''] = "\\textquotesingle{}",
    };
    const char *name = code >= 128 ? tex_of(code) : NULL;

    if (code >= 0 && code < 128 && escaped[code])
        buf_str(b, escaped[code]);
    else if (name)
        buf_printf(b, "\\ensuremath{%s%s}", *name == '-' ? "" : "\\", name);
    else
        utf8_add(b, code);
}

/* A string as gnuplot reads it.  Between single quotes nothing is special but
 * the quote itself; between double quotes a backquote would run a command. */
void gnuplot_quote_n(struct program *p, const char *s, size_t n)
{
    struct buf clean = BUF_INIT, tex = BUF_INIT;
    const char *from;

    utf8_clean(&clean, s, n);
    for (from = clean.s; *from;) {
        const int32_t code = utf8_next(&from);
        int32_t shown = code < 32 || code == 127 ? ' ' : code;

        if (p->form->cairo && !glyphs_have(&p->glyphs, shown))
            shown = '?';
        if (p->form->tex)
            add_tex(&tex, shown);
        else
            utf8_add(&tex, shown);
    }
    buf_char(p->b, '\'');
    for (from = tex.s; *from; from++) {
        if (*from == '\'')
            buf_char(p->b, '\'');
        buf_char(p->b, *from);
    }
    buf_char(p->b, '\'');
    buf_clear(&clean);
    buf_clear(&tex);
}

void gnuplot_quote(struct program *p, const char *s)
{
    gnuplot_quote_n(p, s, strlen(s));
}

/* Small letters go with fine lines. */
static double width_of(const struct program *p, const struct curve *c)
{
    return c->width * (c->faint ? 0.7 : 1) *
           fmin(fmax(p->fig->look.font_size / 9, 0.6), 1.5);
}

static const char *dash_of(const struct program *p, const struct curve *c)
{
    const int slot = c->colour < 0 ? 0 : c->colour;

    return dashes[c->dash ? c->dash % PALETTE_DASHES
                          : palette_dash(p->fig->look.theme, slot)];
}

/* Colours tell curves apart; without them the shapes of points do. */
static int point_of(const struct program *p, const struct curve *c)
{
    const int slot = c->colour < 0 ? 0 : c->colour;

    return p->fig->look.theme == THEME_MONO ? points[slot % PALETTE_COLOURS]
                                            : 7;
}

static uint32_t colour(const struct program *p, int slot)
{
    return palette_curve(p->fig->look.theme, slot);
}

/* A size in points, as a font's: only where there are fonts. */
void gnuplot_font(struct program *p, double factor)
{
    const double unit = p->form->own_units ? p->form->scale : 1;

    if (!p->form->text && !p->form->tex)
        buf_printf(p->b, " font ',%.3g'",
                   p->fig->look.font_size * factor * unit);
}

void gnuplot_label(struct program *p, const char *text, double x, double y,
                   const char *rest, double size, uint32_t rgb)
{
    buf_str(p->b, "set label ");
    gnuplot_quote(p, text);
    buf_printf(p->b, " at screen %.5f, screen %.5f %s", x, y, rest);
    gnuplot_font(p, size);
    buf_printf(p->b, " tc rgb '#%06X' front\n", rgb);
}

/*
 * Axes
 */

static void ticks(struct program *p, const char *which, const struct axis *a,
                  const char *options)
{
    const char *comma = "";

    buf_printf(p->b, "set %stics %s (", which, options);
    for (size_t i = 0; i < a->n_ticks; i++) {
        const double at = a->tick[i].at / a->factor;

        buf_str(p->b, comma);
        gnuplot_quote(p, a->tick[i].label);
        /* 3 * 0.1 is not 0.3: what is drawn as zero is zero */
        buf_printf(p->b, " %.10g %d", fabs(at) < 1e-300 ? 0.0 : at,
                   *a->tick[i].label == '\0');
        comma = ", ";
    }
    buf_str(p->b, ")\n");
}

static void range(struct program *p, const char *which, const struct axis *a)
{
    buf_printf(p->b, "set %srange [%.10g:%.10g]\n", which, a->lo / a->factor,
               a->hi / a->factor);
    if (a->scale == SCALE_LOG)
        buf_printf(p->b, "set logscale %s\n", which);
}

static void margins(struct program *p, const struct box *box)
{
    buf_printf(p->b,
               "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
               "set bmargin at screen %.5f\nset tmargin at screen %.5f\n",
               box->x0, box->x1, box->y0, box->y1);
}

static void axes(struct program *p, const struct panel *n,
                 const struct layout *l)
{
    char options[160];

    margins(p, &l->plot);
    buf_printf(p->b, "set border %d back lc rgb '#%06X' lw 0.6\n",
               n->heat     ? 15
               : n->has_y2 ? 11
                           : 3,
               p->pal->text);
    snprintf(options, sizeof options,
             "nomirror out scale 0.5,0.3 norotate textcolor rgb '#%06X'",
             p->pal->text);
    range(p, "x", &n->x);
    range(p, "y", &n->y);
    ticks(p, "x", &n->x, options);
    ticks(p, "y", &n->y, options);
    if (n->has_y2) {
        range(p, "y2", &n->y2);
        ticks(p, "y2", &n->y2, options);
    }
    if (n->heat || p->form->text)
        buf_str(p->b, "unset grid\n");
    else
        buf_printf(p->b,
                   "set grid xtics ytics back lt 1 lc rgb '#%06X' "
                   "lw 0.5\n",
                   p->pal->grid);
    gnuplot_label(p, n->x.shown, (l->plot.x0 + l->plot.x1) / 2, l->x_label,
                  "center", 1, p->pal->text);
    if (p->form->text) /* characters cannot be turned */
        gnuplot_label(p, n->y.shown, l->plot.x1,
                      l->plot.y1 + layout_em_y(p->fig, 0.9), "right", 1,
                      p->pal->text);
    else
        gnuplot_label(p, n->y.shown, l->y_label, (l->plot.y0 + l->plot.y1) / 2,
                      "center rotate by 90", 1, p->pal->text);
    if (n->has_y2)
        gnuplot_label(p, n->y2.shown, l->y2_label,
                      (l->plot.y0 + l->plot.y1) / 2, "center rotate by 270", 1,
                      p->pal->text);
    if (n->title)
        gnuplot_label(p, n->title, l->plot.x0,
                      l->plot.y1 + layout_em_y(p->fig, 0.9), "left", 1.05,
                      p->pal->text);
}

/* One entry: a piece of the line, its point, its name. */
static void legend_entry(struct program *p, const struct curve *c, double x,
                         double y)
{
    const double wide = layout_em_x(p->fig, 1.7);
    const uint32_t rgb = colour(p, c->colour);

    if (c->style != STYLE_POINTS)
        buf_printf(p->b,
                   "set arrow from screen %.5f, screen %.5f to screen %.5f, "
                   "screen %.5f nohead front lc rgb '#%06X' lw %.3g dt %s\n",
                   x, y, x + wide, y, rgb, width_of(p, c), dash_of(p, c));
    if (c->style == STYLE_POINTS || c->style == STYLE_LINE_POINTS)
        buf_printf(p->b,
                   "set label '' at screen %.5f, screen %.5f point pt %d "
                   "ps 0.55 lc rgb '#%06X' front\n",
                   x + wide / 2, y, point_of(p, c), rgb);
    gnuplot_label(p, c->label,
                  x + wide + layout_em_x(p->fig, p->form->text ? 1.2 : 0.5), y,
                  "left", 0.92, p->pal->text);
}

/* Our own: gnuplot's key gives up where there is little room. */
static void legend(struct program *p, const struct panel *n,
                   const struct layout *l)
{
    for (size_t i = 0, entry = 0; i < n->n_curves; i++) {
        double x, y;

        if (!n->curve[i].label || n->legend == LEGEND_NONE)
            continue;
        layout_legend(l, p->fig, n, entry++, &x, &y);
        legend_entry(p, &n->curve[i], x, y);
    }
    buf_str(p->b, "unset key\n");
}

/*
 * Data
 */

static void number(struct buf *b, double v)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%.7g", v);

    buf_add(b, text, (size_t)n);
}

/* One block a curve.  An empty line breaks the line: that is a gap. */
static void data(struct program *p, const struct panel *n, size_t panel)
{
    for (size_t i = 0; i < n->n_curves; i++) {
        const struct curve *c = &n->curve[i];
        const struct axis *y = c->right ? &n->y2 : &n->y;
        bool gap = true;

        buf_printf(p->b, "$p%zuc%zu << EOD\n", panel + 1, i + 1);
        for (size_t k = 0; k < c->n; k++) {
            const bool bad = !isfinite(c->y[k]) ||
                             (n->x.scale == SCALE_LOG && c->x[k] <= 0) ||
                             (y->scale == SCALE_LOG && c->y[k] <= 0);

            if (bad && !gap)
                buf_char(p->b, '\n');
            gap = bad;
            if (bad)
                continue;
            number(p->b, c->x[k] / n->x.factor);
            buf_char(p->b, ' ');
            number(p->b, c->y[k] / y->factor);
            if (c->lo) {
                buf_char(p->b, ' ');
                number(p->b, c->lo[k] / y->factor);
                buf_char(p->b, ' ');
                number(p->b, c->hi[k] / y->factor);
            }
            buf_char(p->b, '\n');
        }
        buf_str(p->b, "EOD\n");
    }
}

/* Anything at all to draw?  gnuplot refuses an empty block. */
static bool is_empty(const struct panel *n, const struct curve *c)
{
    const struct axis *y = c->right ? &n->y2 : &n->y;

    for (size_t k = 0; k < c->n; k++)
        if (isfinite(c->y[k]) && (n->x.scale != SCALE_LOG || c->x[k] > 0) &&
            (y->scale != SCALE_LOG || c->y[k] > 0))
            return false;
    return true;
}

void gnuplot_plot(struct program *p, const struct panel *n, size_t panel)
{
    static const char *const with[] = {
        [STYLE_LINE] = "lines",
        [STYLE_POINTS] = "points",
        [STYLE_LINE_POINTS] = "linespoints",
        [STYLE_STEPS] = "steps",
    };
    const char *then = "plot ";
    bool any = false;

    for (size_t i = 0; i < n->n_curves; i++) {
        const struct curve *c = &n->curve[i];

        if (!c->lo || c->bars || is_empty(n, c))
            continue;
        buf_printf(p->b,
                   "%s$p%zuc%zu using 1:3:4 axes x1y%d with filledcurves "
                   "lc rgb '#%06X' fillstyle transparent solid 0.18 noborder "
                   "notitle",
                   then, panel + 1, i + 1, c->right ? 2 : 1,
                   colour(p, c->colour));
        then = ", \\\n     ";
        any = true;
    }
    for (size_t i = 0; i < n->n_curves; i++) {
        const struct curve *c = &n->curve[i];
        const uint32_t full = colour(p, c->colour);
        const bool has_points =
            c->style == STYLE_POINTS || c->style == STYLE_LINE_POINTS;

        if (is_empty(n, c))
            continue;
        if (c->bars && c->lo) {
            buf_printf(p->b,
                       "%s$p%zuc%zu using 1:2:3:4 axes x1y%d with "
                       "yerrorbars lc rgb '#%06X' lw 1 pt 0 notitle",
                       then, panel + 1, i + 1, c->right ? 2 : 1, full);
            then = ", \\\n     ";
        }
        buf_printf(p->b,
                   "%s$p%zuc%zu using 1:2 axes x1y%d with %s "
                   "lc rgb '#%06X' lw %.3g dt %s",
                   then, panel + 1, i + 1, c->right ? 2 : 1, with[c->style],
                   c->faint ? palette_mix(full, p->pal->ground,
                                          c->style == STYLE_POINTS ? 0.5 : 0.25)
                            : full,
                   width_of(p, c), dash_of(p, c));
        if (has_points)
            buf_printf(p->b, " pt %d ps %.2g", point_of(p, c),
                       c->n > 60 ? 0.35 : 0.55);
        if (c->style == STYLE_LINE_POINTS && c->n > 40)
            buf_printf(p->b, " pi %zu", c->n / 25);
        buf_str(p->b, " notitle");
        then = ", \\\n     ";
        any = true;
    }
    buf_str(p->b, any ? "\n" : "plot NaN notitle\n");
}

/*
 * Marks
 */

/* Above a high point, below a low one, inwards near the edges. */
static void label_point(struct program *p, const struct panel *n,
                        const struct mark *m, const struct axis *ay,
                        const char *second)
{
    const double x = axis_place(&n->x, m->x), y = axis_place(ay, m->y);

    buf_printf(p->b, " at first %.10g, %s %.10g", m->x / n->x.factor, second,
               m->y / ay->factor);
    if (m->left)
        buf_printf(p->b, " %s",
                   x > 0.7 ? "right offset -1.4,0" : "left offset 1.4,0");
    else
        buf_printf(p->b, " %s offset 0,%s",
                   x > 0.85   ? "right"
                   : x < 0.15 ? "left"
                              : "center",
                   y < 0.5 && y > 0.07 ? "-0.9" : "0.9");
}

static void mark(struct program *p, const struct panel *n, const struct mark *m)
{
    const uint32_t rgb = colour(p, m->colour);
    const struct axis *ay = m->right ? &n->y2 : &n->y;
    const char *second = m->right ? "second" : "first";
    const double x = m->x / n->x.factor, y = m->y / ay->factor;

    if (m->type != MARK_AT_Y &&
        !(axis_place(&n->x, m->x) >= 0 && axis_place(&n->x, m->x) <= 1))
        return;
    switch (m->type) {
    case MARK_AT_X:
        buf_printf(p->b,
                   "set arrow from first %.10g, graph %s to first %.10g, "
                   "graph 1 nohead %s lw %s lc rgb '#%06X'\n",
                   x, m->small ? "0.97" : "0", x,
                   m->small ? "front" : "back dt (3,3)",
                   m->small ? "1.2" : "0.8", rgb);
        break;
    case MARK_AT_Y:
        if (!(y >= ay->lo / ay->factor && y <= ay->hi / ay->factor))
            return;
        buf_printf(p->b,
                   "set arrow from graph 0, %s %.10g to graph 1, %s "
                   "%.10g nohead back dt (8,4) lw 0.9 lc rgb '#%06X'\n",
                   second, y, second, y, rgb);
        break;
    case MARK_AT_XY:
        buf_printf(p->b,
                   "set label '' at first %.10g, %s %.10g point pt 6 "
                   "ps 0.9 lw 1.2 lc rgb '#%06X' front\n",
                   x, second, y, rgb);
        break;
    case MARK_NAN:
        buf_printf(p->b,
                   "set label '' at first %.10g, graph 0.025 point pt 2 "
                   "ps 0.55 lw 1.2 lc rgb '#%06X' front\n",
                   x, rgb);
        break;
    }
    if (!m->label)
        return;
    buf_str(p->b, "set label ");
    gnuplot_quote(p, m->label);
    if (m->type == MARK_AT_Y)
        buf_printf(p->b, " at graph %s, %s %.10g %s offset 0,0.45",
                   m->left ? "0.015" : "0.985", second, y,
                   m->left ? "left" : "right");
    else if (m->type == MARK_AT_X)
        buf_printf(p->b,
                   " at first %.10g, graph 0.98 right rotate by 90 "
                   "offset 0.7,0",
                   x);
    else if (m->type == MARK_NAN)
        buf_printf(p->b, " at first %.10g, graph 0.025 %s", x,
                   axis_place(&n->x, m->x) > 0.8 ? "right offset -0.8,0"
                                                 : "left offset 0.8,0");
    else
        label_point(p, n, m, ay, second);
    gnuplot_font(p, 0.85);
    buf_printf(p->b, " tc rgb '#%06X' front\n", rgb);
}

/* Crosses of one column of pixels would only cover each other. */
static void marks(struct program *p, const struct panel *n)
{
    double last = -INFINITY;

    for (size_t i = 0; i < n->n_marks; i++) {
        const struct mark *m = &n->mark[i];
        const double place = axis_place(&n->x, m->x);

        if (m->type == MARK_NAN && !m->label && fabs(place - last) < 0.004)
            continue;
        if (m->type == MARK_NAN)
            last = place;
        mark(p, n, m);
    }
}

static void heat(struct program *p, const struct panel *n)
{
    const struct heat *h = n->heat;
    const enum theme theme = p->fig->look.theme;
    const bool labels = h->nx <= 12 && h->ny <= 16;

    for (size_t i = 0; i < h->nx * h->ny; i++) {
        const double x = (double)(i % h->nx), y = (double)(i / h->nx);
        const double part =
            h->hi > h->lo ? (h->value[i] - h->lo) / (h->hi - h->lo) : 0.5;
        const uint32_t rgb =
            isfinite(h->value[i])
                ? palette_ramp(theme, h->low_is_good ? 1 - part : part)
                : p->pal->grid;
        char text[32];

        buf_printf(p->b,
                   "set object rectangle from %g,%g to %g,%g behind "
                   "fc rgb '#%06X' fillstyle solid border lc rgb '#%06X' "
                   "lw 0.5\n",
                   x - 0.5, y - 0.5, x + 0.5, y + 0.5, rgb, p->pal->ground);
        if (i == h->best)
            buf_printf(p->b,
                       "set object rectangle from %g,%g to %g,%g front "
                       "fillstyle empty border lc rgb '#%06X' lw 2.2\n",
                       x - 0.46, y - 0.46, x + 0.46, y + 0.46, 0xD55E00);
        if (!labels || !isfinite(h->value[i]))
            continue;
        snprintf(text, sizeof text, "%.4g", h->value[i]);
        buf_str(p->b, "set label ");
        gnuplot_quote(p, text);
        buf_printf(p->b, " at first %g, first %g center front", x, y);
        gnuplot_font(p, 0.9);
        buf_printf(p->b, " tc rgb '#%06X'\n", palette_on(rgb));
    }
}

/*
 * Pages
 */

void gnuplot_inset(struct program *p, const struct panel *n, size_t panel,
                   const struct layout *l)
{
    char options[120];

    buf_str(p->b, "unset label\nunset arrow\nunset object\nunset key\n"
                  "unset logscale\nunset y2tics\nunset grid\n");
    margins(p, &l->inset);
    buf_printf(p->b, "set border 15 back lc rgb '#%06X' lw 0.5\n",
               p->pal->grey);
    snprintf(options, sizeof options,
             "nomirror out scale 0.4,0.2 textcolor rgb '#%06X'", p->pal->text);
    range(p, "x", &n->inset_x);
    range(p, "y", &n->inset_y);
    ticks(p, "x", &n->inset_x, options);
    ticks(p, "y", &n->inset_y, options);
    if (!p->form->text && !p->form->tex) {
        buf_str(p->b, "set xtics");
        gnuplot_font(p, 0.8);
        buf_str(p->b, "\nset ytics");
        gnuplot_font(p, 0.8);
        buf_char(p->b, '\n');
    }
    gnuplot_plot(p, n, panel);
    buf_str(p->b, "set xtics font ''\nset ytics font ''\n");
}

void gnuplot_panel(struct program *p, size_t i)
{
    const struct panel *n = p->fig->panel[i];
    struct layout l;

    layout_panel(&l, p->fig, i);
    data(p, n, i);
    axes(p, n, &l);
    legend(p, n, &l);
    marks(p, n);
    if (n->heat)
        heat(p, n);
    if (isfinite(n->inset_lo))
        buf_printf(p->b,
                   "set object rectangle from screen %.5f, screen %.5f "
                   "to screen %.5f, screen %.5f front fc rgb '#%06X' "
                   "fillstyle solid noborder\n",
                   l.inset.x0 - layout_em_x(p->fig, 2.6),
                   l.inset.y0 - layout_em_y(p->fig, 1.8),
                   l.inset.x1 + layout_em_x(p->fig, 0.6), l.inset.y1,
                   p->pal->ground);
}
