/*
 * gnuplot_page - the page of a gnuplot script: terminal, size, layout
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>
#include <string.h>

#include "common/utf8.h"

/*
 * Terminal
 */

/* The cairo terminals take a point for a 72nd of 96 dots. */
static const double cairo_font = 0.75;

static void terminal(struct program *p, const char *output)
{
    const struct look *l = &p->fig->look;
    const struct gnuplot_form *t = p->form;
    const char *name = t->terminal;

    buf_printf(p->b, "set terminal %s", name);
    if (strcmp(name, "cairolatex") == 0)
        buf_str(p->b, " pdf input colortext linewidth 2 pointscale 0.75");
    else if (!t->tex)
        buf_str(p->b, " noenhanced");
    if (t->text) /* a character is so wide and high, in ems */
        buf_printf(p->b, " size %.0f,%.0f", l->width / TEXT_WIDTH,
                   l->height / TEXT_HEIGHT);
    else if (t->pixels)
        buf_printf(p->b, " size %.0f,%.0f", l->width * t->scale,
                   l->height * t->scale);
    else
        buf_printf(p->b, " size %.4fin,%.4fin", l->width * t->scale,
                   l->height * t->scale);
    if (strcmp(name, "dumb") == 0)
        buf_str(p->b, " ansirgb");
    if (strcmp(name, "svg") == 0 || strcmp(name, "sixelgd") == 0)
        buf_printf(p->b, " font '%s,%.4g' linewidth %.4g", l->font,
                   l->font_size * t->scale, t->scale);
    else if (strcmp(name, "pngcairo") == 0)
        buf_printf(p->b,
                   " font '%s,%.4g' fontscale %.5g linewidth %.4g "
                   "pointscale %.4g",
                   l->font, l->font_size, cairo_font * t->scale, t->scale,
                   t->scale * 0.75);
    else if (strcmp(name, "pdfcairo") == 0 || strcmp(name, "epscairo") == 0)
        buf_printf(p->b,
                   " font '%s,%.4g' fontscale %.4g linewidth 2 "
                   "pointscale 0.75",
                   l->font, l->font_size, cairo_font);
    if (strcmp(name, "svg") == 0)
        buf_printf(p->b, " dashlength 0.6 background '#%06X'", p->pal->ground);
    else if (strcmp(name, "pngcairo") == 0 || strcmp(name, "pdfcairo") == 0 ||
             strcmp(name, "sixelgd") == 0)
        buf_printf(p->b, " background '#%06X'", p->pal->ground);
    buf_char(p->b, '\n');
    if (output) {
        buf_str(p->b, "set output ");
        buf_char(p->b, '\'');
        for (; *output; output++)
            buf_printf(p->b, *output == '\'' ? "''" : "%c", *output);
        buf_str(p->b, "'\n");
    }
}

/*
 * Pages
 */

/* Notes stand below, in lines that fit. */
static void notes(struct program *p)
{
    const size_t width = layout_note_width(p->fig);
    size_t line = layout_notes(p->fig);

    for (size_t i = 0; i < p->fig->n_notes; i++) {
        const char *s = p->fig->note[i].text;

        while (*s) {
            const char *end = s, *space = NULL, *at = s;

            for (size_t k = 0; *at && k < width; k++) {
                utf8_next(&at);
                if (*at == ' ' || *at == '\0')
                    space = at;
            }
            end = *at && space ? space : at;
            line -= line > 0;
            buf_str(p->b, "set label ");
            gnuplot_quote_n(p, s, (size_t)(end - s));
            buf_printf(p->b, " at screen %.5f, screen %.5f left",
                       layout_left(p->fig),
                       layout_em_y(p->fig, 0.75 + 1.15 * (double)line) +
                           p->fig->look.margin / p->fig->look.height);
            gnuplot_font(p, 0.85);
            buf_printf(p->b, " tc rgb '#%06X' front\n", p->pal->grey);
            s = end + (*end == ' ');
        }
    }
}

/* Text that is the page's own, in a font of fixed width. */
static void lines(struct program *p)
{
    for (size_t i = 0; i < p->fig->n_lines; i++) {
        if (!*p->fig->line[i])
            continue;
        buf_str(p->b, "set label ");
        gnuplot_quote(p, p->fig->line[i]);
        buf_printf(
            p->b, " at screen %.5f, screen %.5f left", layout_left(p->fig),
            layout_top(p->fig) +
                layout_em_y(p->fig, 1.1 * (double)(p->fig->n_lines - i) - 0.6));
        if (!p->form->text && !p->form->tex)
            buf_printf(p->b, " font 'DejaVu Sans Mono,%.3g'",
                       p->fig->look.font_size * 0.72 *
                           (p->form->own_units ? p->form->scale : 1));
        buf_printf(p->b, " tc rgb '#%06X' front\n", p->pal->text);
    }
}

static void page(struct program *p)
{
    bool many = p->fig->n_panels > 1;

    for (size_t i = 0; i < p->fig->n_panels; i++)
        many = many || isfinite(p->fig->panel[i]->inset_lo);
    if (many)
        buf_str(p->b, "set multiplot\n");
    if (p->fig->n_panels == 0) {
        buf_str(p->b, "unset label\nunset border\nunset tics\nunset key\n"
                      "unset arrow\nunset object\n");
        if (p->fig->title)
            gnuplot_label(p, p->fig->title, layout_left(p->fig),
                          layout_title(p->fig), "left", 1.5, p->pal->text);
        lines(p);
        buf_str(p->b, "plot [0:1] [0:1] NaN notitle\n");
    }
    for (size_t i = 0; i < p->fig->n_panels; i++) {
        const struct panel *n = p->fig->panel[i];

        buf_str(p->b, "unset label\nunset arrow\nunset object\n"
                      "unset logscale\nunset y2tics\n");
        if (i == 0) {
            notes(p);
            lines(p);
            if (p->fig->title)
                gnuplot_label(p, p->fig->title, layout_left(p->fig),
                              layout_title(p->fig), "left", 1.2, p->pal->text);
        }
        gnuplot_panel(p, i);
        gnuplot_plot(p, n, i);
        if (isfinite(n->inset_lo)) {
            struct layout l;

            layout_panel(&l, p->fig, i);
            gnuplot_inset(p, n, i, &l);
        }
    }
    if (many)
        buf_str(p->b, "unset multiplot\n");
}

void gnuplot_text(const struct figure *f, size_t n,
                  const struct gnuplot_form *form, const char *output,
                  struct buf *b)
{
    struct program p = { b, f, form, palette_of(f->look.theme),
                         { 0 } };

    buf_str(b, "# A figure by gplot; draw it with: gnuplot THIS-FILE\n");
    terminal(&p, output);
    buf_str(b, "set encoding utf8\nset clip two\n");
    for (size_t i = 0; i < n; i++) {
        p.fig = &f[i];
        p.pal = palette_of(f[i].look.theme);
        page(&p);
    }
    if (output)
        buf_str(b, "set output\n");
}
