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

/* A column: a leaf of the tree.  The name of one within structures is "a.b".
 * Its logical type is the number in parquet.thrift, in the old numbering and in
 * the new one, or -1. */
struct parquet_leaf {
    char *name;
    int64_t type, converted, logical;
    uint32_t nulls; /* the definition level of a value that is not null */
    uint32_t list;  /* that of an element of a list; 0: it is no list */
    bool nested;    /* a list of lists or of structures */
};

/* The column in a row group. */
struct parquet_group {
    int64_t rows, offset, size, values;
    int64_t codec;
};

struct parquet_column {
    const char *name; /* set by the caller; NULL: only list all columns */
    int leaf;         /* its index */
    bool encrypted;
    struct parquet_group *group;
    size_t n, room;
    struct parquet_leaf *all; /* columns, in order */
    size_t n_all, all_room;
};

int parquet_footer(struct parquet_column *, const uint8_t *file, size_t size,
                   struct err *);
void parquet_column_clear(struct parquet_column *);

int parquet_damaged(struct err *, const char *what);
