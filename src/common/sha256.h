#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * sha256 - the hash that names data (FIPS 180-4)
 *
 *      struct sha256 h;
 *      char text[SHA256_TEXT];
 *
 *      sha256_init(&h);
 *      sha256_add(&h, data, n);        any number of times
 *      sha256_text(&h, text);          64 hex digits and a NUL
 *
 *      sha256_hmac(key, strlen(key), data, n, mac);    HMAC (RFC 2104)
 *
 * Uses the processor's own instructions where it has them (about 2 GB/s).
 */
enum { SHA256_BYTES = 32, SHA256_TEXT = 65 };

struct sha256 {
    uint32_t state[8];
    uint64_t total;          /* bytes so far */
    unsigned char block[64]; /* the bytes of an incomplete block */
    bool fast;               /* the processor helps */
};

void sha256_init(struct sha256 *);
void sha256_add(struct sha256 *, const void *data, size_t n);
void sha256_bytes(struct sha256 *, unsigned char out[SHA256_BYTES]); /* last */
void sha256_text(const struct sha256 *, char out[SHA256_TEXT]);
/* The text of one piece of data. */
void sha256_of(const void *data, size_t n, char out[SHA256_TEXT]);
void sha256_hmac(const void *key, size_t key_bytes, const void *data, size_t n,
                 unsigned char out[SHA256_BYTES]);

/* Is it 64 hexadecimal digits, in lower case? */
bool sha256_is_text(const char *);

int sha256_file(const char *path, char out[SHA256_TEXT], int64_t *size,
                struct err *);
