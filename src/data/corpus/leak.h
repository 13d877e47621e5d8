#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/corpus.h"

/*
 * leak - find evaluation text in the training text
 *
 *      struct leak *l = leak_new(0);
 *
 *      leak_eval(l, name, &conf, e)    a benchmark, kept as hashes
 *      leak_train(l, &other, e)        of any size, with all cores
 *      leak_report(l, &r);
 *      n = leak_remove(l, text, len, LEAK_CUTS, &piece);
 *      leak_free(l);
 *
 * gdata(1), leak, says which documents and which sequences of words (roll.h) it
 * finds, and how many words these have unless leak_new() was given a number.
 *
 * leak_remove() finds the pieces of a training document that GPT-3's rule
 * keeps, and returns how many they are.  It cuts each sequence that no more
 * than LEAK_COMMON training documents have, and LEAK_AROUND characters on each
 * side; what touches is one cut.  Pieces of fewer than LEAK_PIECE characters
 * are left out, and so is a document with more than so many cuts.  The pieces
 * are valid until the next call; NULL, with 1, is an unchanged document.
 *
 * Hashes have 64 bits: with a million sequences on one side and 10 billion on
 * the other, the probability that one is found by mistake is 1 in 2000.
 */
struct leak;

enum {
    LEAK_LEAST = 8, /* fewer words occur by chance */
    LEAK_MOST = 13,
    LEAK_COMMON = 10,
    LEAK_AROUND = 200,
    LEAK_PIECE = 200,
    LEAK_CUTS = 10,
};

struct leak_doc {
    const char *file;
    int64_t line;
    int64_t words;
    int64_t sequences;     /* of n words, or of all */
    int64_t found, common; /* in more than LEAK_COMMON documents */
    bool whole;            /* the whole document was found */
    bool unspaced;         /* in part in a script without spaces */
    size_t first;          /* sequence, and the hash of all: for leak.c */
    uint64_t all;
};

struct leak_benchmark {
    const char *name;
    int n;
    size_t end; /* the document after its last one */
    int64_t documents;
    int64_t whole;                    /* found as a whole */
    int64_t in_part;                  /* of which only a sequence was found */
    int64_t unchecked;                /* not found, but could not be */
    int64_t sequences, found, common; /* their sums */
};

struct leak_report {
    const struct leak_doc *doc;
    const struct leak_benchmark *benchmark;
    size_t benchmarks;
    struct leak_benchmark all; /* their sums */
};

struct leak_span {
    size_t begin, end;
};

struct leak *leak_new(int n);
int leak_eval(struct leak *, const char *name, const struct corpus_conf *,
              struct err *);
int leak_train(struct leak *, const struct corpus_conf *, struct err *);
void leak_report(struct leak *, struct leak_report *); /* once */
size_t leak_remove(struct leak *, const char *text, size_t n, int cuts,
                   const struct leak_span **piece);
void leak_free(struct leak *);
