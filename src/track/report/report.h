#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"
#include "plot/draw/figure.h"
#include "plot/figures.h"
#include "plot/request.h"
#include "plot/run_set.h"

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

/* What a report says of the runs besides their metrics (report_facts.c). */

/* The run with the best validation loss, or training loss, in a sentence with
 * the parameters in which the runs differ; its index, or n if none has one. */
size_t facts_best(const struct run_set *, struct buf *);
/* Where, when and from what each run was trained. */
void facts_table(const struct run_set *, struct table *);
/* The command of each run, a line each; empty if none is known. */
void facts_commands(const struct run_set *, struct buf *);
/* The newest sample of a run's text; empty if it has none. */
void facts_sample(const struct run_info *, struct buf *);

/*
 * The document of a report (report_doc.c): headings, words and tables, which
 * are appended to the text of Markdown, or to the lines that become the
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
