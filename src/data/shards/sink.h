#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/sha256.h"
#include "data/corpus/clean.h"
#include "data/corpus/corpus.h"
#include "data/shards/shard.h"

/*
 * sink - write tokens to numbered shards, and resume after a crash
 *
 *      sink_open(&s, &conf, &state, e);        state: where to continue
 *      while (more) {
 *          sink_add(s, subset, ids, n, e);
 *          if (sink_due(s))
 *              sink_save_state(s, &state, e);
 *      }
 *      sink_close(s, e);
 *
 * A shard is called PREFIX_SUBSET_000000.bin, or PREFIX_000000.bin if the
 * subset has no name.  Without a limit on its tokens there is one shard per
 * subset, and it has no number.  An incomplete shard has the suffix .part, so a
 * glob of shards finds only complete ones.
 *
 * PREFIX.state holds the progress: the position in the input, and the number of
 * ids in each incomplete shard.  sink_open() reads it and checks that it
 * belongs to the same work (conf.work, a hash of everything that decides the
 * result). It truncates the shards accordingly and returns the state; the
 * caller continues from there, and the shards become the same as without
 * interruption. sink_close() removes the file.  While a sink is open,
 * PREFIX.state.lock and PREFIX_SUBSET.state.lock are locked, and so are the
 * incomplete shards: another sink that would write the same files is refused.
 */
enum subset { SUBSET_VAL, SUBSET_TRAIN, SUBSET_TEST, SUBSETS };

struct sink_conf {
    const char *prefix;
    const char *subset[SUBSETS]; /* names; NULL: there is no such subset */
    bool first_shard; /* everything is added to SUBSET_TRAIN, but its first
                       * shard is named as SUBSET_VAL */
    enum shard_format format;
    int width;
    int64_t shard_tokens; /* 0: one shard, without a number */
    const char *work;     /* NULL: cannot be resumed */
    double mark_every;    /* seconds between two states */
};

struct sink_state {
    struct corpus_place place;
    int64_t documents, bad, text, tokens; /* so far; bad lines */
    int64_t dropped[CLEAN_RULES];         /* documents or lines, by rule */
    int subset;                           /* of an incomplete document */
};

struct sink;

int sink_open(struct sink **, const struct sink_conf *, struct sink_state *,
              struct err *);
int sink_add(struct sink *, int subset, const void *ids, size_t n,
             struct err *);
bool sink_resumable(const struct sink *);
bool sink_due(const struct sink *); /* is it time to save the state? */
int sink_save_state(struct sink *, const struct sink_state *, struct err *);

/* Add n ids of a shard from number `at` on. */
int sink_add_shard(struct sink *, int subset, const struct shard *, int64_t at,
                   int64_t n, struct err *);
/* Copy the shards of all parts, and add them to the state.  A part is called
 * PARTS1 and so on, and all have the hash in their locks, which gdata encode
 * wrote.  It is ERR_STOPPED after a signal, and cannot be resumed. */
int sink_join(struct sink *, const char *parts, const char *hash,
              struct sink_state *, struct err *);

/* Finish the shards, and remove older ones with higher numbers. */
int sink_close(struct sink *, struct err *);
/* The n shards, after sink_close().  A numbered shard of this run is hashed by
 * a thread while the next is written. */
struct sink_file {
    char *path;
    int64_t tokens, size;
    char sha256[SHA256_TEXT]; /* or "" */
    pthread_t thread;
    bool is_hashed; /* by the thread */
};
struct sink_file *const *sink_files(struct sink *, size_t *n);
/* The path of a shard; the caller frees it. */
char *sink_path(const struct sink_conf *, int subset, int64_t number);

/* Shards that are not finished stay if a state was saved, so that a later run
 * can resume; otherwise they are removed. */
void sink_free(struct sink *);
