#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/opt.h"
#include "data/corpus/corpus.h"

/*
 * near - find documents that are similar to an earlier one
 *
 *      n = near_find(&conf, &how, e);      reads the corpus twice
 *      if (near_drops(n, number))          from 0, in the order of the input
 *      near_free(n);
 *
 * gdata(1), dedup, says which documents are similar, and which of them stay.
 *
 * The first pass computes 14 keys of each document, each from the least of
 * eight permuted hashes of its sequences (MinHash).  A document is paired with
 * the first that has the same key, and with the last few before it.  The second
 * pass writes the sequences of these documents to a temporary file, from which
 * the similarity of each pair is computed.  The result depends neither on
 * threads nor on memory.  A document that equals an earlier one, by a 64-bit
 * hash, is ignored.
 *
 * An index is a file with the keys of all documents.  With `write`, it is
 * written in place of the other passes; the caller reports that this failed.
 * Indexes take the place of the first files of the input in the first pass.
 */
struct near_how {
    double similarity; /* of similar documents, at least */
    uint64_t memory;   /* bytes; the rest is in temporary files */
    int threads;       /* 0: one per processor */
    struct opt_list index;
    FILE *write; /* an index, or NULL */
};

struct near *near_find(const struct corpus_conf *, const struct near_how *,
                       struct err *);
int64_t near_documents(const struct near *); /* that were read */
bool near_drops(const struct near *, int64_t number);
void near_free(struct near *);
