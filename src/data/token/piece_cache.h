#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "data/token/tokenizer.h"
#include "data/token/word_key.h"

/*
 * piece_cache - the words that encoders have met, and their ids
 *
 * A cache has a fixed number of lines of two slots each.  A word is kept in
 * the line that its hash selects, or in the neighbouring line if that is full.
 * Words are never removed, as frequent words come early.  This lets threads
 * share a cache without locks: a thread claims a free slot by marking its
 * key, and writes the complete key last.
 *
 * A word of up to WORD_MAX bytes (word_key.h) is kept if it has at most eight
 * ids of 16 bits or four of 32 bits.  The upper four bits of its key hold their
 * number.
 */
enum { PIECE_CACHE_LINES = 1 << 18 };

/* The ids that a slot holds; piece_cache_copy_ids() copies all of them. */
enum { PIECE_CACHE_IDS_NARROW = 8, PIECE_CACHE_IDS_WIDE = 4 };

typedef uint16_t narrow_ids __attribute__((vector_size(16)));
typedef int32_t wide_ids __attribute__((vector_size(32)));

struct piece_cache_word {
    _Atomic uint64_t a, b; /* the key and the number of ids */
    union {
        uint16_t narrow[PIECE_CACHE_IDS_NARROW];
        int32_t wide[PIECE_CACHE_IDS_WIDE];
    } id;
};

struct piece_cache_line {
    struct piece_cache_word word[2];
};

struct piece_cache {
    struct piece_cache_line *line;
    bool narrow; /* ids have 16 bits */
};

static inline size_t piece_cache_line_number(struct word_key k)
{
    return (size_t)(word_key_hash(k) / (UINT64_MAX / PIECE_CACHE_LINES + 1));
}

/* 0 if the slot holds this word; then its ids may be read. */
static inline uint64_t piece_cache_word_differs(
    const struct piece_cache_word *w, struct word_key k)
{
    const uint64_t b = atomic_load_explicit(&w->b, memory_order_acquire);
    const uint64_t a = atomic_load_explicit(&w->a, memory_order_relaxed);

    return (a ^ k.a) | (b ^ k.b) << 4;
}

/* Copies all ids of the slot; returns how many of them belong to the word. */
static inline size_t piece_cache_copy_ids(int32_t *out,
                                          const struct piece_cache_word *w,
                                          bool narrow)
{
    if (narrow) {
        narrow_ids from;
        wide_ids to;

        memcpy(&from, w->id.narrow, sizeof from);
        to = __builtin_convertvector(from, wide_ids);
        memcpy(out, &to, sizeof to);
    } else {
        memcpy(out, w->id.wide, sizeof w->id.wide);
    }
    return (size_t)(atomic_load_explicit(&w->b, memory_order_relaxed) >> 60);
}

/* The word; or NULL, and a free slot for it, or NULL if there is none. */
const struct piece_cache_word *piece_cache_find(struct piece_cache *,
                                                struct word_key,
                                                struct piece_cache_word **slot);

/* Keep a word in this slot, unless it has too many ids or another thread has
 * taken the slot. */
void piece_cache_keep(struct piece_cache *, struct piece_cache_word *slot,
                      struct word_key, const int32_t *id, size_t n);
