#pragma once

#include <stdint.h>

#include "common/buf.h"
#include "data/token/tokenizer.h"

/*
 * decoder - convert many ids back to bytes
 *
 *      d = decoder_new(t, tokenizer_eot(t));
 *      while (i < n) {
 *          i += decoder_run(d, ids + i, n - i, &buf);
 *          ... if i < n, the id there is end-of-text or unknown
 *      }
 *      decoder_free(d);
 *
 * decoder_run() appends the bytes of n ids of a shard (shard_copy()), and
 * returns their number.  It stops early before the id `stop` (-1: none) and
 * before ids that the tokenizer does not have.  A decoder does not change; it
 * has a copy of the tokens, 16 bytes for each, and a pointer to the tokenizer.
 */
struct decoder *decoder_new(const struct tokenizer *, int32_t stop);
int64_t decoder_run(const struct decoder *, const int32_t *ids, int64_t n,
                    struct buf *);
void decoder_free(struct decoder *);
