#ifndef DATA_CORPUS_PARQUET_FOOTER_H
#define DATA_CORPUS_PARQUET_FOOTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * parquet_footer - find one column of a Parquet file
 *
 * The footer at the end of the file has the tree of columns, and then the row
 * groups with the position of each column, which are not checked here.
 */
/* The column in a row group. */
struct parquet_group {
    int64_t rows, offset, size, values;
    int64_t codec;
};

struct parquet_column {
    const char *name; /* set by the caller */
    int leaf;         /* its index */
    bool nullable;
    bool encrypted;
    struct parquet_group *group;
    size_t n, room;
};

int parquet_footer(struct parquet_column *, const uint8_t *file, size_t size,
                   struct err *);

int parquet_damaged(struct err *, const char *what);

#endif
