#include "config.h"
#include "plot/draw/html.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char style[] =
    ":root{--text:#1a1a1a;--ground:#fff;--grey:#6e6e6e;--rule:#e4e4e4}\n"
    "body{font:16px/1.5 system-ui,Arial,sans-serif;max-width:72rem;"
    "margin:2rem auto;padding:0 1rem;color:var(--text);"
    "background:var(--ground)}\n"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}\n"
    ".figures{display:grid;gap:0 2rem;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}\n"
    "figure{margin:0}svg{width:100%;height:auto;max-width:45rem}\n"
    ".wide{overflow-x:auto}\n"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}\n"
    "table{border-collapse:collapse;font-size:.85rem}\n"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid var(--rule);"
    "text-align:left;white-space:nowrap}\n"
    "th{border-bottom:2px solid var(--grey)}td.n{text-align:right;"
    "font-variant-numeric:tabular-nums}\n"
    "@media print{@page{size:A4}body{margin:0}"
    "section,figure{break-inside:avoid}}\n";
static const char dark_colours[] =
    ":root{--text:#e6edf3;--ground:#161b22;--grey:#9aa4af;--rule:#30363d}\n";
/* Light figures become dark and keep their hues; white becomes black, which
 * lets the ground of the page through. */
static const char dark_figures[] =
    "svg{filter:invert(1) hue-rotate(180deg);mix-blend-mode:screen}\n";
/* clang-format on */

void html_text(struct buf *b, const char *s)
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

void html_begin(struct buf *b, const char *title, bool dark)
{
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
}

void html_end(struct buf *b)
{
    buf_str(b, "</body>\n</html>\n");
}

static bool looks_numeric(const char *s)
{
    return isdigit((unsigned char)*s) ||
           (*s == '-' && isdigit((unsigned char)s[1]));
}

static void add_cell(struct buf *b, const char *tag, const char *s)
{
    const size_t n = strlen(s);

    if (n > 4 && strncmp(s, "**", 2) == 0 && strcmp(s + n - 2, "**") == 0) {
        char *bold = strndup(s + 2, n - 4);

        buf_printf(b, "<%s class=\"n\"><b>", tag);
        html_text(b, bold ? bold : "");
        buf_printf(b, "</b></%s>", tag);
        free(bold);
        return;
    }
    buf_printf(b, "<%s%s>", tag,
               tag[1] == 'd' && looks_numeric(s) ? " class=\"n\"" : "");
    html_text(b, s);
    buf_printf(b, "</%s>", tag);
}

/* "| a | b\\|c |" as a row of cells. */
static void add_row(struct buf *b, const char *tag, const char *s,
                    const char *end)
{
    struct buf one = BUF_INIT;

    buf_str(b, "<tr>");
    for (s++; s < end; s++) {
        if (*s == '\\' && s + 1 < end) {
            buf_char(&one, *++s);
        } else if (*s == '|') {
            const char *from = one.s;

            while (one.len && one.s[one.len - 1] == ' ')
                buf_trim(&one, one.len - 1);
            while (*from == ' ')
                from++;
            add_cell(b, tag, from);
            buf_trim(&one, 0);
        } else {
            buf_char(&one, *s);
        }
    }
    buf_str(b, "</tr>\n");
    buf_clear(&one);
}

void html_markdown(struct buf *b, const char *s)
{
    const char *tag = "th";

    buf_str(b, "<div class=\"wide\"><table>\n");
    while (*s) {
        const char *end = s + strcspn(s, "\n");

        /* the line of dashes below the head is no row */
        if (*s == '|' && strspn(s, "|-: ") < (size_t)(end - s)) {
            add_row(b, tag, s, end);
            tag = "td";
        }
        s = *end ? end + 1 : end;
    }
    buf_str(b, "</table></div>\n");
}

void html_svg(struct buf *b, const char *svg, const char *id)
{
    static const char *const uses[] = { "id=\"", "id='", "url(#", "href=\"#",
                                        "href='#" };
    const char *s = strstr(svg, "<svg");

    while (s && *s) {
        bool found = false;

        for (size_t i = 0; i < sizeof uses / sizeof uses[0] && !found; i++) {
            const size_t n = strlen(uses[i]);

            if (strncmp(s, uses[i], n) != 0)
                continue;
            if (i < 2 && s[-1] != ' ')
                continue;
            buf_add(b, s, n);
            buf_printf(b, "%s-", id);
            s += n;
            found = true;
        }
        if (!found)
            buf_char(b, *s++);
    }
}
