#ifndef DATA_CORPUS_PARQUET_DECODE_H
#define DATA_CORPUS_PARQUET_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * parquet_decode - the encodings inside the pages of a Parquet file
 *
 * Each reads from p up to end and checks everything; false, or 0, is damage.
 * Formats are those of the Apache Parquet and Snappy format descriptions.
 */
struct parquet_string {
    const char *text;
    size_t len;
};

/* n numbers of `width` bits in the hybrid of runs and packed bits. */
bool parquet_hybrid(const uint8_t *p, const uint8_t *end, int width,
                    uint32_t *out, size_t n);

/* n strings, each after its length. */
bool parquet_plain(const uint8_t *p, const uint8_t *end,
                   struct parquet_string *out, size_t n);

/* n strings after all their lengths, those packed as differences. */
bool parquet_delta_length(const uint8_t *p, const uint8_t *end,
                          struct parquet_string *out, size_t n);

/* n strings that each begin as the one before.  They are put together in
 * *joined, of at most `most` bytes, which the caller frees. */
bool parquet_delta_bytes(const uint8_t *p, const uint8_t *end, size_t most,
                         struct parquet_string *out, size_t n, char **joined);

/* Exactly n bytes out of Snappy's block format. */
bool parquet_snappy(const uint8_t *p, const uint8_t *end, uint8_t *out,
                    size_t n);

#endif
