#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/dev.h"

/*
 * timeline - what each thread of the CPU device does in each operation
 *
 *      struct timeline *t = timeline_new(&dev);
 *
 *      timeline_start(t);
 *      ... the operation ...
 *      timeline_stop(t, "linear");
 *      ret = timeline_write(t, "step.json", e);
 *      timeline_free(t);
 *
 * The operating system counts, for each thread, the time for which it ran, the
 * time for which it was ready but had no core, and its page faults.  They are
 * read before and after an operation, so the kernels need no code for this.
 * During the rest of an operation a thread waited for the others, or had
 * nothing to do.  A thread spins for up to a tenth of a millisecond before it
 * sleeps, which counts as running.
 */
struct timeline_use {
    double ran, queued; /* seconds */
    int64_t faults;
};

struct timeline_slice {
    const char *name;
    double start, end;        /* seconds since the first slice began */
    struct timeline_use *use; /* of each thread */
};

struct timeline {
    int threads;
    struct timeline_thread *thread;
    struct timeline_slice *slice;
    size_t n, room;
};

struct timeline *timeline_new(const struct dev *);
void timeline_start(struct timeline *);
void timeline_stop(struct timeline *, const char *name); /* name is kept */

/*
 * Write the slices in the Trace Event Format of Chrome, which about:tracing
 * and Perfetto show: https://chromium.googlesource.com/catapult,
 * tracing/README.md.
 */
int timeline_write(const struct timeline *, const char *path, struct err *);
void timeline_free(struct timeline *);
