#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/shards/documents.h"

/*
 * bestfit - windows that begin with a document, and waste little of the others
 *
 *      bestfit_begin(&b, docs, n, seed)             with b.skip and b.whole set
 *      for (i = 0; i < n; i += p.n)
 *          p = bestfit_range(&b, docs, epoch, w, i, seed);
 *
 * A window of n tokens consists of documents.  Each is the largest of those in
 * a buffer that fits into the rest of the window; if none fits, the shortest is
 * cut, and what was cut off is not trained on in this epoch.  The buffer is
 * filled from the documents in an order that depends on the seed and the epoch.
 * This is how nanochat's loader packs sequences.
 *
 * With `whole`, a document is cut only if it is longer than a window.  If none
 * fits, the beginning of the shortest fills the window, and the document stays
 * in the buffer.
 *
 * The windows of an epoch are computed when the first of them is asked for, and
 * depend on nothing else.  They come in a random order, because the documents
 * that fit badly are used last.  Each epoch has as many windows as the first:
 * if its documents end earlier, it repeats some, and if they end later, it
 * leaves some out.  bestfit_range() returns the position of token i of window w
 * in the shards, and the number of tokens from there to the end of the document
 * or of the window.
 *
 * A million documents take about 0.3 s at the beginning of an epoch, and 16 MB.
 */
struct bestfit {
    bool whole;
    int64_t skip;    /* documents at the beginning, 0 or 1, to be left out */
    int64_t n;       /* tokens of a window */
    int64_t cut;     /* tokens cut off in the epoch below */
    int64_t windows; /* of an epoch; 0: not known yet */
    int64_t epoch;   /* the one below */
    uint64_t *doc;   /* the documents of all windows, one after the other */
    int64_t *first;  /* of each window, among these; windows + 1 */
    size_t room, n_windows, window_room;
    struct permute order; /* of the windows */
};

/* Compute the first epoch.  windows is 0 if the documents fill none. */
void bestfit_begin(struct bestfit *, const struct documents *, int64_t n,
                   uint64_t seed);
struct token_range bestfit_range(struct bestfit *, const struct documents *,
                                 int64_t epoch, int64_t w, int64_t i,
                                 uint64_t seed);
void bestfit_clear(struct bestfit *); /* a zeroed one is fine */
