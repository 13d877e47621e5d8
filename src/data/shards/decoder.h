#ifndef DATA_SHARDS_DECODER_H
#define DATA_SHARDS_DECODER_H

#include <stdint.h>

#include "common/buf.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

/*
 * decoder - many ids back to bytes, fast
 *
 *      d = decoder_new(t, tokenizer_eot(t));
 *      while (i < end) {
 *          i += decoder_run(d, &shard, i, end - i, &buf);
 *          ... if i < end, that id is the end of a document, or is none
 *      }
 *      decoder_free(d);
 *
 * decoder_run() appends the bytes of ids number i, i + 1, ... of a shard and
 * returns how many it took: n, or less because the next one is `stop` (-1: no
 * such id) or beyond the vocabulary.  A decoder does not change; it keeps a
 * copy of the tokens, 16 bytes for each, and a pointer to the tokenizer.
 */
struct decoder *decoder_new(const struct tokenizer *, int32_t stop);
int64_t decoder_run(const struct decoder *, const struct shard *, int64_t i,
                    int64_t n, struct buf *);
void decoder_free(struct decoder *);

#endif
