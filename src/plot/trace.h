#ifndef PLOT_TRACE_H
#define PLOT_TRACE_H

#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * trace - what each thread did, from a file of `gtrain bench --timeline`
 *
 *      struct trace t = TRACE_INIT;
 *
 *      if (trace_load(&t, path, e) < 0) ...
 *      trace_free(&t);
 *
 * The file is JSON in Chrome's Trace Event Format.  Events other than slices of
 * time and names of threads are ignored; of a slice that begins before the one
 * before it in the same thread has ended, the rest counts.  Times are in
 * seconds since the first slice.
 */
enum { TRACE_THREADS = 1024, TRACE_NAMES = 1024 }; /* at most */

struct trace_slice {
    int thread, name;
    double start, end;
    double faults; /* page faults */
};

struct trace {
    struct arena mem;
    const char **thread; /* names, in the order of the file */
    const char **name;   /* of operations, "waiting" and "no core" */
    int n_threads, n_names;
    struct trace_slice *slice; /* by thread, then by time */
    size_t n, room;
};

#define TRACE_INIT                                                             \
 {                                                                             \
  ARENA_INIT, NULL, NULL, 0, 0, NULL, 0, 0                                     \
 }

int trace_load(struct trace *, const char *path, struct err *);
/* The same of a text, which is changed; errors name the path. */
int trace_parse(struct trace *, char *text, size_t n, const char *path,
                struct err *);
void trace_free(struct trace *);

#endif
