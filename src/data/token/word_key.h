#pragma once

#include <stdint.h>
#include <string.h>

/*
 * word_key - the keys of words in hash tables
 *
 * The key of a word of up to WORD_MAX bytes is the word itself: two numbers
 * that hold its bytes, padded with zeros, and its length in bits 56 to 59 of
 * the second.  Bits 60 to 63 are zero and free for the table to use.  For
 * longer words there is word_key_hash_bytes().
 */
enum { WORD_MAX = 15 };

struct word_key {
    uint64_t a, b;
};

static const uint8_t word_key_ones[32] = { [0 ... 15] = 0xFF };

/* 16 bytes must be readable at s. */
static inline struct word_key word_key(const uint8_t *s, uint32_t n)
{
    struct word_key k;
    uint64_t a, b;

    memcpy(&k, s, sizeof k);
    memcpy(&a, word_key_ones + 16 - n, sizeof a);
    memcpy(&b, word_key_ones + 24 - n, sizeof b);
    k.a &= a;
    k.b = (k.b & b) | (uint64_t)n << 56;
    return k;
}

/* Like word_key(), but reads nothing from the end of the text on. */
static inline struct word_key word_key_last(const uint8_t *s,
                                            const uint8_t *end, uint32_t n)
{
    uint8_t padded[16] = { 0 };

    if (end - s >= 16)
        return word_key(s, n);
    memcpy(padded, s, n);
    return word_key(padded, n);
}

/* Only the upper bits depend on all bytes. */
static inline uint64_t word_key_hash(struct word_key k)
{
    return k.a * 0x9E3779B97F4A7C15 + k.b * 0xD6E8FEB86659FD93;
}

static inline uint64_t word_key_hash_bytes(const uint8_t *s, size_t n)
{
    uint64_t h = n, word;

    for (; n >= 8; s += 8, n -= 8) {
        memcpy(&word, s, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15;
        h ^= h >> 32;
    }
    word = 0;
    if (n >= 4) {
        uint32_t first, last;

        memcpy(&first, s, 4);
        memcpy(&last, s + n - 4, 4);
        word = (uint64_t)last << 32 | first;
    } else if (n > 0) {
        word = (uint64_t)s[0] << 16 | (uint64_t)s[n / 2] << 8 | s[n - 1];
    }
    h = (h ^ word) * 0x9E3779B97F4A7C15;
    return h ^ h >> 32;
}
