#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * parquet_page - the header of a page of a Parquet file, and its bytes
 *
 *      if (parquet_page_header(&page, &at, end, e) < 0 ||
 *          !(bytes = parquet_page_bytes(&page, at, codec, e)))
 *          return -1;
 *      at += page.packed;
 *
 * The header is checked: its sizes fit together, and into what is left of the
 * file.
 */
enum parquet_page_type {
    PARQUET_PAGE_DATA,
    PARQUET_PAGE_INDEX,
    PARQUET_PAGE_DICTIONARY,
    PARQUET_PAGE_DATA_2
};

enum { PARQUET_PAGE_MAX = 1 << 30 }; /* bytes of a page, inflated */

struct parquet_page {
    int64_t type, size, packed; /* bytes inflated, bytes in the file */
    int64_t values, encoding;
    int64_t levels; /* bytes of definition levels, of version 2 */
    int64_t repeats;
    bool plain; /* version 2 and not compressed */
};

int parquet_page_header(struct parquet_page *, const uint8_t **at,
                        const uint8_t *end, struct err *);

/* The inflated bytes of a page, which the caller frees; or NULL.  In version 2
 * the levels, which are never compressed, come first. */
uint8_t *parquet_page_bytes(const struct parquet_page *, const uint8_t *at,
                            int64_t codec, struct err *);
