#ifndef DATA_CORPUS_HASHSET_H
#define DATA_CORPUS_HASHSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * hashset - a set of 64-bit hashes
 *
 *      struct hashset seen = HASHSET_INIT;
 *
 *      if (hashset_add(&seen, hash))
 *          first();
 *      hashset_clear(&seen);
 *
 * Holds hashes, not what was hashed: of n things two have the same one with a
 * chance of about n^2 / 2^65, one in 37 million for a million things.
 */
struct hashset {
    uint64_t *slot;             /* 0 is empty */
    size_t n, room;             /* room is a power of two */
};

#define HASHSET_INIT { NULL, 0, 0 }

bool hashset_add(struct hashset *, uint64_t hash);      /* was it new? */
/* Where it is in slot[], as long as nothing is added; SIZE_MAX if it is not. */
size_t hashset_find(const struct hashset *, uint64_t hash);
void hashset_clear(struct hashset *);

#endif
