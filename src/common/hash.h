#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * hash - hashes that are not cryptographic
 *
 * hash128() is fast and the same on all machines; it finds equal data that
 * nobody has forged.  It is MurmurHash3's x64_128 (A. Appleby; the algorithm is
 * in the public domain), with its first word as the high half.
 */
struct hash128 {
    uint64_t hi, lo;
};

struct hash128 hash128(const void *data, size_t n, uint64_t seed);

/* FNV-1a of a word, for tables of names. */
uint64_t hash_name(const char *s);
uint32_t hash_name32(const char *s);
