#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/corpus/corpus.h"

/*
 * corpus_parquet - the rows of a Parquet file as documents
 *
 *      if (corpus_parquet_open(&p, path, column, keep_lines, e) < 0)
 *          return -1;
 *      while ((got = corpus_parquet_next(p, row, block, e)) > 0)
 *          row += block->n;
 *      corpus_parquet_close(p);
 *
 * corpus_parquet_next() adds the strings of the column from `row` on to an
 * empty block, and returns 1, 0 after the last row, or -1.  Rows must be read
 * in order; a null is an empty document.  If lines are kept, `whole` of each
 * document is its row as a line of JSON, with all columns of strings, numbers
 * and truth values in their order; a warning names the others.
 */
struct corpus_parquet;
struct where;

int corpus_parquet_open(struct corpus_parquet **, const char *path,
                        const char *column, bool keep_lines, struct err *);
int corpus_parquet_next(struct corpus_parquet *, int64_t row,
                        struct corpus_block *, struct err *);

/* Choose documents by columns; those of a block that do not match are removed.
 * Returns their number, or -1.  The columns are opened before any block. */
int corpus_parquet_open_where(struct corpus_parquet *, const char *path,
                              struct where *, struct err *);
int64_t corpus_parquet_filter(struct corpus_parquet *, struct corpus_block *,
                              struct err *);
void corpus_parquet_close(struct corpus_parquet *);
