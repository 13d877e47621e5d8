#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "store/format/info.h"
#include "store/format/metric_append.h"
#include "store/format/rewind.h"

/*
 * metric - read the file of one metric
 *
 *      TIME VALUE STEP
 *
 * There is one line for each point.  A last line without its newline is
 * ignored, as it may still be written.  Any other line that is not a point is
 * counted and skipped.
 */
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
    double total;
};

void metric_summing_begin(struct metric_summing *, struct metric_sum *out);
void metric_summing_add(void *summing, const struct metric_point *);
void metric_summing_end(struct metric_summing *);
/* Sum up all of these points. */
int metric_sum_up(struct metric_sum *, const struct metric_file *,
                  struct metric_scan *, struct err *);

/* One line, without its newline. */
bool metric_line(const char *line, const char *end, struct metric_point *);
