/*
 * gnuplot_page - the page of a gnuplot script: terminal, size, layout
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* The cairo terminals draw a font at 96 dots to the inch, not 72. */
static const double cairo_font = 0.75;

static void set_terminal(struct script *s, const char *output)
{
    const struct look *l = &s->fig->look;
    const struct gnuplot_form *t = s->form;
    const char *name = t->terminal;
    const double scale = t->pixels ? t->scale : 1;

    buf_printf(s->b, "set terminal %s", name);
    if (strcmp(name, "cairolatex") == 0)
        buf_printf(s->b,
                   " pdf input colortext font ',%.4g' linewidth 2 "
                   "pointscale 0.75",
                   l->font_size);
    else if (t->tex)
        buf_printf(s->b, " font '\\fontsize{%.4g}{%.4g}\\selectfont'",
                   l->font_size, 1.2 * l->font_size);
    else
        buf_str(s->b, " noenhanced");
    if (t->text) /* the size is in characters */
        buf_printf(s->b, " size %.0f,%.0f", l->width / TEXT_WIDTH,
                   l->height / TEXT_HEIGHT);
    else if (t->pixels)
        buf_printf(s->b, " size %.0f,%.0f", l->width * t->scale,
                   l->height * t->scale);
    else
        buf_printf(s->b, " size %.4fin,%.4fin", l->width * t->scale,
                   l->height * t->scale);
    if (strcmp(name, "dumb") == 0)
        buf_str(s->b, " ansirgb");
    if (t->cairo)
        buf_printf(s->b,
                   " font '%s,%.4g' fontscale %.5g linewidth %.4g "
                   "pointscale %.4g",
                   l->font, l->font_size, cairo_font * scale,
                   t->pixels ? scale : 2, 0.75 * scale);
    else if (t->own_units && !t->text)
        buf_printf(s->b, " font '%s,%.4g' linewidth %.4g", l->font,
                   l->font_size * scale, scale);
    if (strcmp(name, "svg") == 0)
        buf_str(s->b, " dashlength 0.6");
    if (!t->tex && !t->text && strcmp(name, "epscairo") != 0)
        buf_printf(s->b, " background '#%06X'", s->pal->ground);
    buf_char(s->b, '\n');
    if (output) {
        buf_str(s->b, "set output '");
        for (; *output; output++)
            buf_printf(s->b, *output == '\'' ? "''" : "%c", *output);
        buf_str(s->b, "'\n");
    }
}

/* Notes are below the panels, in lines that fit. */
static void draw_notes(struct script *s)
{
    const size_t width = layout_note_width(s->fig);
    size_t line = layout_notes(s->fig);

    for (size_t i = 0; i < s->fig->n_notes; i++) {
        const char *from = s->fig->note[i];

        while (*from) {
            const size_t len = layout_line(from, width);
            char *text = xstrndup(from, len);

            line -= line > 0;
            gnuplot_label(s, text, layout_left(s->fig),
                          layout_em_y(s->fig, 0.75 + 1.15 * (double)line) +
                              s->fig->look.margin / s->fig->look.height,
                          "left", 0.85, s->pal->grey);
            free(text);
            from += len;
            from += *from == ' ';
        }
    }
}

/* Text above the panels, in a font of fixed width. */
static void draw_lines(struct script *s)
{
    for (size_t i = 0; i < s->fig->n_lines; i++) {
        if (!*s->fig->line[i])
            continue;
        buf_str(s->b, "set label ");
        gnuplot_quote(s, s->fig->line[i]);
        buf_printf(
            s->b, " at screen %.5f, screen %.5f left", layout_left(s->fig),
            layout_top(s->fig) +
                layout_em_y(s->fig, 1.1 * (double)(s->fig->n_lines - i) - 0.6));
        if (!s->form->text && !s->form->tex)
            buf_printf(s->b, " font 'DejaVu Sans Mono,%.3g'",
                       s->fig->look.font_size * 0.72 *
                           (s->form->own_units ? s->form->scale : 1));
        buf_printf(s->b, " tc rgb '#%06X' front\n", s->pal->text);
    }
}

/* The legend of all panels, below the title. */
static void draw_shared(struct script *s)
{
    for (size_t i = 0; i < s->fig->n_entries; i++) {
        double x, y;

        layout_shared(s->fig, i, &x, &y);
        gnuplot_entry(s, &s->fig->entry[i], x, y);
    }
}

static void draw_page(struct script *s)
{
    bool many = s->fig->n_panels > 1;

    for (size_t i = 0; i < s->fig->n_panels; i++)
        many = many || isfinite(s->fig->panel[i]->inset_lo);
    if (many)
        buf_str(s->b, "set multiplot\n");
    if (s->fig->n_panels == 0) {
        buf_str(s->b, "unset label\nunset border\nunset tics\nunset key\n"
                      "unset arrow\nunset object\n");
        if (s->fig->title)
            gnuplot_label(s, s->fig->title, layout_left(s->fig),
                          layout_title(s->fig), "left", 1.5, s->pal->text);
        draw_lines(s);
        buf_str(s->b, "plot [0:1] [0:1] NaN notitle\n");
    }
    for (size_t i = 0; i < s->fig->n_panels; i++) {
        buf_str(s->b, "unset label\nunset arrow\nunset object\n"
                      "unset logscale\nunset y2tics\n");
        if (i == 0) {
            draw_notes(s);
            draw_lines(s);
            if (s->fig->title)
                gnuplot_label(s, s->fig->title, layout_left(s->fig),
                              layout_title(s->fig), "left", 1.2, s->pal->text);
            draw_shared(s);
        }
        gnuplot_panel(s, i);
    }
    if (many)
        buf_str(s->b, "unset multiplot\n");
}

void gnuplot_script(const struct figure *f, size_t n,
                    const struct gnuplot_form *form, const char *output,
                    struct buf *b)
{
    struct script s = { b, f, form, palette_of(f->look.theme), { 0 } };

    buf_str(b, "# A figure by gplot; draw it with: gnuplot THIS-FILE\n");
    set_terminal(&s, output);
    buf_str(b, "set encoding utf8\nset clip two\n");
    for (size_t i = 0; i < n; i++) {
        struct figure fig = f[i];

        if (form->tex) /* the notes are for the caption */
            fig.n_notes = 0;
        s.fig = &fig;
        s.pal = palette_of(f[i].look.theme);
        draw_page(&s);
    }
    if (output)
        buf_str(b, "set output\n");
}
