#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdint.h>

#include "common/err.h"
#include "store/run.h"
#include "store/tfevents.h"

/*
 * writer - the thread that brings a run's points, parameters and tags to disk
 *
 * The caller leaves them in memory, under a mutex that is never held while a
 * file is touched.  The thread takes what is there `flush_secs` after the last
 * time, or sooner when there is much of it.  What cannot be written stays, in
 * order, and is tried again, at growing intervals up to half a minute; the
 * first failure is warned of once.
 *
 * What waits takes no more memory than conf.memory.  Beyond it points are
 * thinned out, as point_queue.h says, which is warned of once too; how many
 * were given up is the run's tag "gtrack.points_dropped", and is an error at
 * the end.
 *
 * Points are told to an event file of TensorBoard's, too, if one is given; the
 * writer closes it.  Of what cannot be written there nothing is kept.
 */
#define WRITER_DROPPED "gtrack.points_dropped"

struct writer;

struct writer_conf {
    const char *run;  /* the run's folder */
    const char *name; /* for words */
    double flush_secs;
    int attempt;
    int64_t memory; /* bytes that may wait; 0: see run.h */
    struct tfevents *events; /* or NULL */
    /* Called from the thread with each flush: the heartbeat. */
    void (*beat)(void *arg);
    void *arg;
};

int writer_start(struct writer **, const struct writer_conf *, struct err *);

void writer_points(struct writer *, int64_t step, const struct run_point *,
                   int n);
void writer_rewind(struct writer *, int64_t step);
void writer_param(struct writer *, const char *key, const char *value);
void writer_tag(struct writer *, const char *key, const char *value);

/* Wait until all that was handed over so far has been tried; -1 if something
 * is still not written. */
int writer_flush(struct writer *, struct err *);
/* The same, with patience, then the end of the thread; frees all.  -1 says
 * what was lost. */
int writer_stop(struct writer *, struct err *);

#endif
