#pragma once

#include <stdint.h>

#include "common/err.h"
#include "store/format/tfevents.h"
#include "store/write/point_queue.h"

/*
 * writer - the thread that writes a run's points, parameters and tags
 *
 * The thread takes what is in the queue `flush_secs` after the last time,
 * earlier if that is much, and at once after a pause.  What cannot be written
 * is kept, in order, and tried again at growing intervals of up to half a
 * minute; the first failure is warned of.
 *
 * The queue takes no more memory than conf.memory.  Beyond that, points are
 * dropped as point_queue.h describes, which is warned of too; their number is
 * the run's tag "gtrack.points_dropped", and is reported as an error at the
 * end.
 *
 * If an event file of TensorBoard's is given, points are written to it as well,
 * and the writer closes it.  After a failure nothing more is written to it.
 */
struct writer;

struct writer_conf { /* pointers: from writer_start() to writer_stop() */
    struct point_queue *queue;
    const char *run;  /* the run's folder */
    const char *name; /* for messages */
    double flush_secs;
    int attempt;
    int64_t memory;          /* bytes that may wait; 0: see run.h */
    struct tfevents *events; /* or NULL */
    /* May it write?  If not, for good, what is logged is dropped. */
    int (*may_write)(void *arg, struct err *);
    void *arg;
};

int writer_start(struct writer **, const struct writer_conf *, struct err *);

/* Wait until the thread has tried to write everything so far; -1 if something
 * is not written. */
int writer_flush(struct writer *, struct err *);
/* Flush, several times if need be, end the thread and free everything; -1 if
 * something was lost. */
int writer_stop(struct writer *, struct err *);
