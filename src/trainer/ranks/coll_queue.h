#pragma once

#include <pthread.h>

#include "trainer/ranks/coll.h"

/*
 * coll_queue - the thread that carries out collectives on the host
 *
 *      if (coll_queue_open(c, e) < 0)
 *          return -1;
 *      coll_queue_push(c, &request);       returns at once
 *      coll_queue_wait_for(c, c->begun);
 *      if (coll_queue_check(c, c->begun, e) < 0)   waits, too
 *          return -1;
 *      coll_queue_close(c);
 *
 * Requests are carried out one after another by coll_host_run().  After the
 * first failure the others are dropped.  Between requests the thread asks
 * several times a second whether a rank has died; for coll_type.watch_always,
 * another thread does.  A job of one rank has no queue: then these functions do
 * nothing.
 */
struct coll_request {
    enum {
        REQUEST_SUM,
        REQUEST_REDUCE,
        REQUEST_GATHER,
        REQUEST_COLLECT,
        REQUEST_BCAST,
        REQUEST_SUM_F64,
        REQUEST_MAX
    } kind;
    void *out;
    void *in;        /* reduce: is changed */
    const void *own; /* collect */
    int64_t n;       /* elements, or bytes to broadcast */
    const int64_t *bounds;
    size_t size; /* of an element */
    int root;    /* of a broadcast */
    bool set;    /* reduce: set the result instead of adding to it */
};

struct coll_queue {
    pthread_t thread, watch;
    bool running, watching; /* the threads */
    pthread_mutex_t lock;
    pthread_cond_t todo, done, stopped;
    struct coll_request *request; /* a ring: the oldest at `first` */
    size_t first, n, room;
    uint64_t finished; /* requests */
    bool stop;
    bool failed;   /* err says why */
    bool reported; /* by coll_queue_check() */
    coll_death_fn *on_death;
    void *death_arg;
    double failed_at;
    struct err err;

    /* for coll_host_run() */
    struct coll_part *part;
    int64_t *bounds;
    const float **from;
    void *buffer; /* see coll_queue_buffer() */
    size_t buffer_bytes;
};

int coll_queue_open(struct coll *, struct err *);
void coll_queue_close(struct coll *); /* also after a failed open */
void coll_queue_push(struct coll *, const struct coll_request *);
void coll_queue_wait_for(struct coll *, uint64_t begun);
int coll_queue_check(struct coll *, uint64_t begun, struct err *);

/* Memory for a call, at least `bytes`; valid until the next call of this
 * function.  NULL: there is none. */
void *coll_queue_buffer(struct coll *, size_t bytes, struct err *);

/* Begin a call on the memory of the host; see coll.h. */
void coll_host_sum(struct coll *, float *x, int64_t n);
void coll_host_reduce(struct coll *, float *acc, float *in,
                      const int64_t *bounds, bool set);
void coll_host_gather(struct coll *, void *data, const int64_t *bounds,
                      size_t size);
/* Carry out a call, by exchanges between the ranks. */
int coll_host_run(struct coll *, const struct coll_request *, struct err *);
