#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "common/sha256.h"
#include "store/format/info.h"

/*
 * chain - what a run had recorded at each of its checkpoints
 *
 *      RUN/artifacts/chain.txt
 *
 *      step 100 SUM        the checkpoint, and the SHA-256 of its weights
 *      SUM BYTES KEY       of the first BYTES bytes of a metric, whole lines
 *      SUM BYTES /FILE     of a parameter, or of a tag that training writes
 *                          once; only in the first link after it was written
 *      head SUM            of the head before and of these lines
 *
 * Metrics only grow, so a change of an earlier part shows: the bytes no longer
 * have their sum.  Who changes a sum, too, changes all heads from there on, and
 * the last head can be published.  The log names all heads, so it, too, shows
 * that a link was changed or removed.
 */

#define CHAIN_FILE "chain.txt"
#define CHAIN_TAG  "gtrack.chain" /* the last head */
/* What gtrain.log has before a head. */
#define CHAIN_LOG "the head of the chain is "

/* Add the lines of a checkpoint of the run in a folder to the text of its
 * chain, of which a torn end is removed.  The new head is that of the whole. */
int chain_add(struct buf *text, const char *run, int64_t step,
              const char *weights, char head[SHA256_TEXT], struct err *e);

/* Call the function with each part that is not what the chain says, and with
 * times of the run that are not those of its attempts and points. */
typedef void chain_fn(void *arg, const char *file, const char *what);
int chain_check(const struct run_info *, chain_fn *, void *arg, struct err *);
