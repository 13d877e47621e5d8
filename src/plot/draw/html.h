#pragma once

#include <stdbool.h>

#include "common/buf.h"

/*
 * html - a page that needs no server and no other file
 */

/* A page with an SVG file of gnuplot's: without the XML header. */
void html_page(struct buf *, const char *title, bool dark, const char *svg);
/* A text without what HTML and XML would read otherwise. */
void html_text(struct buf *, const char *);
