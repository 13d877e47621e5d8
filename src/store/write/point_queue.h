#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "store/format/info.h"
#include "store/format/key.h"
#include "store/format/metric.h"

/*
 * point_queue - points, parameters and tags on their way to a run's writer
 *
 * Points are passed in blocks: the caller fills the last block of a list, and
 * the writer takes the list and returns the blocks.  There is nearly always a
 * block with room, so logging a point costs a look-up in a tree and a copy.
 * The lock is never held while a file is accessed.
 *
 * Callers fill at most `most` blocks.  If the writer is stuck for so long that
 * all are full, two neighbouring blocks are made one whenever a block is
 * needed, by dropping every second point of each key, from the oldest pair to
 * the newest, and there is a warning.  After that, only every second new point
 * is accepted, and so on, until the queue is empty again: what remains covers
 * the whole time evenly.
 */
enum { POINT_BLOCK = 2048, POINT_QUEUE_WAKE = 32 };

/* Instead of a key: retract what was logged after this step. */
#define POINT_QUEUE_REWIND UINT32_MAX

struct queued_point {
    uint32_t key; /* see point_queue_key() */
    struct metric_point point;
};

struct point_block {
    struct point_block *next;
    int n;
    struct queued_point item[POINT_BLOCK];
};

struct queued_text { /* a parameter or a tag */
    enum key_kind kind;
    char *key, *value;
};

struct queued_texts {
    struct queued_text *item;
    size_t n, room;
};

struct point_queue {
    const char *name; /* of the run, for messages */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* by the monotonic clock */
    int64_t fixed_ms;    /* what the clock says in tests, or -1 */
    struct point_block *first, *last, *spare;
    int n_blocks, n_spare, most;
    int wake_at;              /* blocks with which the writer is woken */
    struct point_block *thin; /* where points are dropped next */
    uint32_t stride;          /* one point of `stride` is accepted */
    struct queued_texts texts;
    int64_t dropped;              /* points that found no room */
    void *names;                  /* the keys, for tsearch() */
    struct point_queue_key **key; /* by number */
    size_t n_keys, key_room;
};

void point_queue_init(struct point_queue *, const char *name, int most);
void point_queue_clear(struct point_queue *);

/* For callers.  The points are of this many milliseconds ago. */
void point_queue_points(struct point_queue *, int64_t step, int64_t age_ms,
                        const struct run_point *, int n);
void point_queue_rewind(struct point_queue *, int64_t step);
void point_queue_text(struct point_queue *, enum key_kind, const char *key,
                      const char *value);

/* For the writer, with the lock held: take everything. */
struct point_block *point_queue_take(struct point_queue *,
                                     struct queued_texts *);
/* Put what has to wait back at the front, in order. */
void point_queue_put_back(struct point_queue *, struct point_block *);
/* For the writer, without the lock. */
void point_queue_recycle(struct point_queue *, struct point_block *);
const char *point_queue_key(struct point_queue *, uint32_t key);

void queued_texts_add(struct queued_texts *, struct queued_text);
void queued_texts_clear(struct queued_texts *);
