#pragma once

#include "common/buf.h"
#include "plot/draw/figure.h"
#include "plot/figures.h"

/*
 * report_doc - the document of a report: headings, words and tables
 *
 * They are appended to the text of Markdown, or to the lines that become the
 * first pages of a PDF.
 */
struct report {
    bool pdf; /* not Markdown */
    const struct request *r;
    struct build all;    /* with all runs */
    struct buf text;     /* Markdown, or the lines of a PDF */
    char *folder;        /* of the figures in Markdown */
    struct figure *page; /* of the PDF */
    size_t n_pages, page_room;
    size_t n_figures;
};

enum { REPORT_WIDTH = 118 }; /* characters of a line of an A4 page */

/* A new page of a PDF. */
struct figure *report_page(struct report *);
/* Put the lines of a PDF on pages of their own, before those of the figures. */
void report_text_pages(struct report *, const char *title);
void report_heading(struct report *, const char *text);
/* A paragraph. */
void report_words(struct report *, const char *text);
/* Text whose lines are kept; nothing if it is empty. */
void report_text(struct report *, const char *title, const char *text);
/* A table, as Markdown or, for a PDF, aligned; nothing if it has no rows. */
void report_table(struct report *, const char *title, const struct table *);
