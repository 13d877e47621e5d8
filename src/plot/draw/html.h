#ifndef PLOT_DRAW_HTML_H
#define PLOT_DRAW_HTML_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/table.h"

/*
 * html - one page that needs no server and no other file
 */
void html_begin(struct buf *, const char *title, bool dark);
void html_end(struct buf *);
void html_text(struct buf *, const char *s); /* escaped */
void html_table(struct buf *, const struct table *);
/* A table as Markdown writes it. */
void html_markdown(struct buf *, const char *markdown);
/* gnuplot's SVG file as an element of a page: no XML header, and ids that no
 * other figure of the page has. */
void html_svg(struct buf *, const char *svg, const char *id);

#endif
