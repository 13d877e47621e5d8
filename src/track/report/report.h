#ifndef TRACK_REPORT_REPORT_H
#define TRACK_REPORT_REPORT_H

#include "common/err.h"
#include "plot/request.h"

/*
 * report - figures and tables of runs in one document
 *
 *      request_parse(&request, e);
 *      ret = report_write(&request, n, words, e);
 *
 * The document is the file request.output: Markdown, with SVG files in a folder
 * beside it, or if its name ends with .pdf, a PDF with a few figures a page.
 * Sections for which no run has metrics are left out.
 */
int report_write(const struct request *, int n, char **words, struct err *);

#endif
