#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "store/read/runs.h"
#include "store/write/new_run.h"

/*
 * import - runs that other tools recorded
 *
 *      struct import_run run;
 *
 *      import_run_init(&run, store_absolute("main.log"));
 *      import_run_point(&run, "val/loss", step, ms, loss);
 *      ...
 *      ret = import_run_end(&run, import, ret, e);
 *
 * A run is read as a whole before it is written.  `source` says where it comes
 * from: if the store has a run from the same source, it is the same run, and is
 * not written again.
 */
struct import {
    const char *path, *experiment, *name; /* NULL: as the file has them */
    const char *root;                     /* NULL: only read and count */
    int flags;           /* LOAD_LINKS to follow symbolic links, or 0 */
    size_t runs, points; /* how many were written */
    size_t existing;     /* runs that were in the store already */
    struct runs store;   /* its runs, when they were first asked for */
    void *known;         /* these and the new ones, by id and source */
    struct staging_batch batch;
};

/* Let the runs appear that were read, and free what import_run_end() has
 * kept. */
int import_close(struct import *, struct err *);

/* A reader: read a file, or for some a folder, and write its runs. */
typedef int import_fn(struct import *, struct err *);

import_fn import_mlflow, import_sqlite, import_tensorboard, import_wandb,
    import_csv, import_jsonl, import_llmc, import_nanogpt;

struct import_metric {
    char *key;
    struct metric_point *point;
    size_t n, room;
    int64_t ms, shift; /* the last time as it was given, and what was added */
};

struct import_pair {
    char *key, *value;
    bool is_tag;
};

/* An image or the like: where it belongs, and where it is. */
struct import_media {
    const char *kind; /* the folder of its artifact: "images" */
    int64_t step, ms;
    const char *ending;  /* of its name: ".png" */
    const char *from;    /* its path in import_run.files */
    const char *caption; /* or NULL */
};

/* An artifact that is made of one. */
struct import_file {
    char *name, *from; /* from: NULL for data */
    struct buf data;
};

/* Things of a kind that a run has and the store has no place for. */
struct import_left {
    char *what;
    size_t n;
};

struct import_run {
    char *source, *name, *experiment, *user;
    char *id; /* to keep; or NULL */
    int64_t start_ms, end_ms;
    int64_t deleted_ms; /* 0: it is not */
    enum run_status status;
    struct import_metric *metric;
    size_t n_metrics, room_metrics;
    struct import_pair *pair;
    size_t n_pairs, room_pairs;
    struct import_file *artifact;
    size_t n_artifacts, room_artifacts;
    struct import_left *left;
    size_t n_left, room_left;
    char *files;        /* a folder, whose files become artifacts; or NULL */
    const char *inside; /* links in it must not leave this; NULL: they may */
    char *output;       /* what it printed, unless the files have it; or NULL */
};

/* `source` belongs to the run from then on. */
void import_run_init(struct import_run *, char *source);
void import_run_clear(struct import_run *);
void import_run_name(struct import_run *, const char *name);
void import_run_experiment(struct import_run *, const char *name);
void import_run_point(struct import_run *, const char *key, int64_t step,
                      int64_t ms, double value);
/* Remove the points from this step on: the log was resumed there. */
void import_run_rewind(struct import_run *, int64_t step);
/* The last value of a key counts. */
void import_run_param(struct import_run *, const char *key, const char *value);
void import_run_tag(struct import_run *, const char *key, const char *value);
/* A histogram: false if there is not one edge more than counts. */
bool import_run_histogram(struct import_run *, const char *key, int64_t step,
                          int64_t ms, const json_t *counts,
                          const json_t *edges);
/* An image, a table or the like: its content, or a file among in->files, which
 * gets another name; false if there is no such file. */
void import_run_media(struct import_run *, const char *key,
                      const struct import_media *, const void *data, size_t n);
bool import_run_media_file(struct import_run *, const char *key,
                           const struct import_media *);
/* Count something that is not imported; import_run_end() reports it. */
void import_run_leave(struct import_run *, const char *what);
size_t import_run_count_points(const struct import_run *);
/* Write the run, unless it exists or `ret` is -1, which is returned then; count
 * it, say what was left out, and clear it. */
int import_run_end(struct import_run *, struct import *, int ret, struct err *);

/* Call a function for each value of nested objects, with a key like a/b/c.
 * Images, tables and the like are values: objects with a "_type". */
typedef void import_json_fn(void *arg, const char *key, json_t *value);

void import_json_each(const char *prefix, json_t *object, char separator,
                      import_json_fn *, void *arg);
/* The value as a number; one that is none is counted as left out. */
bool import_json_number(struct import_run *, json_t *value, double *);
/* Add a parameter to the import_run that is the argument. */
import_json_fn import_json_param;
/* Add a number to the metric PREFIX KEY; the argument is a row. */
import_json_fn import_json_point;
struct import_json_row {
    struct import_run *in;
    const char *prefix;
    int64_t step, ms;
};

/* When a file was last written, for logs without times. */
int64_t import_mtime(const char *path);
