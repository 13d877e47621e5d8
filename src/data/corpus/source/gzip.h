#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * gzip - inflate gzip data by ISA-L or zlib
 *
 * ISA-L inflates C4 2.7 times as fast as zlib (400 MB/s instead of 150 MB/s on
 * one core of a loaded machine), and one thread inflates for all threads that
 * encode.  But many distributions do not install it, and zlib is everywhere.
 * So configure uses ISA-L if it finds it.
 *
 * gzip_state_inflate() moves *at and *left past the input it has used, and *to
 * past its output.  It returns true at the end of a member; after that it
 * expects the beginning of another.  After an error *damage says what is wrong.
 */
struct gzip_state;

struct gzip_state *gzip_state_new(void); /* NULL: not enough memory */
bool gzip_state_inflate(struct gzip_state *, const uint8_t **at, size_t *left,
                        uint8_t **to, const uint8_t *end, const char **damage);
void gzip_state_free(struct gzip_state *);
