#include "config.h"
#include "plot/draw/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/spawn.h"
#include "common/utf8.h"
#include "plot/draw/gnuplot_text.h"

/* clang-format off */
static const char style[] =
    ":root{--text:#1a1a1a;--ground:#fff}\n"
    "body{font:16px/1.5 system-ui,Arial,sans-serif;max-width:72rem;"
    "margin:2rem auto;padding:0 1rem;color:var(--text);"
    "background:var(--ground)}\n"
    "svg{width:100%;height:auto;max-width:45rem}\n"
    "@media print{@page{size:A4}body{margin:0}}\n";
static const char dark_colours[] =
    ":root{--text:#e6edf3;--ground:#161b22}\n";
/* Light figures become dark and keep their hues; white becomes black, which
 * lets the ground of the page through. */
static const char dark_figures[] =
    "svg{filter:invert(1) hue-rotate(180deg);mix-blend-mode:screen}\n";
/* clang-format on */

/* A text without what HTML and XML would read otherwise. */
static void html_text(struct buf *b, const char *s)
{
    static const char *const names[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"
    };

    for (; *s; s++) {
        if (names[(unsigned char)*s])
            buf_str(b, names[(unsigned char)*s]);
        else
            buf_char(b, *s);
    }
}

void html_page(struct buf *b, const char *title, bool dark, const char *svg)
{
    const char *element = strstr(svg, "<svg");

    buf_str(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
               "<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width\">\n"
               "<title>");
    html_text(b, title ? title : "figure");
    buf_str(b, "</title>\n<style>\n");
    buf_str(b, style);
    if (dark)
        buf_str(b, dark_colours);
    else /* where the reader prefers it */
        buf_printf(b, "@media screen and (prefers-color-scheme:dark){%s%s}\n",
                   dark_colours, dark_figures);
    buf_str(b, "</style>\n</head>\n<body>\n");
    buf_str(b, element ? element : "");
    buf_str(b, "</body>\n</html>\n");
}

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
            AUTO_FREE char *text = xstrndup(from, len);

            line -= line > 0;
            gnuplot_label(s, text, layout_left(s->fig),
                          layout_em_y(s->fig, 0.75 + 1.15 * (double)line) +
                              s->fig->look.margin / s->fig->look.height,
                          "left", 0.85, s->pal->grey);
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

/* clang-format off */
static const struct gnuplot_form forms[] = {
    { .name = "png", .terminal = "pngcairo", .scale = 200.0 / 72,
      .pixels = true, .cairo = true, .alpha = true },
    { .name = "svg", .terminal = "svg", .scale = 96.0 / 72, .raise = 0.5,
      .pixels = true, .own_units = true, .alpha = true },
    { .name = "pdf", .terminal = "pdfcairo", .scale = 1.0 / 72,
      .cairo = true, .alpha = true },
    { .name = "eps", .terminal = "epscairo", .scale = 1.0 / 72,
      .cairo = true },
    { .name = "tex", .terminal = "cairolatex", .scale = 1.0 / 72,
      .tex = true, .alpha = true },
    { .name = "tikz", .terminal = "tikz", .scale = 1.0 / 72, .tex = true },
    { .name = "sixel", .terminal = "sixelgd", .scale = 96.0 / 72,
      .pixels = true, .own_units = true },
    { .name = "dumb", .terminal = "dumb", .scale = 1,
      .pixels = true, .own_units = true, .text = true },
    { .name = "block", .terminal = "block", .scale = 1,
      .pixels = true, .own_units = true, .text = true },
    { .name = NULL },
};
/* clang-format on */

const struct gnuplot_form *gnuplot_form(const char *name)
{
    for (const struct gnuplot_form *f = forms; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static const char *gnuplot_path(void)
{
    const char *named = getenv("GPLOT_GNUPLOT");

    return named && *named ? named : "gnuplot";
}

bool gnuplot_found(char version[16])
{
    const char *const argv[] = { gnuplot_path(), "--version", NULL };
    AUTO(buf_clear) struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true, .secs = 10 };
    const bool found = spawn_run(argv, &s, ERR_IGNORED) == 0;

    version[0] = '\0';
    if (found && sscanf(out.s, "gnuplot %15s", version) != 1)
        version[0] = '\0';
    return found;
}

/* Seconds that gnuplot may take. */
static double time_limit(void)
{
    const char *text = getenv("GPLOT_TIMEOUT");
    double secs;

    return text && num_secs(text, &secs) && secs > 0 ? secs : 60;
}

/* Say why gnuplot failed. */
static int explain_failure(const struct gnuplot_form *form,
                           const struct buf *words, struct err *e)
{
    if (e->kind == ERR_MISSING)
        return err_set(e, ERR_MISSING,
                       "gnuplot is not installed, so no %s "
                       "file can be made; without -o the figure is drawn in "
                       "the terminal, and --data prints its numbers",
                       form->name);
    if (strstr(words->s, "unknown or ambiguous terminal"))
        return err_set(e, ERR_MISSING,
                       "this gnuplot cannot write %s files: it "
                       "was built without its terminal %s",
                       form->name, form->terminal);
    return err_wrap(e, "drawing");
}

static int run_gnuplot(const char *text, size_t len,
                       const struct gnuplot_form *form, struct buf *image,
                       struct err *e)
{
    /* without its name, gnuplot would read single bytes */
    const char *const argv[] = { gnuplot_path(), "-d", "/dev/stdin", NULL };
    AUTO(buf_clear) struct buf words = BUF_INIT;
    struct spawn s = { .in = text,
                       .in_len = len,
                       .out = image,
                       .words = &words,
                       .secs = time_limit() };
    int ret = spawn_run(argv, &s, e);

    if (ret < 0)
        explain_failure(form, &words, e);
    else if (strstr(words.s, "rror") || strstr(words.s, "invalid"))
        ret = err_set(e, ERR_SYSTEM, "drawing: gnuplot said: %.300s", words.s);
    return ret;
}

/* LaTeX sets the caption, not the picture: it has the notes as comments, and
 * the stamp. */
static void comment_notes(const struct figure *f, struct buf *b)
{
    for (size_t i = 0; i < f->n_notes; i++) {
        AUTO(buf_clear) struct buf clean = BUF_INIT;

        utf8_visible(&clean, f->note[i]);
        buf_printf(b, "%% %s\n", clean.s);
    }
    if (f->stamp)
        buf_printf(b, "%% %s\n", f->stamp);
}

/* What a figure shows: "Loss of run1, run2 and 3 more". */
static void describe(const struct figure *f, struct buf *b)
{
    enum { MOST = 4 };
    size_t n = 0;

    if (f->title)
        buf_str(b, f->title);
    for (size_t i = 0; i < f->n_panels && !f->title; i++) {
        const struct panel *p = f->panel[i];

        buf_printf(b, "%s%s", i ? ", " : "", p->title ? p->title : p->y.label);
    }
    for (size_t i = 0; f->n_panels && i < f->panel[0]->n_curves; i++) {
        const struct curve *c = f->panel[0]->curve;
        size_t first = 0;

        while (strcmp(c[first].run, c[i].run) != 0)
            first++;
        if (*c[i].run && first == i && n++ < MOST)
            buf_printf(b, "%s%s", n == 1 ? " of " : ", ", c[i].run);
    }
    if (n > MOST)
        buf_printf(b, " and %zu more", n - MOST);
}

/* Replace what stands from one text to another by a third one. */
static void replace_between(struct buf *b, const char *from, const char *to,
                            const char *with)
{
    const char *at = b->s ? strstr(b->s, from) : NULL;
    const char *end = at ? strstr(at + strlen(from), to) : NULL;
    struct buf out = BUF_INIT;

    if (!end)
        return;
    buf_add(&out, b->s, (size_t)(at - b->s) + strlen(from));
    buf_str(&out, with);
    buf_add(&out, end, b->len - (size_t)(end - b->s));
    buf_clear(b);
    *b = out;
}

/* gnuplot writes a title of its own, and the time of day. */
static void own_title(const struct figure *f, const struct gnuplot_form *form,
                      struct buf *image)
{
    AUTO(buf_clear) struct buf text = BUF_INIT, clean = BUF_INIT;
    AUTO(buf_clear) struct buf title = BUF_INIT;

    describe(f, &text);
    utf8_visible(&clean, text.len ? text.s : "gplot");
    html_text(&title, clean.s);
    if (strcmp(form->name, "svg") == 0)
        replace_between(image, "<title>", "</title>", title.s);
    else if (strcmp(form->name, "tikz") == 0)
        replace_between(image, "%% generated with", "\n\\path", "");
}

int gnuplot_draw(const struct figure *f, size_t n,
                 const struct gnuplot_form *form, struct buf *image,
                 struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    size_t before;
    int ret;

    gnuplot_script(f, n, form, NULL, &text);
    if (form->tex)
        comment_notes(f, image);
    before = image->len;
    ret = run_gnuplot(text.s, text.len, form, image, e);
    if (ret == 0 && image->len == before)
        ret = err_set(e, ERR_SYSTEM, "drawing: gnuplot wrote nothing");
    if (ret == 0)
        own_title(f, form, image);
    return ret;
}

/* A document finds the picture from where `path` is meant, and from the folder
 * of the figure.  TeX reads some characters of a name otherwise; a picture in
 * such a folder is found from there only. */
static bool name_folder(FILE *fp, const char *path)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    const int stem = (int)(strlen(path) - strlen(".tex"));

    if (!slash || path[strcspn(path, "\\{}%#$&~^\" \t\n")])
        return false;
    fprintf(fp,
            "  \\IfFileExists{%.*s-inc.pdf}{\\def\\gplotfolder{%.*s}}"
            "{\\def\\gplotfolder{}}%%\n",
            stem, path, folder, path);
    return true;
}

/* Without the folder in which it was made, which is part of the picture's
 * name. */
static int save_tex(const struct figure *f, const char *path, const char *tex,
                    const char *folder, struct err *e)
{
    AUTO(buf_clear) struct buf notes = BUF_INIT;
    struct save s = { 0 };
    bool named = false;
    const char *at;
    AUTO_FREE char *place = NULL;

    if (save_open(&s, path, e) < 0)
        return -1;
    place = xasprintf("{%s/", folder);
    comment_notes(f, &notes);
    fputs(notes.s ? notes.s : "", s.fp);
    /* the terminal leaves the size of the font to the document */
    at = strstr(tex, "\\begingroup\n");
    if (at) {
        at += strlen("\\begingroup\n");
        fwrite(tex, 1, (size_t)(at - tex), s.fp);
        fprintf(s.fp, "  \\fontsize{%.4g}{%.4g}\\selectfont\n",
                f->look.font_size, 1.2 * f->look.font_size);
        named = name_folder(s.fp, path);
        tex = at;
    }
    while ((at = strstr(tex, place))) {
        fwrite(tex, 1, (size_t)(at - tex) + 1, s.fp);
        fputs(named ? "\\gplotfolder " : "", s.fp);
        tex = at + strlen(place);
    }
    fputs(tex, s.fp);
    return save_commit(&s, e);
}

/* Read a file that gnuplot wrote.  On a full disk it is cut short without an
 * error message, so check how it ends. */
static int read_whole(struct buf *b, const char *path, const char *end,
                      struct err *e)
{
    size_t tail;

    if (buf_read_file(b, path, (size_t)64 << 20, e) < 0)
        return -1;
    tail = b->len < 64 ? b->len : 64;
    if (!memmem(b->s + b->len - tail, tail, end, strlen(end)))
        return err_set(e, ERR_SYSTEM,
                       "drawing: gnuplot did not finish its files; is "
                       "the disk full?");
    return 0;
}

/* gnuplot writes two files, with names made from one.  Write them to a folder
 * of their own, and move them when both are complete. */
int gnuplot_draw_tex(const struct figure *f, const char *path, struct err *e)
{
    const struct gnuplot_form *form = gnuplot_form("tex");
    const char *name = path_name(path);
    const size_t stem_len = strlen(path) - strlen(".tex");
    AUTO_FREE char *folder = path_parent(path);
    AUTO_FREE char *temp = xasprintf("%s/.gplot.XXXXXX", folder);
    AUTO_FREE char *stem =
        xasprintf("%.*s-inc", (int)(strlen(name) - strlen(".tex")), name);
    AUTO_FREE char *made = NULL, *made_pdf = NULL;
    AUTO_FREE char *pdf = xasprintf("%.*s-inc.pdf", (int)stem_len, path);
    AUTO(buf_clear) struct buf text = BUF_INIT, tex = BUF_INIT;
    AUTO(buf_clear) struct buf picture = BUF_INIT;
    int ret;

    if (!mkdtemp(temp))
        return err_sys(e, "cannot create a folder beside %s", path);
    made = xasprintf("%s/%s.tex", temp, stem);
    made_pdf = xasprintf("%s/%s.pdf", temp, stem);
    gnuplot_script(f, 1, form, made, &text);
    ret = run_gnuplot(text.s, text.len, form, &picture, e);
    if (ret == 0)
        ret = read_whole(&tex, made, "\\endgroup", e);
    if (ret == 0)
        ret = read_whole(&picture, made_pdf, "%%EOF", e);
    if (ret == 0 && rename(made_pdf, pdf) < 0)
        ret = err_sys(e, "cannot create %s", pdf);
    if (ret == 0)
        ret = save_tex(f, path, tex.s, temp, e);
    path_remove(temp, ERR_IGNORED);
    return ret;
}
