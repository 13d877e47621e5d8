/*
 * gnuplot_text - strings, marks and maps in a gnuplot script
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/output/table.h"
#include "common/spawn.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"

/* The command for a letter that pdflatex has in mathematics only. */
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
        { 0x2212, "-" },     { 0x00D7, "times" },   { 0x00B7, "cdot" },
        { 0x00B1, "pm" },    { 0x00B5, "mu" },      { 0x2264, "leq" },
        { 0x2265, "geq" },   { 0x2248, "approx" },  { 0x2192, "rightarrow" },
        { 0x221E, "infty" }, { 0x0394, "Delta" },   { 0x03A3, "Sigma" },
        { 0x03A9, "Omega" }, { 0x2191, "uparrow" }, { 0x2193, "downarrow" },
    };

    if (code >= 0x3B1 && code <= 0x3C9 && code != 0x3BF)
        return greek[code - 0x3B1];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].code == code)
            return others[i].name;
    return NULL;
}

/* The character that is raised in this one; 0 for none. */
static char raised_of(int32_t code)
{
    return code == 0x2070                     ? '0'
           : code == 0xB9                     ? '1'
           : code == 0xB2 || code == 0xB3     ? (char)('2' + code - 0xB2)
           : code >= 0x2074 && code <= 0x2079 ? (char)('4' + code - 0x2074)
           : code == 0x207B                   ? '-'
                                              : '\0';
}

static void add_tex(struct buf *b, int32_t code)
{
    const char *quote = code == '"'    ? "\\textquotedbl{}"
                        : code == '\'' ? "\\textquotesingle{}"
                                       : NULL;
    const char *name = code < 128 ? table_latex((char)code) : tex_of(code);

    if (quote || (name && code < 128))
        buf_str(b, quote ? quote : name);
    else if (raised_of(code))
        buf_printf(b, "\\ensuremath{^{%c}}", raised_of(code));
    else if (name)
        buf_printf(b, "\\ensuremath{%s%s}", *name == '-' ? "" : "\\", name);
    else
        utf8_add(b, code);
}

/* The usual fonts have the letters, arrows and mathematics below this. */
enum { FIRST = 0x2300 };

static bool ask_fontconfig(int32_t code)
{
    char charset[32];
    const char *const argv[] = { "fc-list", charset, "family", NULL };
    AUTO(buf_clear) struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true, .secs = 10 };
    bool have;

    snprintf(charset, sizeof charset, ":charset=%x", (unsigned)code);
    have = spawn_run(argv, &s, ERR_IGNORED) < 0 || out.len > 0;
    if (!have)
        log_warn("no installed font has U+%04X; '?' is drawn instead",
                 (unsigned)code);
    return have;
}

/* If no font has a character, gnuplot's cairo terminals draw a box many times
 * the size of the figure.  fontconfig's fc-list is run once for each character
 * of the scripts and symbols that fonts often lack; without fc-list, fonts are
 * assumed to have every character. */
static bool glyphs_have(struct glyphs *g, int32_t code)
{
    const int room = sizeof g->known / sizeof g->known[0];
    bool have;

    if (code < FIRST)
        return true;
    for (int i = 0; i < g->n; i++)
        if (g->known[i].code == code)
            return g->known[i].have;
    have = ask_fontconfig(code);
    if (g->n < room) {
        g->known[g->n].code = code;
        g->known[g->n++].have = have;
    }
    return have;
}

/* Between single quotes only the quote itself is special; between double
 * quotes a backquote would run a command.  Quotes at the beginning are put
 * between double quotes, because gnuplot takes '' there for an empty text. */
void gnuplot_quote(struct script *s, const char *text)
{
    AUTO(buf_clear) struct buf clean = BUF_INIT, shown = BUF_INIT;
    AUTO(buf_clear) struct buf tex = BUF_INIT;
    const char *from;
    size_t quotes;

    utf8_clean(&clean, text, strlen(text));
    for (char *c = clean.s; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = ' ';
    utf8_visible(&shown, clean.s);
    for (from = shown.s; *from;) {
        int32_t code = utf8_next(&from);

        if (s->form->cairo && !glyphs_have(&s->glyphs, code))
            code = '?';
        if (s->form->tex)
            add_tex(&tex, code);
        else
            utf8_add(&tex, code);
    }
    quotes = strspn(tex.s, "'");
    if (quotes)
        buf_printf(s->b, "\"%.*s\".", (int)quotes, tex.s);
    buf_char(s->b, '\'');
    for (from = tex.s + quotes; *from; from++) {
        if (*from == '\'')
            buf_char(s->b, '\'');
        buf_char(s->b, *from);
    }
    buf_char(s->b, '\'');
}

void gnuplot_font(struct script *s, double factor)
{
    const double unit = s->form->own_units ? s->form->scale : 1;

    if (!s->form->text && !s->form->tex)
        buf_printf(s->b, " font ',%.3g'",
                   s->fig->look.font_size * factor * unit);
}

void gnuplot_label(struct script *s, const char *text, double x, double y,
                   const char *rest, double size, uint32_t rgb)
{
    buf_str(s->b, "set label ");
    gnuplot_quote(s, text);
    buf_printf(s->b, " at screen %.5f, screen %.5f %s", x, y, rest);
    gnuplot_font(s, size);
    buf_printf(s->b, " tc rgb '#%06X' front\n", rgb);
}

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
