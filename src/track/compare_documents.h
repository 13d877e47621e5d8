#ifndef TRACK_COMPARE_DOCUMENTS_H
#define TRACK_COMPARE_DOCUMENTS_H

#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * compare_documents - on which documents two models differ
 *
 * Each run has the artifact documents/NAME.tsv of `gtrain eval --documents`
 * (see trainer/eval_documents.h).  There is a row for each document, the one
 * that got better the most first.  The interval of a document's difference is
 * that of its tokens' (common/stats/paired.h).  A message has the mean
 * difference over all documents, and for those in the training text apart.
 */
int compare_documents(struct table *, const struct run_info *first,
                      const struct run_info *second, const char *name,
                      struct err *);

#endif
