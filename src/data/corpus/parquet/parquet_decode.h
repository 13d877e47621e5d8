#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * parquet_decode - the encodings inside the pages of a Parquet file
 *
 * Each function reads from p up to end, checks everything, and returns false if
 * the data is damaged.  The formats are specified by Apache Parquet and Snappy.
 */
struct parquet_string {
    const char *text;
    size_t len;
};

/* n numbers of `width` bits in the hybrid of run-length encoding and bit
 * packing. */
bool parquet_hybrid(const uint8_t *p, const uint8_t *end, int width,
                    uint32_t *out, size_t n);

/* n values of `width` bytes each; and n truth values, as bytes 0 and 1, in one
 * bit each. */
bool parquet_fixed(const uint8_t *p, const uint8_t *end, size_t width,
                   struct parquet_string *out, size_t n);

typedef bool parquet_values_fn(const uint8_t *p, const uint8_t *end,
                               struct parquet_string *out, size_t n);
parquet_values_fn parquet_truths;

/* n truth values in the hybrid encoding, preceded by its length; n strings,
 * each preceded by its length; n strings preceded by all lengths, which are
 * packed as differences. */
parquet_values_fn parquet_truths_hybrid, parquet_plain, parquet_delta_length;

/* n integers as differences.  They become 8 bytes each in *joined, which the
 * caller frees. */
bool parquet_differences(const uint8_t *p, const uint8_t *end,
                         struct parquet_string *out, size_t n, char **joined);

/* n strings, each stored as what it adds to a prefix of the one before.  They
 * are assembled in *joined, of at most `most` bytes, which the caller frees. */
bool parquet_delta_bytes(const uint8_t *p, const uint8_t *end, size_t most,
                         struct parquet_string *out, size_t n, char **joined);

/* Inflate exactly `size` bytes with a codec, by its number in parquet.thrift:
 * none, Snappy, gzip, Zstandard, Brotli or raw LZ4; others are an error. */
enum { PARQUET_UNCOMPRESSED = 0 };

int parquet_inflate(int64_t codec, const uint8_t *in, size_t n, uint8_t *out,
                    size_t size, struct err *);

/*
 * parquet_footer - find one column of a Parquet file
 *
 * The footer at the end of the file has the tree of columns, and then the row
 * groups with the position of each column, which are not checked here.  The
 * file, or its last `size` bytes, must hold all of it.
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
