#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/corpus/corpus.h"

/*
 * corpus_parquet - the rows of a Parquet file as documents
 *
 *      if (corpus_parquet_open(&p, path, http, column, lines, where, e) < 0)
 *          return -1;
 *      while ((got = corpus_parquet_next(p, row, block, e)) > 0)
 *          row += block->n + block->left_out;
 *      corpus_parquet_close(p);
 *
 * corpus_parquet_next() adds the strings of the column from `row` on to an
 * empty block, and returns 1, 0 after the last row, or -1.  Rows must be read
 * in order; a null is an empty document.  Rows that the filter does not choose
 * (NULL: all) are left out.  If lines are kept, `whole` of each
 * document is its row as a line of JSON, with all columns of strings, numbers
 * and truth values in their order, and lists of these; a warning names the
 * others.  A column within structures is a field within objects.
 *
 * corpus_parquet_lines() appends the rows of a whole file as such lines.
 */
struct corpus_parquet;
struct where;

int corpus_parquet_open(struct corpus_parquet **, const char *path,
                        const struct http_conf *, const char *column,
                        bool keep_lines, struct where *, struct err *);
int corpus_parquet_next(struct corpus_parquet *, int64_t row,
                        struct corpus_block *, struct err *);
void corpus_parquet_close(struct corpus_parquet *);
int corpus_parquet_lines(struct buf *out, const char *path, struct err *);
