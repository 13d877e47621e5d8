#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * grams - sequences of words that occur more than once in a document
 *
 *      struct grams g = GRAMS_INIT;
 *
 *      grams_begin(&g);
 *      grams_add(&g, word, len, chars);        of each word, in order
 *      for (n = 2; n <= 4; n++)
 *          top = grams_top(&g, n);
 *      for (n = 5; n <= 10; n++)
 *          repeated = grams_repeated(&g, n);
 *      grams_clear(&g);
 *
 * It may begin again with another document.  The lengths of sequences ascend:
 * what does not repeat with few words is not looked at with more.
 */
struct grams {
    struct buf joined; /* all words of the document */
    struct gram *word; /* and the end of the last one */
    size_t n, room;
    uint32_t *slot;           /* 0, or a word + 1 */
    size_t slots, slots_room; /* powers of two */
    bool hashed, windowed;    /* hash_words() and find_windows() are done */
};

#define GRAMS_INIT ((struct grams){ .joined = BUF_INIT })

void grams_begin(struct grams *);
void grams_add(struct grams *, const char *word, size_t len, size_t chars);

/* The characters in all sequences of n words that are equal to the most
 * frequent one, the first of several, with a space between two words. */
size_t grams_top(struct grams *, size_t n);
/* The characters in sequences of n words that occurred before, without spaces,
 * as these are compared; after one of them, the next begins at its end. */
size_t grams_repeated(struct grams *, size_t n);

void grams_clear(struct grams *);
