#ifndef DATA_SHARDS_SINK_H
#define DATA_SHARDS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/corpus.h"
#include "data/shards/shard.h"

/*
 * sink - tokens into numbered files, so that a crash loses nothing
 *
 *      sink_open(&s, &conf, &mark, e);         mark: where to go on
 *      while (more) {
 *          sink_add(s, split, ids, n, e);
 *          if (sink_due(s))
 *              sink_save_state(s, &mark, e);
 *      }
 *      sink_close(s, e);
 *
 * A file is called PREFIX_SPLIT_000000.bin, without the split's name if that is
 * empty; raw files are one a split unless their size is given, and have no
 * number.  It grows under that name with .part behind and gets its name when
 * it is full, so a glob of whole files never sees half of one.
 *
 * PREFIX.state holds the last mark: what of the input was done, and how many
 * ids each unfinished file had.  sink_open() finds it, checks that it is about
 * the same work (conf.work, a hash of all that decides the result), cuts the
 * files back to it and returns it in *mark; the caller goes on from there and
 * comes to the same bytes.  sink_close() removes it.
 */
enum { SINK_SUBSETS = 3 };

struct sink_conf {
    const char *prefix;
    const char *split[SINK_SUBSETS]; /* names; NULL: there is no such */
    bool first_shard; /* all goes to split 1, but its first file is
                                 * called split 0's */
    enum shard_format format;
    int width;
    int64_t shard_tokens; /* 0: one file, without a number */
    const char *work;     /* hex; NULL: never resumed */
    double mark_every;    /* seconds: so much work can be lost */
};

struct sink_state {
    struct corpus_place place;
    int64_t documents, text, tokens; /* so far */
    int split; /* of the document that is not at its end */
};

struct sink;

int sink_open(struct sink **, const struct sink_conf *, struct sink_state *,
              struct err *);
int sink_add(struct sink *, int split, const void *ids, size_t n, struct err *);
bool sink_due(const struct sink *); /* the last mark is some time ago */
int sink_save_state(struct sink *, const struct sink_state *, struct err *);

/* Finish the files.  Older ones with higher numbers are removed. */
int sink_close(struct sink *, struct err *);
/* Give up; what was marked stays, to be gone on with, else nothing does. */
void sink_abandon(struct sink *);

/* What was written, once closed: file i of n. */
struct sink_file {
    char *path;
    int64_t tokens;
};
const struct sink_file *sink_files(const struct sink *, size_t *n);
void sink_free(struct sink *);

#endif
