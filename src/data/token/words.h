#ifndef DATA_TOKEN_WORDS_H
#define DATA_TOKEN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "data/token/word_key.h"

/*
 * words - how often each piece of a text occurs
 *
 *      words_init(&w, limit);
 *      words_count(&w, text, stop, n);     pieces, as pretokenize.h stores them
 *      if (words_full(&w))
 *          words_spill(&w, e);
 *      ...
 *      words_gather(&all, &w, 1, limit, &left_out, e);
 *      words_clear(&w);
 *
 * One for each thread; words_gather() adds them up.  Pieces of up to 15 bytes,
 * nearly all, lie in the table itself.  When a table has grown to its limit it
 * is written to a temporary file, sorted; so a corpus of any size is counted
 * exactly in bounded memory.  If in the end there are more words than fit, the
 * rarest are left out: all those that occur as often as the first that does
 * not fit, so that the result depends on the text and the limit only.
 */
struct short_word {
    struct word_key key;
    uint64_t count;
};

struct long_word {
    uint64_t hash, count;
    size_t at; /* in words.text */
    uint32_t len;
};

struct words {
    struct short_word *small;
    size_t n_small, small_room;
    struct long_word *large;
    size_t n_large, large_room;
    uint8_t *text;
    size_t n_text, text_room;
    size_t limit; /* bytes; 0: none */
    FILE **run;   /* spilled, each sorted by bytes */
    size_t n_runs, runs_room;
    int64_t pieces;
};

/* The sum: in no particular order, but in the same one for the same input. */
struct word_list {
    struct counted {
        size_t at; /* in text */
        uint32_t len;
        uint64_t count;
    } * word;
    size_t n, room;
    uint8_t *text;
    size_t n_text, text_room;
};

void words_init(struct words *, size_t limit);
void words_clear(struct words *);
void words_count(struct words *, const uint8_t *text, const uint8_t *end,
                 const uint32_t *stop, size_t n);
bool words_full(const struct words *);
int words_spill(struct words *, struct err *);

/* Empties the n counters.  *left_out gets how many distinct words were. */
int words_gather(struct word_list *, struct words *, size_t n, size_t limit,
                 int64_t *left_out, struct err *);
void word_list_clear(struct word_list *);

#endif
