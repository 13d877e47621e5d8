#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/http/http.h"
#include "data/corpus/parquet/parquet_decode.h"

/*
 * parquet - read one column of a Parquet file, also of lists
 *
 *      if (parquet_file_open(&f, path, http, e) < 0)
 *          return -1;
 *      if (parquet_open(&p, f, name, e) < 0)
 *          ...
 *      while ((got = parquet_seek(p, row, e)) > 0)
 *          use(parquet_value(p), row++);
 *      parquet_close(p);
 *      parquet_file_close(f);
 *
 * FineWeb, FineWeb-Edu and most data sets of Hugging Face are Parquet files.
 * Apache's library for them is written in C++ and as large as this project.
 *
 * A file may be open for several columns, and its path must last as long.  Of a
 * file on a server, the footer is downloaded, and then the column of each row
 * group when its first row is read; it is kept until that of the next one.
 *
 * Rows must be read in order.  parquet_seek() returns 0 after the last row, or
 * -1.  A value is the bytes that the file has, for a truth value one byte; its
 * text is NULL if it is null.  The values of this row and of those that follow
 * it in its page, parquet_left() in all, are valid until the next
 * parquet_seek().  In a column of lists, a row has parquet_elements() values.
 */
struct parquet;
struct parquet_file;

int parquet_file_open(struct parquet_file **, const char *path,
                      const struct http_conf *, struct err *);
void parquet_file_close(struct parquet_file *); /* NULL is fine */

int parquet_open(struct parquet **, struct parquet_file *, const char *column,
                 struct err *);
int parquet_seek(struct parquet *, int64_t row, struct err *);
const struct parquet_string *parquet_value(const struct parquet *);
size_t parquet_elements(const struct parquet *);
size_t parquet_left(const struct parquet *);
const struct parquet_column *parquet_column(const struct parquet *);
void parquet_close(struct parquet *); /* NULL is fine */
