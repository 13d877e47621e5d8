#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/err.h"

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
/* A piece with more bytes is not counted, because every merge takes time linear
 * in its length. */
enum { WORDS_LONGEST = 16384 };

struct words {
    struct word_slot *slot; /* a hash table */
    size_t n, room;
    struct buf text; /* of the words that are longer than their keys */
    size_t limit;    /* bytes; 0: none */
    FILE **spill;    /* temporary files, each sorted by bytes */
    size_t n_spills, spills_room;
    int64_t pieces, too_long; /* counted; not counted */
};

/* All words with their counts, in an order that depends only on the input. */
struct word_list {
    struct counted {
        size_t at; /* in text */
        uint32_t len;
        uint64_t count;
    } * word;
    size_t n, room;
    struct buf text;
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
void word_list_sort(struct word_list *); /* by count, the largest first */
void word_list_clear(struct word_list *);
