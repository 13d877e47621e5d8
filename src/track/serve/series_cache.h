#ifndef TRACK_SERVE_SERIES_CACHE_H
#define TRACK_SERVE_SERIES_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "store/load.h"

/*
 * series_cache - histories that were read, for the next figure
 *
 *      request.load = series_cache_load;
 *      request.load_arg = &cache;
 *
 * A history is read again when the summary of its metric is another one.  The
 * histories that were used last are kept, in a limited amount of memory; long
 * ones are not kept at all.
 */
enum { SERIES_CACHE_BYTES = 32 << 20 };

struct series_cache {
    struct kept_series *item;
    size_t n, room, bytes;
    uint64_t uses;
};

int series_cache_load(void *cache, struct series *, const struct run_info *,
                      const char *key, struct err *);
void series_cache_clear(struct series_cache *);

#endif
