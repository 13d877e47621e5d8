#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * metric_append - add points to the file of a metric (metric.h)
 *
 * Lines are appended whole, many in one write(2), and no write crosses the end
 * of a page: a line that would do so is widened, with zeros before its time, to
 * end exactly there.  The kernel makes the bytes of one page visible at once,
 * and a process is killed only between pages, so no reader ever sees part of a
 * line, and none is left behind.  If the disk is full, the part of a line that
 * still fitted is removed.
 */
struct metric_point {
    int64_t ms, step;
    double value;
};

/* Give a point that equals the last one in step, value and time the next
 * millisecond: a database of MLflow's does not accept a point twice, and its
 * migration would fail.  False if that is more than a second after its time:
 * the point tells nothing and is to be left out. */
bool metric_make_distinct(struct metric_point *,
                          const struct metric_point *last);

/* Append points; *done becomes the number that are in the file, also on
 * failure.  A torn last line, left by a killed writer, is removed first.  A new
 * file appears with its first points, because MLflow fails on an empty one;
 * until then its name begins with `temp`, on the same file system and where no
 * reader looks. */
int metric_append(const char *path, const char *temp,
                  const struct metric_point *, size_t n, size_t *done,
                  struct err *);

/* Remove a torn last line; *size becomes the length of the file. */
int metric_repair(const char *path, int64_t *size, struct err *);
