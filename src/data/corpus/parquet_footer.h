#ifndef DATA_CORPUS_PARQUET_FOOTER_H
#define DATA_CORPUS_PARQUET_FOOTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * parquet_footer - where one column of a Parquet file lies
 *
 * The footer is at the end of the file: the tree of columns, then the row
 * groups with the place of each column in them.  Places are not checked here.
 */
struct parquet_group { /* our column in a row group */
    int64_t rows, offset, size, values;
    int64_t codec;
};

struct parquet_column {
    const char *name; /* the caller says which */
    int leaf;         /* which of the columns it is */
    bool nullable;
    bool encrypted;
    struct parquet_group *group;
    size_t n, room;
};

int parquet_footer(struct parquet_column *, const uint8_t *file, size_t size,
                   struct err *);

int parquet_damaged(struct err *, const char *what);

#endif
