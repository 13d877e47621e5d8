/*
 * output - where a figure goes
 */
#include "config.h"
#include "common/buf.h"
#include "plot/figures.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "common/program.h"
#include "common/save.h"
#include "common/utf8.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/json.h"
#include "plot/draw/term.h"
#include "plot/stamp.h"

/* The format by the end of a file name: "png"; NULL if gplot has none. */
static const char *form_of(const char *path)
{
    static const char *const known[] = { "png",  "svg",  "pdf", "eps",  "tex",
                                         "tikz", "html", "txt", "json", NULL };
    const char *dot = strrchr(path_name(path), '.');

    for (int i = 0; dot && known[i]; i++)
        if (strcasecmp(dot + 1, known[i]) == 0)
            return known[i];
    return NULL;
}

int output_check(const struct request *r, struct err *e)
{
    if (r->output && !form_of(r->output))
        return err_usage(e,
                         "-o %s: gplot writes .png, .svg, .pdf, .eps, .tex, "
                         ".tikz, .html, .txt and .json",
                         r->output);
    if (r->watch && (r->data || r->hash || r->script))
        return err_usage(e,
                         "--watch redraws the figure; it works with -o or on "
                         "the terminal only");
    return 0;
}

/*
 * The terminal
 */

static int from_env(const char *name, int otherwise)
{
    const char *text = getenv(name);
    int64_t n;

    return text && num_int(text, &n) && n >= 20 && n <= 1000 ? (int)n
                                                             : otherwise;
}

/* The size of the terminal, from its window or COLUMNS and LINES. */
static void screen_size(int *width, int *height)
{
    struct winsize w;

    *width = *height = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0) {
        *width = w.ws_col;
        *height = w.ws_row;
    }
    *width = from_env("COLUMNS", *width >= 20 ? *width : 80);
    *height = from_env("LINES", *height >= 10 ? *height : 24);
}

/* Does the terminal draw sixels?  It is asked with DA1; one that does not
 * answer within 150 ms does not. */
static bool speaks_sixel(void)
{
    struct termios old, raw;
    char answer[64];
    size_t n = 0;
    bool sixel = false;

    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &old) < 0)
        return false;
    raw = old;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    if (write(STDOUT_FILENO, "\033[c", 3) == 3) {
        struct pollfd p = { STDIN_FILENO, POLLIN, 0 };

        while (n + 1 < sizeof answer && poll(&p, 1, 150) > 0 &&
               read(STDIN_FILENO, answer + n, 1) == 1)
            if (answer[n++] == 'c')
                break;
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &old);
    answer[n] = '\0';
    for (const char *s = answer; (s = strchr(s, ';')); s++)
        sixel = sixel || strncmp(s, ";4;", 3) == 0 || strncmp(s, ";4c", 3) == 0;
    return sixel;
}

static const char *choose_screen(const struct request *r)
{
    const char *term = getenv("TERM"), *program = getenv("TERM_PROGRAM");

    if (r->term > 0)
        return option_terms[r->term];
    if (!isatty(STDOUT_FILENO) || getenv("TMUX") || getenv("STY"))
        return "own";
    if (getenv("KITTY_WINDOW_ID") || (term && strstr(term, "kitty")) ||
        (program &&
         (strcmp(program, "ghostty") == 0 || strcmp(program, "WezTerm") == 0)))
        return "kitty";
    if (term &&
        (strstr(term, "mlterm") || strstr(term, "foot") ||
         strstr(term, "sixel") || strncmp(term, "xterm", 5) == 0 ||
         strstr(term, "contour")) &&
        speaks_sixel())
        return "sixel";
    return "own";
}

static bool wants_colour(void)
{
    return table_color(&(struct table_style){ .color = COLOR_AUTO },
                       STDOUT_FILENO);
}

/* kitty's graphics protocol: a PNG in Base64, in parts of at most 4096. */
static void print_kitty(const struct buf *png)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_base64(&b, png->s, png->len);
    for (size_t i = 0; i < b.len; i += 4096) {
        const size_t n = b.len - i < 4096 ? b.len - i : 4096;

        printf("\033_G%sm=%d;%.*s\033\\", i == 0 ? "a=T,f=100," : "",
               i + n < b.len, (int)n, b.s + i); /* style: own */
    }
    putchar('\n');
}

static void draw_text(struct figure *f, struct term_look *look, struct buf *out)
{
    if (f->n_panels == 1 && look->height < f->panel[0]->rows + 6)
        look->height = f->panel[0]->rows + 6; /* for the axis and the legend */
    /* a character is about 0.6 em wide and 1.6 high */
    f->look.font_size = 10;
    f->look.width = look->width * 6.0;
    f->look.height = look->height * 16.0;
    f->look.columns = look->width * 2;
    f->look.bands = false;
    f->look.plain = true;
    figure_finish(f);
    term_draw(f, look, out);
}

static void draw_own(struct figure *f, const struct request *r)
{
    struct term_look look = { .colour = wants_colour(),
                              .unicode = utf8_locale() };
    const char *ground = getenv("COLORFGBG");
    AUTO(buf_clear) struct buf b = BUF_INIT;

    screen_size(&look.width, &look.height);
    look.height = look.height > 5 ? look.height - 4 : look.height;
    if (f->n_panels == 1 && look.height > 40)
        look.height = 40;
    if (f->n_panels > 3 && look.height < 45)
        look.height = 45;
    if (look.width > 160 && f->n_panels == 1)
        look.width = 160;
    if (f->n_panels == 1 && f->panel[0]->heat &&
        look.height > (int)f->panel[0]->heat->ny * 3 + 4)
        look.height = (int)f->panel[0]->heat->ny * 3 + 4;
    if (r->watch && look.height > 8)
        look.height -= 6;
    look.light = ground && (strstr(ground, ";15") || strstr(ground, ";7"));
    draw_text(f, &look, &b);
    fwrite(b.s, 1, b.len, stdout); /* style: own */
}

static int draw_screen(struct figure *f, const struct request *r, struct err *e)
{
    const char *screen = choose_screen(r);
    const struct gnuplot_form *form;
    AUTO(buf_clear) struct buf image = BUF_INIT;
    int width, height, ret;

    if (strcmp(screen, "own") == 0) {
        draw_own(f, r);
        return 0;
    }
    form = gnuplot_form(strcmp(screen, "kitty") == 0 ? "png" : screen);
    if (form->text) {
        f->look.bands = false;
        f->look.plain = true;
        screen_size(&width, &height);
        f->look.font_size = 1;
        f->look.width = width * TEXT_WIDTH;
        f->look.height = (height - 4) * TEXT_HEIGHT;
    } else if (r->width <= 0 && f->n_panels == 1) {
        f->look.width = 540;
        f->look.height = 320;
    }
    figure_finish(f);
    ret = gnuplot_draw(f, 1, form, &image, e);
    if (ret == 0 && strcmp(screen, "kitty") == 0)
        print_kitty(&image);
    else if (ret == 0)
        fwrite(image.s, 1, image.len, stdout); /* style: own */
    return ret;
}

/*
 * Files
 */

static int draw_html(const struct figure *f, struct buf *page, struct err *e)
{
    AUTO(buf_clear) struct buf svg = BUF_INIT;
    const int ret = gnuplot_draw(f, 1, gnuplot_form("svg"), &svg, e);

    if (ret == 0)
        html_page(page, f->title ? f->title : f->panel[0]->title,
                  f->look.theme == THEME_DARK, svg.s);
    return ret;
}

/* Write the points of the figure's columns, never means of several. */
static void draw_json(struct figure *f, struct buf *out)
{
    struct emit o = { .b = out };

    f->look.bands = false;
    figure_finish(f);
    emit_object(&o, NULL);
    json_figure(&o, f);
    emit_object_end(&o);
    buf_char(out, '\n');
}

/* A comment of the file has the command, and the hash of the data as they are
 * before thinning; text and JSON have no place for one. */
static int save_figure(struct figure *f, const char *path, struct err *e)
{
    struct term_look look = { 80, f->n_panels > 3 ? 60 : 24, false, true,
                              true };
    const char *form = form_of(path);
    AUTO(buf_clear) struct buf image = BUF_INIT;
    char hash[SHA256_TEXT], *stamp;
    int ret = 0;

    if (strcmp(form, "txt") == 0) {
        draw_text(f, &look, &image);
    } else if (strcmp(form, "json") == 0) {
        draw_json(f, &image);
    } else {
        figure_hash(f, hash);
        f->stamp = stamp = stamp_make(hash, program_words() + 1, path);
        arena_take(&f->mem, stamp);
        figure_finish(f);
    }
    if (strcmp(form, "tex") == 0)
        return gnuplot_draw_tex(f, path, e);
    if (strcmp(form, "html") == 0)
        ret = draw_html(f, &image, e);
    else if (gnuplot_form(form))
        ret = gnuplot_draw(f, 1, gnuplot_form(form), &image, e);
    if (ret == 0 && f->stamp)
        stamp_embed(&image, form, f->stamp);
    if (ret == 0)
        ret = save_bytes(path, image.s, image.len, e);
    return ret;
}

/* The script draws to the file of -o, or to a PNG of its own name. */
static int save_script(struct figure *f, const struct request *r, struct err *e)
{
    const char *form = r->output ? form_of(r->output) : "png";
    const char *dot = strrchr(path_name(r->script), '.');
    const size_t stem = dot ? (size_t)(dot - r->script) : strlen(r->script);
    AUTO_FREE char *target = NULL;
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (!gnuplot_form(form))
        return err_usage(e, "--script: gnuplot cannot write .%s files", form);
    target = r->output ? xstrdup(r->output)
                       : xasprintf("%.*s.png", (int)stem, r->script);
    if (!r->output)
        figure_finish(f);
    gnuplot_script(f, 1, gnuplot_form(form), target, &text);
    return save_bytes(r->script, text.s, text.len, e);
}

/* "(a) Loss" */
static void label_panels(struct figure *f, const char *first)
{
    for (size_t i = 0; i < f->n_panels; i++) {
        const char *title = f->panel[i]->title;

        f->panel[i]->title =
            arena_printf(&f->mem, "(%c)%s%s", (char)(*first + (int)i),
                         title ? " " : "", title ? title : "");
    }
}

/* Leave the titles to the document, but for the letters of panels. */
static void leave_titles(struct figure *f, const struct request *r)
{
    for (size_t i = 0; i < f->n_panels && r->no_title; i++)
        f->panel[i]->title = NULL;
    if (r->no_title)
        f->title = NULL;
    if (r->panel_label)
        label_panels(f, r->panel_label);
}

int output_figure(struct figure *f, const struct table *summary,
                  const struct request *r, struct err *e)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    char hash[SHA256_TEXT];
    int ret = 0;

    if (r->title && f->n_panels == 1) {
        f->panel[0]->title = f->title; /* NULL for an empty one */
        f->title = NULL;
    }
    leave_titles(f, r);
    if (r->hash) {
        figure_hash(f, hash);
        return pager_print(e, "%s\n", hash);
    }
    if (r->data) {
        figure_data(f, &b);
        return pager_data(b.s, b.len, e);
    }
    if (r->output)
        ret = save_figure(f, r->output, e);
    if (ret == 0 && r->script)
        ret = save_script(f, r, e);
    if (!r->output && !r->script)
        ret = draw_screen(f, r, e);
    if (ret < 0)
        return -1;
    if (summary && table_rows(summary) && log_shows(LOG_INFO)) {
        int width, height;

        screen_size(&width, &height);
        if (!r->output && !r->script)
            putchar('\n');
        table_format(summary, TABLE_ALIGNED, true, wants_colour(),
                     isatty(STDOUT_FILENO) ? (size_t)width : 0, &b);
        fwrite(b.s, 1, b.len, stdout); /* style: own */
    }
    for (size_t i = 0; i < f->n_captions; i++)
        printf("%s%s", f->note[f->n_notes + i], /* style: own */
               i + 1 < f->n_captions ? " " : "\n");
    for (size_t i = 0; i < f->n_notes && r->output; i++)
        log_debug("%s", f->note[i]);
    return 0;
}
