#ifndef STORE_WRITE_BULK_H
#define STORE_WRITE_BULK_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/info.h"
#include "store/format/key.h"
#include "store/format/metric_append.h"
#include "store/write/new_run.h"

/*
 * bulk - write a run that is imported, or add to one that exists
 *
 *      struct new_run_conf c = { .root = "mlruns", .name = "old", ... };
 *      struct bulk b;
 *
 *      if (bulk_new(&b, &c, e) < 0)
 *          return -1;
 *      ret = bulk_points(&b, "loss", points, n, e);
 *      ...
 *      return bulk_end(&b, RUN_FINISHED, end_ms, ret, e);
 *
 * Readers do not see a new run until bulk_end() has moved it to its place; if
 * something failed before (ret < 0), it is removed.  With RUN_RUNNING the run
 * stays open for others to write: no process stands for it, and readers
 * consider it running for a day after the last bulk_beat().  bulk_open() is for
 * a run that exists; bulk_close() frees what it holds.
 */
struct bulk {
    char *folder, *place; /* of the run; place: where a new one will be */
    struct arena mem;
    struct meta meta;
    struct key_files files;
};

int bulk_new(struct bulk *, const struct new_run_conf *, struct err *);
int bulk_open(struct bulk *, const char *run_folder, struct err *);
void bulk_close(struct bulk *);

int bulk_points(struct bulk *, const char *key, const struct point *, size_t n,
                struct err *);
/* A parameter that already has another value is ERR_USAGE. */
int bulk_param(struct bulk *, const char *key, const char *value, struct err *);
/* NULL removes the tag, if it exists. */
int bulk_tag(struct bulk *, const char *key, const char *value, struct err *);
/* The path for an artifact, its folders made; the caller frees it. */
char *bulk_artifact(struct bulk *, const char *name, struct err *);

/* Reset the heartbeat: the run is still alive. */
int bulk_beat(struct bulk *, struct err *);
/* Move the run to another experiment, which is created if need be. */
int bulk_move(struct bulk *, const char *root, const char *experiment,
              struct err *);
/* Write the status and close.  `ret` is what the calls before returned; if it
 * is -1, so is the result. */
int bulk_end(struct bulk *, enum run_status, int64_t end_ms, int ret,
             struct err *);

#endif
