#pragma once

#include "data/shards/sink.h"

/*
 * shuffle - write the documents of a raw file in another order
 *
 *      if (shuffle_file("x.bin", &how, sink, SUBSET_TRAIN, e) < 0)
 *          return -1;
 *
 * A document begins with its end-of-text token (documents.h).  Each order is
 * as probable as any other, as far as 64 bits of seed go, and depends only on
 * the seed and the number of documents.  The file is mapped, so what this needs
 * is 8 bytes of memory for each document, however long they are.  A signal ends
 * it with ERR_STOPPED.
 */
struct shuffle {
    uint64_t seed;
    int32_t eot;
    int width; /* bytes of an id */
};

int shuffle_file(const char *path, const struct shuffle *, struct sink *,
                 int subset, struct err *);
