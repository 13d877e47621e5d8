#ifndef STORE_METRIC_H
#define STORE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "store/attempt.h"

/*
 * metric - the file of one metric: "time value step", one line a point
 *
 * Writing.  Lines are appended whole, many in one write(2), and no write goes
 * over the end of a page: a line that would is widened, by zeros before its
 * time, to end just there.  The kernel shows a page's worth of bytes at once
 * and stops between pages when a process is killed, so no reader ever sees
 * half a line, and none is left behind.  What a full disk cut off is taken
 * back.
 *
 * Reading.  A last line without its newline is not there yet.  Any other line
 * that is no point is counted and passed over.
 */
struct point {
    int64_t ms, step;
    double value;
};

/* A point that would be the last one again, in step, value and time, gets the
 * next millisecond: a database of MLflow's takes no point twice, and its
 * migration ends there. */
void metric_tell_apart(struct point *, const struct point *last);

/*
 * Append points; *done says how many are in the file, whole, also when it
 * fails.  A torn last line of a dead writer is taken off first.  A new file
 * appears with its first points: MLflow fails on an empty one.  Until then it
 * is built beside `temp`, on the same file system and where no reader looks.
 */
int metric_append(const char *path, const char *temp, const struct point *,
                  size_t n, size_t *done, struct err *);

/* Take off a torn last line; *size is the length of the file then. */
int metric_repair(const char *path, int64_t *size, struct err *);

struct metric_scan {
    int64_t size;          /* bytes of whole lines */
    int64_t bad, bad_line; /* lines that are no points; the first one */
    bool torn;             /* something stands after the last newline */
    int64_t dropped;       /* points that a rewind took back */
};

/* Called with points in the order of the file. */
typedef void metric_fn(void *arg, const struct point *);

/* Read all points that no rewind retracted (NULL: all points). */
int metric_read(const char *path, const char *key,
                const struct rewind_list *rewinds, metric_fn *, void *arg,
                struct metric_scan *, struct err *);

/* One line, without its newline. */
bool metric_line(const char *line, const char *end, struct point *);

#endif
