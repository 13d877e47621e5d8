#ifndef PLOT_DRAW_HTML_H
#define PLOT_DRAW_HTML_H

#include <stdbool.h>

#include "common/buf.h"

/*
 * html - a page that needs no server and no other file
 */
void html_begin(struct buf *, const char *title, bool dark);
void html_end(struct buf *);
void html_text(struct buf *, const char *s); /* escaped */
/* A table in Markdown. */
void html_markdown(struct buf *, const char *markdown);
/* An SVG file of gnuplot's as an element of a page: without the XML header,
 * and with ids that begin with this one. */
void html_svg(struct buf *, const char *svg, const char *id);

#endif
