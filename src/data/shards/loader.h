#ifndef DATA_SHARDS_BATCH_H
#define DATA_SHARDS_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * batch - the tokens of step s, as a function of s
 *
 * A loader maps the shards that a glob names and answers, for any step, which
 * windows of `context` tokens it trains on.  The answer depends on the seed,
 * the order, the step and nothing else, so there is no state to save, and any
 * number of ranks and micro-batches that share a step see the same windows.
 *
 *      struct loader_conf c = { .files = "data/train_*.bin", .context = 256,
 *                               .order = LOADER_EPOCH, .seed = 1 };
 *      if (loader_open(&loader, &c, e) < 0)
 *          return -1;
 *      if (loader_get(loader, first, n, x, y, e) < 0)
 *          return -1;
 *
 * Windows are counted from 0 over the whole of training: step s of a run with
 * W windows a step (all ranks, all micro-steps) takes s*W .. s*W + W - 1, and
 * rank r of R takes its contiguous part of each micro-step.  Ranks therefore
 * never share a window within an epoch, together they miss none, and all move
 * to the next epoch with the same window, whatever their number.  x and y are
 * n rows of `context` int32; y is x one token on.
 *
 * The shards are one long text, in the order of their names: a window may
 * begin in one and end in the next, so no token is lost between them.  Window
 * w of an epoch begins at token w*stride; what is left at the end, less than
 * a window, is not used by any order but LOADER_RANDOM, unless `whole` asks for
 * one more window that ends with the last token.  With LOADER_DOCUMENTS that is
 * the end of other documents in each epoch, and windows are cut at other places
 * of a document (documents.h).
 *
 * Tokens are compared with the vocabulary as they are read; the beginning of
 * each shard already when it is opened.  A thread touches the pages of the
 * call that seems to come next, so a step does not wait for a disk.  Only one
 * thread may use a loader.
 */
struct loader;

/* clang-format off */
enum loader_order {
    LOADER_SEQUENTIAL,   /* shard after shard, window after window, again */
    LOADER_RANDOM,       /* windows at uniformly drawn offsets (nanoGPT) */
    LOADER_EPOCH,        /* a permutation of all windows, anew in each epoch */
    LOADER_DOCUMENTS,    /* windows of the text whose documents are permuted */
};

struct loader_conf {
    const char *files;          /* a glob; sorted; .bin, raw uint16, .npy */
    int64_t context;
    int64_t stride;             /* 0: context */
    enum loader_order order;
    uint64_t seed;
    int64_t vocab;              /* ids must lie below; 0: not checked */
    int32_t eot;                /* what LOADER_DOCUMENTS cuts before */
    bool whole;                 /* every token is in a window */
};
/* clang-format on */

int loader_open(struct loader **, const struct loader_conf *, struct err *);
void loader_close(struct loader *);             /* NULL is fine */
int64_t loader_tokens(const struct loader *);   /* in all shards */
int64_t loader_shards(const struct loader *);
const char *loader_path(const struct loader *, int64_t shard);
int64_t loader_windows(const struct loader *);  /* in one epoch */
int loader_get(struct loader *, int64_t first, int64_t n, int32_t *x,
               int32_t *y, struct err *);

/*
 * A fingerprint of the data, 64 hex digits: SHA-256 of the shards' names,
 * without folders, their sizes, and their content, of which large files give
 * 64 blocks that are spread evenly.
 */
const char *loader_hash(const struct loader *);

/*
 * How many of the last positions of window w of an epoch no earlier window has
 * predicted.  With stride < context and LOADER_SEQUENTIAL, scoring only these
 * scores every token once, each with at least context - stride tokens before
 * it (but for those of window 0).
 */
int64_t loader_fresh(const struct loader *, int64_t w);

#endif
