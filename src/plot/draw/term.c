#include "config.h"
#include "plot/draw/term.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "plot/draw/axis.h"
#include "plot/draw/layout.h"

/* What is written instead where the locale has ASCII only. */
static const struct {
    int32_t code;
    const char *ascii;
} plain[] = {
    { 0xB1, "+-" },  { 0xD7, "x" },   { 0x3B2, "beta" }, { 0x3C3, "sigma" },
    { 0x2013, "-" }, { 0x2191, "^" }, { 0x2193, "v" },   { 0x2248, "~=" },
    { 0x2500, "-" }, { 0x2501, "-" }, { 0x2502, "|" },   { 0x250A, ":" },
    { 0x2514, "+" }, { 0x2524, "+" }, { 0x252C, "+" },   { 0x25B2, "^" },
    { 0x25BC, "v" }, { 0x25C6, "*" }, { 0x25CF, "o" },
};

static void add_character(struct buf *b, int32_t code, bool unicode)
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0] && !unicode; i++)
        if (plain[i].code == code) {
            buf_str(b, plain[i].ascii);
            return;
        }
    utf8_add(b, code);
}

/*
 * The characters of the terminal, with their colours; nothing is drawn outside
 */

/* A character of the screen: a code point, or the dots of lines. */
struct cell {
    int32_t code; /* 0: dots; -1: the right half of a wide character */
    uint8_t dots;
    uint32_t rgb;
    bool plain; /* in the terminal's own colour */
};

struct screen {
    const struct term_look *look;
    enum theme theme;
    int width, height;
    struct cell *cell;
};

/* NULL outside. */
static struct cell *screen_cell(struct screen *s, int x, int y)
{
    return x >= 0 && x < s->width && y >= 0 && y < s->height
               ? &s->cell[y * s->width + x]
               : NULL;
}

/* Text from column x on, cut at the right edge of the screen; in the terminal's
 * own colour if rgb is NULL. */
static void screen_text(struct screen *s, int x, int y, const char *text,
                        const uint32_t *rgb)
{
    AUTO(buf_clear) struct buf clean = BUF_INIT;
    const char *from;

    utf8_visible(&clean, text);
    from = clean.s;
    while (*from) {
        const char *begin = from;
        const int32_t code = utf8_next(&from);
        char one[8] = "";
        struct cell *c = screen_cell(s, x, y);

        memcpy(one, begin, (size_t)(from - begin));
        if (c)
            *c =
                (struct cell){ code > 0 ? code : '?', 0, rgb ? *rgb : 0, !rgb };
        x += (int)utf8_width(one);
        if (utf8_width(one) == 2 && (c = screen_cell(s, x - 1, y)))
            *c = (struct cell){ .code = -1 };
    }
}

/* A character, unless something is there already. */
static void screen_behind(struct screen *s, int x, int y, int32_t code,
                          uint32_t rgb)
{
    struct cell *c = screen_cell(s, x, y);

    if (c && !c->code && !c->dots)
        *c = (struct cell){ code, 0, rgb, false };
}

/* The 6 x 6 x 6 cube of xterm's 256 colours. */
static int cube(uint32_t rgb)
{
    int out = 16;

    for (int i = 0; i < 3; i++) {
        const int v = (int)(rgb >> (16 - 8 * i) & 0xFF);
        const int level = v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;

        out += level * (i == 0 ? 36 : i == 1 ? 6 : 1);
    }
    return out;
}

static int32_t ascii_of(uint8_t dots)
{
    const bool top = dots & (1 | 8), bottom = dots & (64 | 128);
    const bool middle = dots & (2 | 4 | 16 | 32);

    if (top && !bottom && !middle)
        return '\'';
    if (bottom && !top && !middle)
        return '.';
    return top && bottom ? '|' : middle && !top && !bottom ? '-' : '*';
}

static void screen_print(const struct screen *s, struct buf *out)
{
    const char *truecolor = getenv("COLORTERM");
    const bool deep = truecolor && (strcmp(truecolor, "truecolor") == 0 ||
                                    strcmp(truecolor, "24bit") == 0);

    for (int y = 0; y < s->height; y++) {
        uint32_t now = UINT32_MAX;
        const struct cell *row = &s->cell[y * s->width];
        int last = s->width - 1;

        while (last >= 0 && !row[last].code && !row[last].dots)
            last--;
        for (int x = 0; x <= last; x++) {
            const struct cell *c = &row[x];
            const bool blank = !c->code && !c->dots;
            const uint32_t rgb = blank ? now : c->plain ? UINT32_MAX : c->rgb;

            if (c->code < 0)
                continue;
            if (rgb != now && s->look->colour) {
                if (rgb == UINT32_MAX)
                    buf_str(out, "\033[0m");
                else if (deep)
                    buf_printf(out, "\033[38;2;%u;%u;%um", rgb >> 16,
                               rgb >> 8 & 0xFF, rgb & 0xFF);
                else
                    buf_printf(out, "\033[38;5;%dm", cube(rgb));
                now = rgb;
            }
            if (blank)
                buf_char(out, ' ');
            else if (c->code)
                add_character(out, c->code, s->look->unicode);
            else
                utf8_add(out, s->look->unicode ? 0x2800 + c->dots
                                               : ascii_of(c->dots));
        }
        if (now != UINT32_MAX && s->look->colour)
            buf_str(out, "\033[0m");
        buf_char(out, '\n');
    }
}

/* The part of the screen inside the axes. */
struct window {
    struct screen *s;
    int x, y, w, h; /* upper left corner, in characters */
};

/* The column and the row of a place, 0 to 1, between the axes. */
static int column_of(const struct window *w, double x)
{
    return w->x + (int)(x * (w->w * 2 - 1) + 0.5) / 2;
}

static int row_of(const struct window *w, double y)
{
    return w->y + (int)((1 - y) * (w->h * 4 - 1) + 0.5) / 4;
}

static bool is_inside(double place)
{
    return place >= 0 && place <= 1;
}

/*
 * Lines.  A character has 2 x 4 dots and one colour, that of the last line
 * through it.
 */
static void draw_dot(const struct window *w, double px, double py, uint32_t rgb)
{
    static const uint8_t bit[4][2] = {
        { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 }
    };
    const int x = (int)floor(px * (w->w * 2 - 1) + 0.5);
    const int y = (int)floor((1 - py) * (w->h * 4 - 1) + 0.5);
    struct cell *c;

    if (x < 0 || y < 0 || x >= w->w * 2 || y >= w->h * 4)
        return;
    c = screen_cell(w->s, w->x + x / 2, w->y + y / 4);
    if (!c || c->code)
        return;
    c->dots |= bit[y % 4][x % 2];
    c->rgb = rgb;
    c->plain = false;
}

static double clamp(double v)
{
    return fmin(fmax(v, -0.5), 1.5);
}

static void draw_line(const struct window *w, double x0, double y0, double x1,
                      double y1, uint32_t rgb)
{
    const double span =
        fmax(fabs(x1 - x0) * w->w * 2, fabs(y1 - y0) * w->h * 4);
    const int steps = (int)fmin(fmax(ceil(span), 1), 8.0 * (w->w + w->h));

    for (int i = 0; i <= steps; i++) {
        const double t = (double)i / steps;

        draw_dot(w, x0 + (x1 - x0) * t, y0 + (y1 - y0) * t, rgb);
    }
}

static void draw_curve(const struct window *w, const struct panel *p,
                       const struct curve *c, uint32_t rgb)
{
    const struct axis *ay = curve_y(p, c);
    double px = NAN, py = NAN;

    for (size_t i = 0; i < c->n; i++) {
        const double x = axis_place(&p->x, c->x[i]);
        const double y = axis_place(ay, c->y[i]);

        if (!isfinite(x) || !isfinite(y)) {
            px = NAN;
            continue;
        }
        if (c->lo && c->bars && isfinite(axis_place(ay, c->lo[i])))
            draw_line(w, x, clamp(axis_place(ay, c->lo[i])), x,
                      clamp(axis_place(ay, c->hi[i])), rgb);
        if (isfinite(px) && c->style != STYLE_POINTS && (x >= 0 || px >= 0) &&
            (x <= 1 || px <= 1))
            draw_line(w, clamp(px), clamp(py), clamp(x), clamp(y), rgb);
        else
            draw_dot(w, x, y, rgb);
        px = x;
        py = y;
    }
}

static void draw_points(const struct window *w, const struct panel *p,
                        const struct curve *c, uint32_t rgb)
{
    for (size_t i = 0; i < c->n; i += c->every) {
        const double x = axis_place(&p->x, c->x[i]);
        const double y = axis_place(curve_y(p, c), c->y[i]);

        if (is_inside(x) && is_inside(y))
            screen_text(w->s, column_of(w, x), row_of(w, y), "\xe2\x97\x8f",
                        &rgb);
    }
}

/* Without colours, letters tell curves apart: that of an entry, or 0 if the
 * style of its points is enough. */
static char letter_of(const struct screen *s, const struct panel *p,
                      size_t entry)
{
    const struct entry *e = &p->entry[entry];
    size_t alike = 0;

    for (size_t i = 0; i < p->n_entries; i++)
        alike += p->entry[i].style == e->style &&
                 (p->n_owners == 0 || i < p->n_owners);
    return s->look->colour || alike < 2 || entry >= 26 ||
                   (p->n_owners && entry >= p->n_owners)
               ? '\0'
               : (char)('a' + entry);
}

/* The entry of a curve in the legend; or n_entries. */
static size_t entry_of(const struct panel *p, const struct curve *c)
{
    size_t entry = 0;

    while (entry < p->n_entries && !legend_has(p, &p->entry[entry], c))
        entry++;
    return entry;
}

/* A letter on the curve every dozen columns, or on each point. */
static void draw_letters(const struct window *w, const struct panel *p,
                         const struct curve *c)
{
    enum { APART = 12 };
    const size_t entry = entry_of(p, c);
    char text[2] = "";
    int next;

    if (entry < p->n_entries)
        text[0] = letter_of(w->s, p, entry);
    next = w->x + 2 + (int)(entry * 5) % APART;
    for (size_t i = 0; i < c->n && *text && !c->faint; i++) {
        const double x = axis_place(&p->x, c->x[i]);
        const double y = axis_place(curve_y(p, c), c->y[i]);

        if (!is_inside(x) || !is_inside(y) ||
            (column_of(w, x) < next && c->style != STYLE_POINTS))
            continue;
        screen_text(w->s, column_of(w, x), row_of(w, y), text, NULL);
        next = column_of(w, x) + APART;
    }
}

/* Fill a box with dots, or with a letter; it has those whose centres are in
 * it. */
static void fill_box(const struct window *w, const struct box *b, char letter,
                     uint32_t rgb)
{
    const int nx = letter ? w->w : 2 * w->w, ny = letter ? w->h : 4 * w->h;

    for (int x = (int)ceil(b->x0 * nx - 0.5); x < b->x1 * nx - 0.5; x++)
        for (int y = (int)ceil(b->y0 * ny - 0.5); y < b->y1 * ny - 0.5; y++)
            if (letter)
                screen_text(w->s, w->x + x, w->y + w->h - 1 - y,
                            (char[]){ letter, '\0' }, NULL);
            else
                draw_dot(w, (double)x / (nx - 1), (double)y / (ny - 1), rgb);
}

static void draw_area(const struct window *w, const struct panel *p,
                      const struct curve *c, uint32_t rgb)
{
    const struct axis *ay = curve_y(p, c);
    const size_t entry = entry_of(p, c);
    const char letter = entry < p->n_entries ? letter_of(w->s, p, entry) : '\0';

    for (size_t i = 1; i < c->n; i++) {
        const double lo = (c->lo[i - 1] + c->lo[i]) / 2;
        const double hi = (c->hi[i - 1] + c->hi[i]) / 2;
        const struct box b = { fmax(axis_place(&p->x, c->x[i - 1]), 0),
                               fmax(axis_place(ay, lo), 0),
                               fmin(axis_place(&p->x, c->x[i]), 1),
                               fmin(axis_place(ay, hi), 1) };

        if (isfinite(lo) && isfinite(hi))
            fill_box(w, &b, letter, rgb);
    }
}

static void draw_one(const struct window *w, const struct panel *p,
                     const struct curve *c)
{
    const enum theme theme = w->s->theme;
    const uint32_t full = palette_curve(theme, c->colour);
    const uint32_t rgb =
        c->faint ? palette_mix(full, palette_of(theme)->ground, 0.45) : full;

    if (c->style == STYLE_AREA) {
        draw_area(w, p, c, rgb);
        return;
    }
    draw_curve(w, p, c, rgb);
    if (c->style != STYLE_LINE)
        draw_points(w, p, c, rgb);
    draw_letters(w, p, c);
}

static void draw_mark(const struct window *w, const struct panel *p,
                      const struct mark *m, uint32_t rgb)
{
    const double x = axis_place(&p->x, m->x);
    const double y = axis_place(&p->y, m->y);
    const int len = m->label ? (int)utf8_width(m->label) : 0;
    const int col = is_inside(x) ? column_of(w, x) : w->x;
    const int row = is_inside(y) ? row_of(w, y) : w->y;

    if (!is_inside(mark_is_level(m) ? y : x))
        return;
    if (mark_is_level(m)) {
        for (int i = 0; i < w->w && m->type == MARK_AT_Y; i += 2)
            screen_behind(w->s, w->x + i, row, 0x2500, rgb);
        if (len)
            screen_text(w->s, w->x + w->w - len, row > w->y ? row - 1 : row + 1,
                        m->label, &rgb);
    } else if (m->type == MARK_AT_X) {
        for (int i = 0; i < (m->small ? 1 : w->h); i++)
            screen_behind(w->s, col, w->y + i, 0x250A, rgb);
        if (len)
            screen_text(w->s, col + 2 + len < w->x + w->w ? col + 1 : col - len,
                        w->y, m->label, &rgb);
    } else if (m->type != MARK_AT_XY) {
        screen_text(w->s, col, m->type == MARK_ABOVE ? w->y : w->y + w->h - 1,
                    m->type == MARK_NAN     ? "\xc3\x97"
                    : m->type == MARK_BELOW ? "\xe2\x96\xbc"
                                            : "\xe2\x96\xb2",
                    &rgb);
    } else if (is_inside(y)) {
        screen_text(w->s, col, row, "\xe2\x97\x86", &rgb);
        if (len)
            screen_text(
                w->s, col + 2 + len < w->x + w->w ? col + 1 : col - len - 1,
                row + 1 < w->y + w->h ? row + 1 : row - 1, m->label, &rgb);
    }
}

/*
 * Around the lines
 */

static void draw_axes(const struct window *w, const struct panel *p)
{
    const uint32_t grey = palette_of(w->s->theme)->grey;
    int taken = -1;

    for (int i = 0; i < w->h; i++)
        screen_text(w->s, w->x - 1, w->y + i, "\xe2\x94\x82", &grey);
    for (int i = -1; i < w->w; i++)
        screen_text(w->s, w->x + i, w->y + w->h,
                    i < 0 ? "\xe2\x94\x94" : "\xe2\x94\x80", &grey);
    for (size_t i = 0; i < p->y.n_ticks; i++) {
        const struct tick *t = &p->y.tick[i];
        const double y = axis_place(&p->y, t->at);

        if (!*t->label || !(y >= -1e-9 && y <= 1 + 1e-9))
            continue;
        screen_text(w->s, w->x - 2 - (int)utf8_width(t->label), row_of(w, y),
                    t->label, NULL);
        screen_text(w->s, w->x - 1, row_of(w, y), "\xe2\x94\xa4", &grey);
    }
    for (size_t i = 0; p->has_y2 && i < p->y2.n_ticks; i++) {
        const double y = axis_place(&p->y2, p->y2.tick[i].at);

        if (y >= -1e-9 && y <= 1 + 1e-9)
            screen_text(w->s, w->x + w->w + 1, row_of(w, y),
                        p->y2.tick[i].label, NULL);
    }
    for (size_t i = 0; i < p->x.n_ticks; i++) {
        const struct tick *t = &p->x.tick[i];
        const double x = axis_place(&p->x, t->at);
        const int len = (int)utf8_width(t->label);
        int from = column_of(w, x) - len / 2;

        if (!*t->label || !(x >= -1e-9 && x <= 1 + 1e-9))
            continue;
        screen_text(w->s, column_of(w, x), w->y + w->h, "\xe2\x94\xac", &grey);
        if (from + len > w->s->width)
            from = w->s->width - len;
        if (from <= taken)
            continue;
        screen_text(w->s, from, w->y + w->h + 1, t->label, NULL);
        taken = from + len;
    }
}

/* Entries side by side, in at most `most` rows; the last row tells how many
 * entries are left out.  Returns the number of rows. */
static int draw_legend(struct screen *s, const struct panel *p, int x, int y,
                       int width, int most, bool draw)
{
    enum { MORE = 14 };
    int col = 0, rows = 0, left = (int)p->n_entries;

    for (size_t i = 0; i < p->n_entries; i++) {
        const struct entry *c = &p->entry[i];
        const uint32_t rgb = palette_curve(s->theme, c->colour);
        const int len = (int)utf8_width(c->label) + 5;

        if (rows == most && left > 1 && col + len + MORE > width) {
            char more[32];

            left += p->n_hidden ? (int)p->n_hidden - 1 : 0;
            snprintf(more, sizeof more, "and %d more", left);
            if (draw)
                screen_text(s, x + col, y + rows - 1, more, NULL);
            return rows;
        }
        if (rows == 0 || col + len > width) {
            col = 0;
            rows++;
        }
        left--;
        if (draw) {
            const bool points =
                c->style == STYLE_POINTS || c->style == STYLE_LINE_POINTS;

            if (c->colour == COLOUR_NONE) {
                screen_text(s, x + col, y + rows - 1, c->label, NULL);
                break;
            }
            screen_text(s, x + col, y + rows - 1,
                        points ? "\xe2\x97\x8f " : "\xe2\x94\x81\xe2\x94\x81",
                        &rgb);
            if (letter_of(s, p, i))
                screen_text(s, x + col + 1, y + rows - 1,
                            (char[]){ letter_of(s, p, i), '\0' }, NULL);
            screen_text(s, x + col + 3, y + rows - 1, c->label, NULL);
        }
        col += len;
    }
    return rows;
}

/* A cell without colours and without room for its number. */
static void draw_shade(struct screen *s, int x, int y, int wide, int high,
                       double part)
{
    static const char shades[] = " .:-=+*#%@";
    const char text[2] = { shades[(int)(part * (sizeof shades - 2) + 0.5)] };

    for (int i = 0; i < wide * high; i++)
        screen_text(s, x + i % wide, y + i / wide, text, NULL);
}

static void draw_heat(struct screen *s, const struct panel *p, int x, int y,
                      int width, int height)
{
    const struct heat *h = p->heat;
    int left = 0, wide, high, top;

    for (size_t i = 0; i < h->ny; i++)
        if ((int)utf8_width(h->y_name[i]) > left)
            left = (int)utf8_width(h->y_name[i]);
    left += 1;
    wide = (width - left) / (int)h->nx;
    high = (height - 3) / (int)h->ny;
    wide = wide > 12 ? 12 : wide < 1 ? 1 : wide;
    high = high > 3 ? 3 : high < 1 ? 1 : high;
    top = y + (int)h->ny * high;
    for (size_t i = 0; i < h->nx * h->ny; i++) {
        const double v = h->value[i];
        const uint32_t rgb =
            isfinite(v) ? palette_ramp(THEME_LIGHT, heat_part(h, v)) : 0x808080;
        const int cx = x + left + (int)(i % h->nx) * wide;
        const int cy = top - (int)(i / h->nx + 1) * high;
        char text[34] = "", number[32];

        if (isfinite(v))
            snprintf(text, sizeof text, "%s%s", heat_text(number, h, v),
                     i == h->best ? "*" : "");
        for (int k = 0; k < high && s->look->unicode && s->look->colour; k++)
            screen_text(s, cx, cy + k, "\xe2\x96\x88", &rgb);
        if ((int)strlen(text) < wide)
            screen_text(s, cx + (s->look->unicode ? 1 : 0), cy + high / 2, text,
                        NULL);
        else if (!s->look->unicode || !s->look->colour)
            draw_shade(s, cx, cy, wide, high,
                       isfinite(v) ? heat_part(h, v) : 0);
    }
    for (size_t i = 0; i < h->ny; i++)
        screen_text(s, x, top - (int)(i + 1) * high + high / 2, h->y_name[i],
                    NULL);
    for (size_t i = 0; i < h->nx; i++)
        if ((int)utf8_width(h->x_name[i]) < wide)
            screen_text(s, x + left + (int)i * wide + 1, top, h->x_name[i],
                        NULL);
    screen_text(s, x + left, top + 1, p->x.shown, NULL);
}

static void draw_panel(struct screen *s, const struct panel *p, int x, int y,
                       int width, int height)
{
    const int right = p->has_y2 ? (int)axis_widest(&p->y2) + 2 : 1;
    struct window w = { s, x + (int)axis_widest(&p->y) + 2, y, 0, 0 };
    const int most = height / 4 > 1 ? height / 4 : 1;
    const int rows = draw_legend(s, p, 0, 0, width, most, false);
    AUTO(buf_clear) struct buf head = BUF_INIT;

    buf_printf(&head, "%s%s%s", p->title ? p->title : "",
               p->title && *p->y.shown ? "   " : "", p->y.shown);
    if (p->has_y2)
        buf_printf(&head, "   right: %s", p->y2.shown);
    if (head.len)
        screen_text(s, x, w.y++, head.s, NULL);
    if (p->heat) {
        draw_heat(s, p, x, w.y, width, height - 1);
        return;
    }
    w.w = width - (w.x - x) - right;
    w.h = height - (w.y - y) - 3 - rows;
    if (w.w < 4 || w.h < 2)
        return;
    draw_axes(&w, p);
    for (int level = 0; level < CURVE_LEVELS; level++)
        for (size_t i = 0; i < p->n_curves; i++)
            if (curve_level(&p->curve[i]) == level)
                draw_one(&w, p, &p->curve[i]);
    for (size_t i = 0; i < p->n_marks; i++)
        draw_mark(&w, p, &p->mark[i],
                  palette_curve(s->theme, p->mark[i].colour));
    screen_text(s, w.x + (w.w - (int)utf8_width(p->x.shown)) / 2, w.y + w.h + 2,
                p->x.shown, NULL);
    draw_legend(s, p, x + 1, w.y + w.h + 3, width, most, true);
}

static void print_note(const char *note, const struct term_look *look,
                       struct buf *out)
{
    AUTO(buf_clear) struct buf clean = BUF_INIT, shown = BUF_INIT;
    const char *s;

    utf8_visible(&clean, note);
    for (s = clean.s; *s;)
        add_character(&shown, utf8_next(&s), look->unicode);
    for (s = shown.s; *s; s += *s == ' ') {
        const size_t len = layout_line(s, (size_t)look->width);

        buf_printf(out, "%.*s\n", (int)len, s);
        s += len;
    }
}

void term_draw(const struct figure *f, const struct term_look *look,
               struct buf *out)
{
    const int head = f->title ? 1 : 0;
    const int cols = (int)f->cols;
    struct screen s = { look, look->light ? THEME_LIGHT : THEME_DARK,
                        look->width, look->height, NULL };

    s.cell = xcalloc((size_t)s.width * (size_t)s.height, sizeof *s.cell);
    if (f->title)
        screen_text(&s, 0, 0, f->title, NULL);
    for (int i = 0; i < (int)f->n_panels; i++) {
        const int width = look->width / cols;
        const int height = (look->height - head) / (int)f->rows;

        draw_panel(&s, f->panel[i], i % cols * width, head + i / cols * height,
                   width - (cols > 1), height);
    }
    screen_print(&s, out);
    free(s.cell);
    for (size_t i = 0; i < f->n_notes; i++)
        print_note(f->note[i], look, out);
}
