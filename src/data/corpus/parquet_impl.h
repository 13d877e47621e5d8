#ifndef DATA_CORPUS_PARQUET_IMPL_H
#define DATA_CORPUS_PARQUET_IMPL_H

#include "data/corpus/parquet.h"
#include "data/corpus/parquet_decode.h"
#include "data/corpus/parquet_footer.h"

/*
 * parquet_impl - one column of a Parquet file, of any type that is not nested
 *
 *      if (parquet_open_column(&p, path, name, e) < 0)
 *          return -1;
 *      while ((got = parquet_seek(p, row, e)) > 0)
 *          use(parquet_value(p), row++);
 *
 * parquet_seek() returns 0 after the last row.  A value is the bytes that the
 * file has, for a truth value one byte; its text is NULL if it is null.  It is
 * valid until the next parquet_seek().
 */
int parquet_open_column(struct parquet **, const char *path, const char *column,
                        struct err *);
int parquet_seek(struct parquet *, int64_t row, struct err *);
const struct parquet_string *parquet_value(const struct parquet *);
const struct parquet_column *parquet_column(const struct parquet *);

#endif
