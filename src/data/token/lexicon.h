#ifndef DATA_TOKEN_LEXICON_H
#define DATA_TOKEN_LEXICON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "data/token/tokenizer.h"
#include "data/token/word_key.h"

/*
 * lexicon - the words that encoders met, and their ids
 *
 * A fixed number of lines, each of two words.  A word belongs into the line
 * that its hash names, or, if that is full, into the one beside it.  Its place
 * is for good: frequent words come early.  So threads share a lexicon without
 * locks: who takes a free place says so in the key first, and writes the whole
 * key last.  Words that come when their places are taken go to a smaller
 * lexicon that only one thread has, where they may push out others.
 *
 * Words of up to WORD_MAX bytes are kept (word_key.h), if their ids have room:
 * eight of 16 bits or four of 32.  The upper four bits of the key hold how many
 * there are.
 */
enum { LEXICON_BITS = 18, LEXICON_OWN_BITS = 17 };

/* How many ids a word may have, and how many places one writes. */
enum { IDS_NARROW = 8, IDS_WIDE = 4 };

typedef uint16_t narrow_ids __attribute__((vector_size(16)));
typedef int32_t wide_ids __attribute__((vector_size(32)));

struct word {
    _Atomic uint64_t a, b; /* the key, and how many ids */
    union {
        uint16_t narrow[IDS_NARROW];
        int32_t wide[IDS_WIDE];
    } id;
};

struct line {
    struct word word[2];
};

struct lexicon {
    struct line *line;
    int bits;    /* of a line's number */
    bool narrow; /* ids fit 16 bits */
};

static inline size_t lexicon_line(struct word_key k, int bits)
{
    return (size_t)(word_hash(k) >> (64 - bits));
}

/* 0 if it is, and then its ids may be read. */
static inline uint64_t word_is_not(const struct word *w, struct word_key k)
{
    const uint64_t b = atomic_load_explicit(&w->b, memory_order_acquire);
    const uint64_t a = atomic_load_explicit(&w->a, memory_order_relaxed);

    return (a ^ k.a) | (b ^ k.b) << 4;
}

/* All its places are written; returns how many count. */
static inline size_t word_ids(int32_t *out, const struct word *w, bool narrow)
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

/* Of 2^bits lines; NULL if there is no memory. */
struct lexicon *lexicon_make(const struct tokenizer *, int bits);

/* The word, or NULL and its place, or NULL if that is taken. */
const struct word *lexicon_find(struct lexicon *, struct word_key,
                                struct word **place);

/* Keep it there, if it has not too many ids, and nobody was quicker.  Without a
 * place it pushes out another, which only the one thread that has the lexicon
 * may do. */
void lexicon_keep(struct lexicon *, struct word *place, struct word_key,
                  const int32_t *id, size_t n);

#endif
