#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * cache - the last answers, for other pages with the same request
 *
 *      if (!cache_get(&c, url, version, 2, &body)) {
 *          ...
 *          cache_put(&c, url, version, &body);
 *      }
 *
 * An answer is valid for one version of a store, and for a number of seconds at
 * most.  The oldest ones make room for others.
 */
enum { CACHE_ANSWERS = 64, CACHE_BYTES = 16 << 20 };

struct cache {
    struct cached {
        char *url;
        int64_t version;
        double at; /* by clock_mono() */
        struct buf body;
    } item[CACHE_ANSWERS];
    size_t next; /* the oldest */
    size_t bytes;
};

/* Append the answer; false if there is none. */
bool cache_get(const struct cache *, const char *url, int64_t version,
               double seconds, struct buf *);
/* An equal request's answer of any version that has this mark; or NULL. */
const struct buf *cache_find(const struct cache *, const char *url,
                             const char *mark);
uint64_t cache_mark(const struct buf *);
void cache_put(struct cache *, const char *url, int64_t version,
               const struct buf *);
void cache_clear(struct cache *);

/* Make an answer what differs from the answer before it:
 *
 *      {"delta":[[0,12],"{\"id\":\"...\"}",[14,300]]}
 *
 * Both texts are cut before each { and [.  A pair of numbers stands for as many
 * pieces of the old text, from the first one on; a string is new text.  The
 * page puts them together again (api.js). */
void cache_delta(struct buf *answer, const struct buf *old);
