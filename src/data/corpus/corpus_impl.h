#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "data/corpus/corpus.h"
#include "data/corpus/source/source.h"
#include "data/corpus/where.h"

/*
 * corpus_impl - the inside of a corpus
 *
 * corpus.c has the queue of blocks and hands them out; corpus_feed.c is the
 * thread that fills them, with complete lines or with text up to a boundary;
 * corpus_docs.c finds the documents in a block.
 */
enum {
    BLOCKS_MAX = 64,
    SHOWN = 10, /* bad lines that are reported */
    MAX_LINE = 64 << 20,
    KEEP = 4 << 20,        /* larger buffers are freed */
    QUEUED_MAX = 16 << 20, /* bytes in the queue if blocks are large */
};

struct corpus {
    struct corpus_conf conf;
    const char *field;
    struct where *where; /* or NULL */
    size_t separator_len;
    struct corpus_files files;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct corpus_block *queue[BLOCKS_MAX]; /* a ring of n blocks */
    size_t first, n, queued;                /* bytes in it */
    struct corpus_block *idle[BLOCKS_MAX];
    size_t idle_n, made, limit; /* blocks: idle, allocated, allowed */
    int wake; /* an eventfd: readable when the thread must stop */
    atomic_bool stop;
    bool ended, failed;
    int finding; /* blocks whose documents are being counted */
    struct err why;
    struct corpus_stats stats;
    size_t nul_file; /* earlier files have had their warning */

    /* used by the thread alone */
    struct source *source;
    int64_t taken_before; /* of the files before this one */
    int64_t seq;
    size_t long_file; /* earlier files have had their warning */
    char *rest;       /* of the last block, after its boundary */
    size_t rest_n;
    struct corpus_place at; /* the position of the rest */
};

const char *corpus_shown_name(const char *file); /* in messages */

/* Report a bad line or file: 0 to skip it, or its rest; -1 if it is an error.
 */
int corpus_bad_line(struct corpus *, struct err *);
int corpus_bad_file(struct corpus *, int64_t line, struct err *);

/* Wait for an empty block; NULL if the thread must stop. */
struct corpus_block *corpus_take_block(struct corpus *);
void corpus_queue_block(struct corpus *, struct corpus_block *);
void corpus_fail(struct corpus *, const struct err *);

void *corpus_feed(void *corpus); /* the thread */
int corpus_find_docs(struct corpus *, struct corpus_block *, struct err *);
