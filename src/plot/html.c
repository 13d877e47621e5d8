#include "config.h"
#include "plot/html.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char style[] =
    "body{font:15px/1.5 system-ui,Arial,sans-serif;max-width:60rem;"
    "margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}\n"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}\n"
    "figure{margin:1rem 0}svg{max-width:100%;height:auto}\n"
    "figcaption{color:#6e6e6e;font-size:.9rem}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.85rem}\n"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid #e4e4e4;"
    "text-align:left;white-space:nowrap}\n"
    "th{border-bottom:2px solid #6e6e6e}td.n{text-align:right;"
    "font-variant-numeric:tabular-nums}\n";
static const char dark_style[] =
    "body{background:#161b22;color:#e6edf3}th,td{border-color:#30363d}\n";
/* clang-format on */

void html_text(struct buf *b, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&':
            buf_str(b, "&amp;");
            break;
        case '<':
            buf_str(b, "&lt;");
            break;
        case '>':
            buf_str(b, "&gt;");
            break;
        case '"':
            buf_str(b, "&quot;");
            break;
        default:
            buf_char(b, *s);
        }
    }
}

void html_begin(struct buf *b, const char *title, bool dark)
{
    buf_str(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
               "<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width\">\n"
               "<title>");
    html_text(b, title ? title : "figure");
    buf_printf(b, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", style,
               dark ? dark_style : "");
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

/* Cells as the TSV form writes them, so numbers look as everywhere else. */
void html_table(struct buf *b, const struct table *t)
{
    struct buf text = BUF_INIT;
    const char *at, *cell = "th";

    table_format(t, TABLE_TSV, true, false, 0, &text);
    buf_str(b, "<div class=\"wide\"><table>\n");
    for (at = text.s; *at;) {
        const size_t line = strcspn(at, "\n");
        const char *end = at + line;

        buf_str(b, "<tr>");
        for (;;) {
            const size_t n = strcspn(at, "\t\n");
            char *one = strndup(at, n);

            buf_printf(b, "<%s%s>", cell,
                       *cell == 't' && cell[1] == 'd' && one &&
                               looks_numeric(one)
                           ? " class=\"n\""
                           : "");
            html_text(b, one ? one : "");
            buf_printf(b, "</%s>", cell);
            free(one);
            at += n;
            if (at >= end)
                break;
            at++;
        }
        buf_str(b, "</tr>\n");
        cell = "td";
        at = *end ? end + 1 : end;
    }
    buf_str(b, "</table></div>\n");
    buf_clear(&text);
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
