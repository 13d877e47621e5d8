#include "config.h"
#include "plot/draw/html.h"

#include <string.h>

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
