#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"
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

/* What a report says of the runs besides their metrics. */

/* The run with the best validation loss, or training loss, in a sentence with
 * the parameters in which the runs differ; its index, or n if none has one. */
size_t facts_best(const struct run_set *, struct buf *);
/* Where, when and from what each run was trained. */
void facts_table(const struct run_set *, struct table *);
/* The command of each run, a line each; empty if none is known. */
void facts_commands(const struct run_set *, struct buf *);
/* The newest sample of a run's text; empty if it has none. */
void facts_sample(const struct run_info *, struct buf *);
