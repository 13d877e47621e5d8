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
 * put - write to a run from outside: what is imported, what is corrected
 *
 *      struct put_conf c = { .root = "mlruns", .name = "old", ... };
 *      struct put p;
 *
 *      if (put_new(&p, &c, e) < 0)
 *          return -1;
 *      ret = put_points(&p, "loss", points, n, e);
 *      ...
 *      return put_end(&p, RUN_FINISHED, end_ms, ret, e);
 *
 * A new run is seen by readers only once put_end() has moved it to its place;
 * when something failed before (ret < 0) it is removed again.  put_open() is
 * for a run that is there: put_close() then frees what it holds.
 */
struct put_conf {
    const char *root, *experiment, *name, *user, *parent, *source;
    int64_t start_ms;
    bool running; /* others will put to it: no process is alive
                                 * for it, and it is not stale for a day */
};

struct put {
    char *folder, *place; /* of the run; place: where a new one will be */
    char *id, *name;
    bool fresh;
    struct arena mem;
    struct meta *meta;     /* store/meta.h */
    struct names names[3]; /* metrics, params, tags */
};

int put_new(struct put *, const struct put_conf *, struct err *);
int put_open(struct put *, const char *run_folder, struct err *);
void put_close(struct put *);

int put_points(struct put *, const char *key, const struct point *, size_t n,
               struct err *);
/* Another value for a parameter that is there is ERR_USAGE. */
int put_param(struct put *, const char *key, const char *value, struct err *);
/* NULL takes the tag away; one that is not there is no error. */
int put_tag(struct put *, const char *key, const char *value, struct err *);
/* The path for an artifact, its folders made; the caller frees it. */
char *put_artifact(struct put *, const char *name, struct err *);

/* The run is still alive: reset its heartbeat. */
int put_beat(struct put *, struct err *);
/* Another experiment's folder becomes its parent. */
int put_move(struct put *, const char *root, const char *experiment,
             struct err *);
/* Write the status and close; ret is what came before, and is returned. */
int put_end(struct put *, enum run_status, int64_t end_ms, int ret,
            struct err *);

/* A stand-in for the attempt of a run written by several processes. */
enum { PUT_BEAT_MS = 8 * 3600 * 1000 };

#endif
