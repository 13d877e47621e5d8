#pragma once

#include <stdbool.h>

#include "common/buf.h"

/*
 * html - a page that needs no server and no other file
 */
void html_begin(struct buf *, const char *title, bool dark);
void html_end(struct buf *);
/* A text without what HTML and XML would read otherwise. */
void html_text(struct buf *, const char *);
/* An SVG file of gnuplot's as the element of the page: without the XML
 * header. */
void html_svg(struct buf *, const char *svg);
