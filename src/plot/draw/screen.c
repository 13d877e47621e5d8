#include "config.h"
#include "plot/draw/screen.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

struct cell *screen_cell(struct screen *s, int x, int y)
{
    return x >= 0 && x < s->width && y >= 0 && y < s->height
               ? &s->cell[y * s->width + x]
               : NULL;
}

void screen_text(struct screen *s, int x, int y, const char *text,
                 const uint32_t *rgb)
{
    struct buf clean = BUF_INIT;
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
    buf_clear(&clean);
}

void screen_behind(struct screen *s, int x, int y, int32_t code, uint32_t rgb)
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

void screen_print(const struct screen *s, struct buf *out)
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
                utf8_add(out, s->look->unicode || (c->code | 2) != 0x2193
                                  ? c->code
                                  : "^v"[c->code == 0x2193]);
            else
                utf8_add(out, s->look->unicode ? 0x2800 + c->dots
                                               : ascii_of(c->dots));
        }
        if (now != UINT32_MAX && s->look->colour)
            buf_str(out, "\033[0m");
        buf_char(out, '\n');
    }
}
