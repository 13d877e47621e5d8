#pragma once

#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * thread_times - what each thread did, from a file of `gtrain bench --timeline`
 *
 *      struct thread_times t = { 0 };
 *
 *      if (thread_times_load(&t, path, e) < 0) ...
 *      thread_times_free(&t);
 *
 * The file is JSON in Chrome's Trace Event Format.  Events other than slices of
 * time and names of threads are ignored; of a slice that begins before the one
 * before it in the same thread has ended, the rest counts.  Times are in
 * seconds since the first slice.
 */
enum { THREAD_TIMES_THREADS = 1024, THREAD_TIMES_NAMES = 1024 }; /* at most */

struct thread_times_slice {
    int thread, name;
    double start, end;
    double faults; /* page faults */
};

struct thread_times {
    struct arena mem;
    const char **thread; /* names, in the order of the file */
    const char **name;   /* of operations, "waiting" and "no core" */
    int n_threads, n_names;
    struct thread_times_slice *slice; /* by thread, then by time */
    size_t n, room;
};

int thread_times_load(struct thread_times *, const char *path, struct err *);
/* Parse a text, which is changed; errors name the path. */
int thread_times_parse(struct thread_times *, char *text, size_t n,
                       const char *path, struct err *);
void thread_times_free(struct thread_times *);
