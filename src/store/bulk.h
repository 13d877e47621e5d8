#ifndef STORE_BULK_H
#define STORE_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "store/metric.h"
#include "store/names.h"
#include "store/run.h"

/*
 * bulk - write a run that is imported, or correct one that exists
 *
 *      struct bulk_conf c = { .root = "mlruns", .name = "old", ... };
 *      struct bulk p;
 *
 *      if (bulk_new(&p, &c, e) < 0)
 *          return -1;
 *      ret = bulk_points(&p, "loss", points, n, e);
 *      ...
 *      return bulk_end(&p, RUN_FINISHED, end_ms, ret, e);
 *
 * A new run is seen by readers only once bulk_end() has moved it to its place;
 * when something failed before (ret < 0) it is removed again.  bulk_open() is
 * for a run that is there: bulk_close() then frees what it holds.
 */
struct bulk_conf {
    const char *root, *experiment, *name, *user, *parent, *source;
    int64_t start_ms;
    bool running; /* others will put to it: no process is alive
                                 * for it, and it is not stale for a day */
};

struct bulk {
    char *folder, *place; /* of the run; place: where a new one will be */
    char *id, *name;
    bool fresh;
    struct arena mem;
    struct meta *meta;     /* store/meta.h */
    struct names names[3]; /* metrics, params, tags */
};

int bulk_new(struct bulk *, const struct bulk_conf *, struct err *);
int bulk_open(struct bulk *, const char *run_folder, struct err *);
void bulk_close(struct bulk *);

int bulk_points(struct bulk *, const char *key, const struct point *, size_t n,
                struct err *);
/* Another value for a parameter that is there is ERR_USAGE. */
int bulk_param(struct bulk *, const char *key, const char *value, struct err *);
/* NULL takes the tag away; one that is not there is no error. */
int bulk_tag(struct bulk *, const char *key, const char *value, struct err *);
/* The path for an artifact, its folders made; the caller frees it. */
char *bulk_artifact(struct bulk *, const char *name, struct err *);

/* The run is still alive: reset its heartbeat. */
int bulk_beat(struct bulk *, struct err *);
/* Another experiment's folder becomes its parent. */
int bulk_move(struct bulk *, const char *root, const char *experiment,
              struct err *);
/* Write the status and close; ret is what came before, and is returned. */
int bulk_end(struct bulk *, enum run_status, int64_t end_ms, int ret,
             struct err *);

/* A stand-in for the attempt of a run written by several processes. */
enum { PUT_BEAT_MS = 8 * 3600 * 1000 };

#endif
