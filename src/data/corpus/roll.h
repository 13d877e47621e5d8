#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * roll - the words of a text, and hashes of any number of the last ones
 *
 *      struct roll r = { 0 };
 *
 *      roll_text(&r, text, n, fn, arg);    a document, or its parts
 *      roll_end(&r, fn, arg);
 *
 * Words are letters, their marks, and numbers, in lower case; all other
 * characters, such as spaces, quotes and dashes, separate words.  Each
 * character of Chinese and Japanese is a word.  The function is called after
 * each word.
 */
enum { ROLL_MAX = 64 }; /* words */

struct roll {
    uint64_t all, before[ROLL_MAX];
    size_t begin[ROLL_MAX]; /* of the last words, in the text or its part */
    size_t end;
    int64_t words;
    uint64_t word; /* the current one */
    bool in_word;
    bool unspaced; /* a script without spaces was seen */
};

typedef void roll_fn(void *arg, const struct roll *);

void roll_text(struct roll *, const char *text, size_t n, roll_fn *, void *arg);
void roll_end(struct roll *, roll_fn *, void *arg); /* maybe the last word */

/* The hash of the last k words, at most ROLL_MAX, with roll_powers(); of the k
 * words between two values of `all`; of all words. */
void roll_powers(uint64_t power[ROLL_MAX + 1]);
uint64_t roll_last(const struct roll *, const uint64_t *power, int k);
uint64_t roll_hash(uint64_t before, uint64_t after, uint64_t power, int64_t k);
uint64_t roll_all(const struct roll *);

/* Is it a word of its own; is it of another script without spaces? */
bool roll_is_word(int32_t c), roll_is_unspaced(int32_t c);
