#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/info.h"
#include "store/format/key.h"
#include "store/format/metric.h"
#include "store/write/new_run.h"

/*
 * stored_run - write a run that is imported, or add to one that exists
 *
 *      struct run_conf c = { .root = "mlruns", .name = "old", ... };
 *      struct stored_run b;
 *
 *      if (stored_run_create(&b, &c, e) < 0)
 *          return -1;
 *      ret = stored_run_points(&b, "loss", points, n, e);
 *      ...
 *      return stored_run_end(&b, RUN_FINISHED, end_ms, ret, e);
 *
 * Readers do not see a new run until stored_run_end(), or staging_flush() of
 * the batch that was set after stored_run_create(), has moved it to its place;
 * if something failed before (ret < 0), it is removed.  With RUN_RUNNING the
 * run stays open for others to write: readers consider it running as long as
 * its keeper lives or, if none was set, for a day after the last
 * stored_run_beat().  stored_run_open() is for a run that exists;
 * stored_run_close() frees what it holds.
 */
struct stored_run {
    char *folder, *place; /* of the run; place: where a new one will be */
    struct arena mem;
    struct meta meta;
    struct key_files files;
    struct staging_batch *batch; /* of new runs that appear later, or NULL */
    int64_t keeper; /* a process that touches the attempt's file, or 0 */
};

int stored_run_create(struct stored_run *, const struct run_conf *,
                      struct err *);
int stored_run_open(struct stored_run *, const char *run_folder, struct err *);
void stored_run_close(struct stored_run *);

int stored_run_points(struct stored_run *, const char *key,
                      const struct metric_point *, size_t n, struct err *);
/* A parameter that already has another value is ERR_USAGE. */
int stored_run_param(struct stored_run *, const char *key, const char *value,
                     struct err *);
/* NULL removes the tag, if it exists. */
int stored_run_tag(struct stored_run *, const char *key, const char *value,
                   struct err *);
int stored_run_artifact(struct stored_run *, const char *name, const void *data,
                        size_t n, struct err *);
/* Give an artifact another name; folders that become empty are removed. */
int stored_run_move_artifact(struct stored_run *, const char *from,
                             const char *to, struct err *);

/* Reset the heartbeat: the run is still alive. */
int stored_run_beat(struct stored_run *, struct err *);
/* Move the run to another experiment, which is created if need be. */
int stored_run_move(struct stored_run *, const char *root,
                    const char *experiment, struct err *);
/* Write the status and close.  `ret` is what the calls before returned; if it
 * is -1, so is the result. */
int stored_run_end(struct stored_run *, enum run_status, int64_t end_ms,
                   int ret, struct err *);
