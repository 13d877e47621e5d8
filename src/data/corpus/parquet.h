#ifndef DATA_CORPUS_PARQUET_H
#define DATA_CORPUS_PARQUET_H

#include <stdint.h>

#include "data/corpus/corpus.h"

/*
 * parquet - one column of strings out of a Parquet file
 *
 * parquet_next() puts the strings from row `row` on into a block, as its data
 * and documents: 1, 0 after the last row, -1.  Rows must be asked for in
 * order; null is an empty document.
 */
struct parquet;

int parquet_open(struct parquet **, const char *path, const char *column,
                 struct err *);
int parquet_next(struct parquet *, int64_t row, struct corpus_block *,
                 struct err *);
void parquet_close(struct parquet *);

#endif
