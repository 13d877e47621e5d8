#ifndef DATA_SHARDS_DOCUMENTS_H
#define DATA_SHARDS_DOCUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "data/shards/permute.h"
#include "data/shards/shard.h"

/*
 * documents - the text of shards with its documents in another order
 *
 *      documents_find(&d, shard, n, eot);
 *      for (at = 0; at < d.tokens; at += p.n)
 *          p = documents_range(&d, epoch, at, seed);
 *
 * A document is what lies between one end-of-text token and the next; it keeps
 * the one before it.  In each epoch all documents follow each other in an order
 * that the seed and the epoch give.  documents_range() answers where token
 * `at` of that text is in the shards, and how many tokens follow it there.
 *
 * Takes 8 bytes a document, and a moment at the first question about another
 * epoch.
 */
struct documents {
    int64_t *start; /* of each, in the shards' text; n + 1 */
    size_t n, room;
    int64_t tokens;
    int64_t epoch; /* -1: none yet */
    struct permute order;
    int64_t *mark; /* where document i * STRIDE of the epoch begins in it */
};

struct token_range {
    int64_t at, n;
};

void documents_find(struct documents *, const struct shard *, size_t n,
                    int32_t eot);
struct token_range documents_range(struct documents *, int64_t epoch,
                                   int64_t at, uint64_t seed);
void documents_clear(struct documents *); /* a zeroed one is fine */

#endif
