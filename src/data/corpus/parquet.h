#ifndef DATA_CORPUS_PARQUET_H
#define DATA_CORPUS_PARQUET_H

#include <stdint.h>

#include "data/corpus/corpus.h"

/*
 * parquet - read one column of strings from a Parquet file
 *
 * FineWeb, FineWeb-Edu and most data sets of Hugging Face are Parquet files.
 * Apache's library for them is written in C++ and as large as this project.
 *
 * parquet_next() adds the strings from row `row` to a block, as documents.  It
 * returns 1, 0 after the last row, or -1.  Rows must be read in order; a null
 * is an empty document.
 */
struct parquet;

int parquet_open(struct parquet **, const char *path, const char *column,
                 struct err *);
int parquet_next(struct parquet *, int64_t row, struct corpus_block *,
                 struct err *);
void parquet_close(struct parquet *);

/*
 * The rows of a block as lines of JSON, with all columns of strings, numbers
 * and truth values in their order; a warning names the others.
 * parquet_fields_add() sets `whole` of each document of a block.
 */
struct parquet_fields;

int parquet_fields_open(struct parquet_fields **, const char *path,
                        const char *column, struct err *);
int parquet_fields_add(struct parquet_fields *, struct corpus_block *,
                       struct err *);
void parquet_fields_close(struct parquet_fields *);

#endif
