#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/mem.h"
#include "store/format/info.h"

/*
 * pack - a run as bytes, for the index
 *
 * Numbers are stored as in memory, for this machine only.  Strings keep their
 * NUL, so that what is unpacked can point at them; NULL and an empty string are
 * distinguished.  Unpacking never reads beyond the end: then `good` becomes
 * false, and everything that follows is 0 or NULL.
 */
void pack_u32(struct buf *, uint32_t);
void pack_i64(struct buf *, int64_t);
void pack_bytes(struct buf *, const void *, size_t);
void pack_text(struct buf *, const char *); /* or NULL */
/* Pack what load_run() has read. */
void pack_run(struct buf *, const struct run_info *);

struct unpack {
    const char *at, *end;
    bool good;
};

uint32_t unpack_u32(struct unpack *);
int64_t unpack_i64(struct unpack *);
const char *unpack_bytes(struct unpack *, uint32_t *n);
const char *unpack_text(struct unpack *);
bool unpack_run(struct unpack *, struct run_info *, struct arena *);
