#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/info.h"

/*
 * metric - read the file of one metric, and add points to it
 *
 *      TIME VALUE STEP
 *
 * There is one line for each point.  A last line without its newline is
 * ignored, as it may still be written.  Any other line that is not a point is
 * counted and skipped.
 *
 * Lines are appended whole, and no write crosses the end of a page, for which a
 * line is widened (gtrack-store(5), Metrics): so no reader ever sees part of a
 * line, and a killed process leaves none behind.
 */
struct metric_point {
    int64_t ms, step;
    double value;
};

struct metric_scan {
    int64_t size;          /* bytes of whole lines */
    int64_t at;            /* of the line whose point is being handed over */
    int64_t bad, bad_line; /* lines that are not points; the first one */
    bool torn;             /* something follows the last newline */
    int64_t dropped;       /* points that a rewind retracted */
};

/* Called with points in the order of the file. */
typedef void metric_fn(void *arg, const struct metric_point *);

/* A part of a file: the lines that begin in these bytes. */
struct metric_part {
    int64_t from, to;
};

/* What is read: the points of a part that no rewind retracted. */
struct metric_file {
    const char *path, *key;
    const struct rewind_list *rewinds; /* NULL: all points */
    const struct metric_part *part;    /* NULL: the whole file */
    enum path_links links;
    const char *run; /* a folder that begins the path, of which no link may be
                      * followed; or NULL */
};

int metric_read(const struct metric_file *, metric_fn *, void *arg,
                struct metric_scan *, struct err *);

/* Points are summed up one by one.  The sum's key is not set. */
struct metric_summing {
    struct metric_sum *out;
    int64_t numbers; /* points that are not NaN */
    int64_t above_zero;
    double total, inverse; /* of the former, and of the latter */
};

void metric_summing_begin(struct metric_summing *, struct metric_sum *out);
void metric_summing_add(void *summing, const struct metric_point *);
void metric_summing_end(struct metric_summing *);
/* Sum up all of these points. */
int metric_sum_up(struct metric_sum *, const struct metric_file *,
                  struct metric_scan *, struct err *);

/* One line, without its newline. */
bool metric_line(const char *line, const char *end, struct metric_point *);

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

/*
 * rewind - the points that a resumed run retracted
 *
 *      RUN/.gtrack/rewinds
 *
 * An attempt that resumes at an earlier step retracts what came after that
 * step, by a block in this file, which gtrack-store(5) describes.  A block
 * leaves out what an earlier one retracts.
 *
 * A list has the places where files were cut, and back to which step that or a
 * later rewind went: by key, and for one key in the order in which it happened.
 */
struct rewind_list {
    struct rewind_cut {
        const char *key;
        size_t place; /* in that order */
        int64_t offset, step;
    } * cut;
    size_t n;
};

/* The cuts of one metric, or of all if the key is NULL; none if there is no
 * such file, and -1 if it cannot be read. */
int rewinds_load(struct rewind_list *, struct arena *, const char *run,
                 const char *key, enum path_links, struct err *);
/* Those of one metric, n of them. */
const struct rewind_cut *rewind_cuts(const struct rewind_list *,
                                     const char *key, size_t *n);
/* Retract all points so far of steps after this one; ms is the time now. */
int rewind_add(const char *run, int attempt, int64_t step, int64_t ms,
               struct err *);
