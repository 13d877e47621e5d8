#ifndef DATA_CORPUS_LEAK_H
#define DATA_CORPUS_LEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/corpus.h"

/*
 * leak - what of an evaluation text is in the training text too
 *
 *      struct leak *l = leak_new(13);
 *
 *      leak_eval(l, &conf, e)          the smaller one, kept as hashes
 *      leak_train(l, &other, e)        any size, by all cores
 *      leak_report(l, &r);
 *      leak_free(l);
 *
 * A text is the sequence of its words: letters and numbers, in lower case
 * (normalize.h); everything else divides.  A document is found whole when the
 * sequence of its words is that of a training document, or when all its runs of
 * n words are somewhere in the training text.  Documents without a word do not
 * count.
 * Hashes have 64 bits: with a million runs on one side and 10 billion on the
 * other, one is found by chance once in two thousand times.
 */
struct leak;

struct leak_doc {
    const char *file;
    int64_t line;
    int64_t runs, found;
    bool whole;                 /* the same document is in both */
};

struct leak_report {
    int64_t documents;          /* of the evaluation text */
    int64_t whole;              /* that are in the training text as such */
    int64_t touched;            /* that share at least one run */
    int64_t runs, found;        /* of n words */
    int64_t train_documents;
    const struct leak_doc *doc;
};

struct leak *leak_new(int n);
int leak_eval(struct leak *, const struct corpus_conf *, struct err *);
int leak_train(struct leak *, const struct corpus_conf *, struct err *);
void leak_report(struct leak *, struct leak_report *);
void leak_free(struct leak *);

#endif
