#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "data/token/word_key.h"

/*
 * words - count how often each piece of a text occurs
 *
 *      words_init(&w, limit);
 *      words_count(&w, text, end, stop, n);    pieces as in pretokenize.h
 *      if (words_full(&w))
 *          words_spill(&w, e);
 *      ...
 *      words_collect(&all, &w, 1, limit, &left_out, e);
 *      words_clear(&w);
 *
 * Each thread has a counter of its own, and words_collect() adds them up.
 * Pieces of up to 15 bytes, which are nearly all, are kept in the table itself.
 * When a counter reaches its limit, it is sorted and written to a temporary
 * file, so a corpus of any size is counted exactly in bounded memory.  If the
 * words do not fit at the end, the rarest are left out: all words as rare as
 * the first that does not fit, so that the result depends on nothing but the
 * text and the limit.
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
    FILE **spill; /* temporary files, each sorted by bytes */
    size_t n_spills, spills_room;
    int64_t pieces;
};

/* All words with their counts, in an order that depends only on the input. */
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

/* Empties the n counters.  *left_out is the number of distinct words that did
 * not fit. */
int words_collect(struct word_list *, struct words *, size_t n, size_t limit,
                  int64_t *left_out, struct err *);
void word_list_clear(struct word_list *);
