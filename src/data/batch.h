#ifndef DATA_BATCH_H
#define DATA_BATCH_H

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
 *                               .order = ORDER_EPOCH, .seed = 1 };
 *      if (loader_open(&loader, &c, e) < 0)
 *          return -1;
 *      loader_get(loader, first, n, x, y);
 *
 * Windows are counted from 0 over the whole of training: step s of a run with
 * W windows a step (all ranks, all micro-steps) takes s*W .. s*W + W - 1, and
 * rank r of R takes its contiguous part of each micro-step.  x and y are n
 * rows of `context` int32; y is x one token on.  Every token is checked
 * against the vocabulary when its shard is opened.
 */
struct loader;

enum order {
    ORDER_SEQUENTIAL,   /* shard after shard, window after window, again */
    ORDER_RANDOM,       /* windows at uniformly drawn offsets (nanoGPT) */
    ORDER_EPOCH,        /* a permutation of all windows, anew in each epoch */
};

struct loader_conf {
    const char *files;          /* a glob; sorted; .bin, raw uint16, .npy */
    int64_t context;
    int64_t stride;             /* 0: context */
    enum order order;
    uint64_t seed;
    int64_t vocab;              /* ids must lie below; 0: not checked */
};

int loader_open(struct loader **, const struct loader_conf *, struct err *);
void loader_close(struct loader *);
int64_t loader_tokens(const struct loader *);   /* in all shards */
int64_t loader_windows(const struct loader *);  /* in one epoch */
const char *loader_hash(const struct loader *); /* of names, sizes, content */
void loader_get(struct loader *, int64_t first, int64_t n, int32_t *x,
                int32_t *y);

#endif
