#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "data/shards/documents.h"

/*
 * loader - the tokens of step s as a function of s
 *
 * A loader maps the shards that match a glob and reads the windows of `context`
 * tokens of any step.  They depend only on the seed, the order and the step, so
 * there is no state to save, and the windows of a step are the same for any
 * number of ranks and micro-batches.
 *
 *      struct loader_conf c = { .files = "data/train_*.bin", .context = 256,
 *                               .order = LOADER_EPOCH, .seed = 1 };
 *      if (loader_open(&loader, &c, e) < 0)
 *          return -1;
 *      if (loader_get(loader, first, n, x, y, e) < 0)
 *          return -1;
 *
 * Windows are counted from 0 over all epochs.  Step s of a run with W windows
 * per step (of all ranks and micro-steps) reads windows s*W .. s*W + W - 1, and
 * rank r of R reads a contiguous part of each micro-step.  Within an epoch
 * ranks therefore never share a window, and together they miss none; all begin
 * the next epoch at the same window, whatever their number.  x and y are n rows
 * of `context` int32; y is x shifted by one token, but -1 for a token that the
 * shard marks as not to be predicted.
 *
 * The shards form one text, in the order of their names.  A window may begin in
 * one shard and end in the next, so no token is lost between them.  Window w of
 * an epoch begins at token w*stride.  The rest at the end, which is shorter
 * than a window, is used only by LOADER_RANDOM, unless `whole` adds a window
 * that ends with the last token.  With LOADER_DOCUMENTS the rest consists of
 * other documents in each epoch, and windows begin at other positions in a
 * document (documents.h).  With LOADER_BESTFIT each window begins with a
 * document, and the last one in it may be cut (bestfit, in loader.c); with
 * LOADER_WHOLE, documents are not cut, but a window may end with the beginning
 * of one.
 *
 * Ids are compared with the vocabulary as they are read, and those at the
 * beginning of each shard when it is opened.  A loader may be used by one
 * thread only.
 */
struct loader;

/* clang-format off */
enum loader_order {
    LOADER_SEQUENTIAL,  /* the windows in their order, again in each epoch */
    LOADER_RANDOM,      /* windows at uniformly drawn positions (nanoGPT) */
    LOADER_EPOCH,       /* another permutation of the windows in each epoch */
    LOADER_DOCUMENTS,   /* another permutation of the documents */
    LOADER_BESTFIT,     /* windows that begin with a document */
    LOADER_WHOLE,       /* windows of whole documents */
};

struct loader_conf {
    const char *files;          /* a glob; the matches are sorted */
    int64_t context;
    int64_t stride;             /* 0: context */
    enum loader_order order;
    uint64_t seed;
    int64_t vocab;              /* all ids must be below; 0: not checked */
    int32_t eot;                /* the end-of-text token, for the last two */
    bool whole;                 /* every token is in a window */
};
/* clang-format on */

int loader_open(struct loader **, const struct loader_conf *, struct err *);
void loader_close(struct loader *); /* NULL is fine */
/* Fail if a shard was written to since it was opened (shard_check()). */
int loader_check(const struct loader *, struct err *);
/* Read all shards once, and fail at an id that the vocabulary lacks. */
int loader_scan(const struct loader *, struct err *);
int64_t loader_tokens(const struct loader *); /* in all shards */
int64_t loader_shards(const struct loader *);
const char *loader_path(const struct loader *, int64_t shard);
int64_t loader_windows(const struct loader *); /* of an epoch */
/* The tokens of the first epoch that the last two orders cut off. */
int64_t loader_cut(const struct loader *);
int loader_get(struct loader *, int64_t first, int64_t n, int32_t *x,
               int32_t *y, struct err *);
/* The tokens of window w from its token i, as far as they are contiguous. */
struct token_range loader_range(struct loader *, int64_t w, int64_t i);
/* Have a thread touch the pages of n windows that will be read next. */
void loader_touch(struct loader *, int64_t first, int64_t n);

/*
 * A fingerprint of the data in 64 hex digits: the SHA-256 of the names of the
 * shards without folders, their sizes, and samples of their content (see
 * shard_sample()).
 */
const char *loader_hash(const struct loader *);

/*
 * The number of positions at the end of window w that no earlier window of the
 * epoch has predicted.  With stride < context and LOADER_SEQUENTIAL, scoring
 * only these scores every token once, with at least context - stride tokens
 * before it (except in window 0).
 */
int64_t loader_fresh(const struct loader *, int64_t w);
