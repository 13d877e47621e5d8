#ifndef TRACK_IMPORT_IMPORT_H
#define TRACK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "store/metric.h"
#include "store/run.h"

/*
 * intake - a run from elsewhere, gathered before it is written
 *
 *      struct intake in;
 *
 *      intake_init(&in, "main.log");
 *      intake_point(&in, "val/loss", step, ms, loss);
 *      ...
 *      ret = intake_write(&in, root, experiment, &added, e);
 *      intake_clear(&in);
 *
 * `source` says where it came from; a run in the store that came from the same
 * source is the same run, and is not written again.
 */
struct intake_metric {
    char *key;
    struct point *point;
    size_t n, room;
    int64_t ms, shift; /* the last time as it was given, and what was added */
};

struct intake_pair {
    char *key, *value;
    bool tag;
};

struct intake {
    char *source, *name, *experiment, *user;
    int64_t start_ms, end_ms;
    enum run_status status;
    struct intake_metric *metric;
    size_t n_metrics, room_metrics;
    struct intake_pair *pair;
    size_t n_pairs, room_pairs;
};

void intake_init(struct intake *, const char *source);
void intake_clear(struct intake *);
void intake_name(struct intake *, const char *name);
void intake_experiment(struct intake *, const char *name);
void intake_point(struct intake *, const char *key, int64_t step, int64_t ms,
                  double value);
/* Forget points at STEP and after of a log that a resumed job went on with. */
void intake_rewind(struct intake *, int64_t step);
/* The last value for a key counts. */
void intake_param(struct intake *, const char *key, const char *value);
void intake_tag(struct intake *, const char *key, const char *value);
size_t intake_points(const struct intake *);

/* Write it as a run, unless it is there; *added says which.  `experiment`
 * overrides what the intake says, NULL does not. */
int intake_write(struct intake *, const char *root, const char *experiment,
                 const char *name, bool *added, struct err *);

/* The readers: each fills intakes and writes them.  `path` is a file, but for
 * those that take a folder. */
struct import_job {
    const char *path, *experiment, *name;
    const char *root; /* NULL: only read, and count */
    size_t runs, points, there;
};

typedef int import_fn(struct import_job *, struct err *);

import_fn import_mlflow, import_tensorboard, import_wandb, import_csv,
    import_jsonl, import_llmc, import_nanogpt;

/* Write an intake and count it. */
int import_done(struct import_job *, struct intake *, struct err *);
/* When the file was last written, for logs that tell no time. */
int64_t import_mtime(const char *path);

#endif
