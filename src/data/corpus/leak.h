#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/corpus.h"

/*
 * leak - find evaluation text in the training text
 *
 *      struct leak *l = leak_new(13);
 *
 *      leak_eval(l, &conf, e)          the smaller text, kept as hashes
 *      leak_train(l, &other, e)        of any size, with all cores
 *      leak_report(l, &r);
 *      leak_free(l);
 *
 * A text is the sequence of its words: letters, their marks, and numbers, in
 * lower case; all other characters, such as spaces, quotes and dashes, separate
 * words.  Each character of Chinese and Japanese is a word.  A document is in
 * the training text as a whole if a training document has the same words, or if
 * all its sequences of n words occur in the training text.  A document of fewer
 * words, but at least LEAK_LEAST, is one sequence.  Documents without a word
 * are ignored.
 *
 * Hashes have 64 bits: with a million sequences on one side and 10 billion on
 * the other, the probability that one is found by mistake is 1 in 2000.
 */
struct leak;

enum { LEAK_LEAST = 8 }; /* fewer words occur by chance */

struct leak_doc {
    const char *file;
    int64_t line;
    int64_t sequences, found; /* of n words, or of all */
    bool whole;               /* the whole document was found */
    size_t first;             /* sequence, and the hash of all: for leak.c */
    uint64_t all;
};

struct leak_report {
    int64_t documents;        /* of the evaluation text */
    int64_t whole;            /* found as a whole */
    int64_t touched;          /* of which a sequence was found */
    int64_t brief;            /* too short to have a sequence */
    int64_t sequences, found; /* of n words */
    const struct leak_doc *doc;
};

struct leak *leak_new(int n);
int leak_eval(struct leak *, const struct corpus_conf *, struct err *);
int leak_train(struct leak *, const struct corpus_conf *, struct err *);
void leak_report(struct leak *, struct leak_report *);
void leak_free(struct leak *);
