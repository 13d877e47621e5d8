#pragma once

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
/* Physical types. */
enum parquet_type {
    PARQUET_BOOLEAN,
    PARQUET_INT32,
    PARQUET_INT64,
    PARQUET_INT96,
    PARQUET_FLOAT,
    PARQUET_DOUBLE,
    PARQUET_BYTES,
    PARQUET_FIXED_BYTES
};

/* A column at the top of the tree.  Its logical type is the number in
 * parquet.thrift, in the old numbering and in the new one, or -1. */
struct parquet_top {
    char *name;
    int64_t type, converted, logical;
    bool nested; /* a list, a structure or the like */
};

/* The column in a row group. */
struct parquet_group {
    int64_t rows, offset, size, values;
    int64_t codec;
};

struct parquet_column {
    const char *name; /* set by the caller */
    int leaf;         /* its index */
    int64_t type;
    bool nullable;
    bool encrypted;
    struct parquet_group *group;
    size_t n, room;
    struct parquet_top *top; /* all columns, in order */
    size_t n_top, top_room;
};

int parquet_footer(struct parquet_column *, const uint8_t *file, size_t size,
                   struct err *);
void parquet_column_clear(struct parquet_column *);

int parquet_damaged(struct err *, const char *what);
