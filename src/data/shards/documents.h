#pragma once

#include <stddef.h>
#include <stdint.h>

#include "data/shards/shard.h"

/*
 * permute - a permutation of 0 .. n-1 that needs no memory
 *
 *      permute_init(&p, n, seed, stream);
 *      for (i = 0; i < n; i++)
 *          use(permute(&p, i));
 *
 * A Feistel network permutes the numbers below the smallest 4^k >= n.  It is
 * applied again while the result is n or more, which gives a permutation of the
 * numbers below n (J. Black and P. Rogaway, "Ciphers with arbitrary finite
 * domains", CT-RSA 2002).
 */
enum { PERMUTE_ROUNDS = 8 };

struct permute {
    uint64_t n;
    int half; /* bits of one half */
    uint32_t key[PERMUTE_ROUNDS];
};

void permute_init(struct permute *, uint64_t n, uint64_t seed, uint64_t stream);
uint64_t permute(const struct permute *, uint64_t i);

/*
 * documents - the text of shards with its documents in a random order
 *
 *      if (documents_find(&d, shard, n, eot, e) < 0)
 *          return -1;
 *      for (at = 0; at < d.tokens; at += p.n)
 *          p = documents_range(&d, epoch, at, seed);
 *
 * A document extends from one end-of-text token to the next; the first of the
 * two belongs to it.  In each epoch the documents have another order, which
 * depends on the seed and the epoch.  documents_range() returns the position of
 * token `at` of that text in the shards, and the number of tokens from there to
 * the end of the document.
 *
 * This takes 8 bytes per document, and some time at the beginning of an epoch.
 */
struct documents {
    int64_t *start; /* of each document in the shards; n + 1 */
    size_t n, room;
    int64_t tokens;
    int64_t epoch; /* -1: none yet */
    struct permute order;
    int64_t *mark; /* the start of document i * STRIDE of the epoch */
};

/* n tokens from token `at`. */
struct token_range {
    int64_t at, n;
};

static inline int64_t documents_length(const struct documents *d, uint64_t i)
{
    return d->start[i + 1] - d->start[i];
}

int documents_find(struct documents *, const struct shard *, size_t n,
                   int32_t eot, struct err *);
struct token_range documents_range(struct documents *, int64_t epoch,
                                   int64_t at, uint64_t seed);
void documents_clear(struct documents *); /* a zeroed one is fine */
