#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * hashset - a set of 64-bit hashes
 *
 *      struct hashset seen = { 0 };
 *
 *      if (hashset_add(&seen, hash))
 *          ... it is new
 *      hashset_clear(&seen);
 *
 * Only hashes are kept.  The probability that two of n different things have
 * the same hash is about n^2 / 2^65, which is 1 in 37 million for a million
 * things.
 */
struct hashset {
    uint64_t *slot; /* 0: free */
    size_t n, room; /* room is a power of two */
};

bool hashset_add(struct hashset *, uint64_t hash); /* was it new? */
/* Its index in slot[], valid until something is added; SIZE_MAX if absent. */
size_t hashset_find(const struct hashset *, uint64_t hash);
void hashset_clear(struct hashset *);
