#ifndef DATA_CORPUS_CORPUS_IMPL_H
#define DATA_CORPUS_CORPUS_IMPL_H

#include <pthread.h>
#include <stdbool.h>

#include "data/corpus/corpus.h"
#include "data/corpus/corpus_files.h"
#include "data/corpus/source.h"

/*
 * corpus_impl - what the three files of the corpus share, and no one else uses
 *
 * corpus.c holds the queue and hands blocks out; corpus_feed.c is the thread
 * that fills them with whole lines, or with text up to a place where it may be
 * cut; corpus_docs.c finds the documents in a block.
 */
enum {
    BLOCKS_MAX = 64,
    SHOWN = 10, /* bad lines that are reported */
    MAX_LINE = 64 << 20,
    KEEP = 4 << 20,        /* a larger buffer is not kept */
    QUEUED_MAX = 16 << 20, /* bytes in the queue, where blocks are large */
};

struct corpus {
    struct corpus_conf conf;
    const char *field;
    size_t separator_len;
    struct corpus_files files;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct corpus_block *queue[BLOCKS_MAX]; /* a ring: n from first on */
    size_t first, n, queued; /* bytes in it */
    struct corpus_block *idle[BLOCKS_MAX];
    size_t idle_n, made, limit; /* blocks: idle, in being, allowed */
    int wake;                   /* readable when we are to stop */
    bool stop, ended, failed;
    struct err why;
    struct corpus_stats stats;
    size_t nul_file; /* files below were warned about */

    /* of the thread alone */
    struct source *source;
    int64_t taken_before; /* of the files before this one */
    int64_t seq;
    size_t cut_file; /* files below were warned about: no place to cut */
    char *rest; /* what the last block left over */
    size_t rest_n;
    struct corpus_place at; /* where the rest begins */
};

const char *corpus_shown_name(const char *file);     /* the name in messages */

/* Damage is reported here: 0 to go on without the line, or the rest of the
 * file; -1 if it is to be an error. */
int corpus_bad_line(struct corpus *, struct err *);
int corpus_bad_file(struct corpus *, int64_t line, struct err *);

/* An empty block, as soon as there is one; NULL when we are to stop. */
struct corpus_block *corpus_take_block(struct corpus *);
void corpus_queue_block(struct corpus *, struct corpus_block *);
void corpus_fail(struct corpus *, const struct err *);

void *corpus_feed(void *corpus);                /* the thread */
int corpus_find_docs(struct corpus *, struct corpus_block *, struct err *);

#endif
