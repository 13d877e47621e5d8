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
