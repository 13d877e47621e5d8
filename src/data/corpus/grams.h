#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * grams - sequences of words that occur more than once in a document
 *
 *      struct grams g = { 0 };
 *
 *      grams_begin(&g, text, n);
 *      grams_add(&g, word, len, chars);        of each word, in order
 *      for (n = 2; n <= 4; n++)
 *          top = grams_top(&g, n, all, limit);
 *      for (n = 5; n <= 10; n++)
 *          repeated = grams_repeated(&g, n, all, limit);
 *      grams_clear(&g);
 *
 * It may begin again with another document.  The words are bytes of the text.
 *
 * Most documents are far from any limit, so a bound of the share is found
 * first, which is faster.  If it is no more than the limit, it is returned in
 * place of the share.  The lengths of sequences ascend.
 */
struct grams {
    char *joined;      /* all words of the document */
    struct gram *word; /* and the end of the last one */
    uint32_t *later;   /* see find_later() */
    const char *end;   /* of the text */
    size_t n, n_later, room;
    uint32_t *slot;
    size_t slots, slots_room; /* powers of two */
    bool searched;            /* find_later() is done */
};

void grams_begin(struct grams *, const char *text, size_t n);
void grams_add(struct grams *, const char *word, size_t len, size_t chars);

/* The share of all characters in those sequences of n words that are equal to
 * the most frequent one, the first of several, with a space between words. */
double grams_top(struct grams *, size_t n, size_t all, double limit);
/* The share in sequences of n words that occurred before, without spaces, as
 * these are compared; after one of them, the next begins at its end. */
double grams_repeated(struct grams *, size_t n, size_t all, double limit);

void grams_clear(struct grams *);
