#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/attempt.h"
#include "store/format/info.h"
#include "store/format/key.h"
#include "store/format/meta.h"
#include "store/format/metric.h"

/*
 * new_run - the folder of a new run, before readers can see it
 *
 *      struct new_run n;
 *
 *      if (new_run_stage(&n, &mem, &conf, e) < 0)
 *          return -1;
 *      ...write into n.folder, save n.meta...
 *      ret = staging_commit(n.folder, n.place, e);
 *
 * new_run_stage() creates the store and the experiment if they do not exist,
 * chooses an id and, unless conf names the run, the next free name.  The folder
 * is complete but for meta.yaml: its subfolders and the tags that MLflow
 * expects are there.  folder and place are owned by the caller; on failure
 * nothing is left behind and both are NULL.
 */
/* What run_begin() and stored_run_create() are told. */
struct run_conf {
    const char *root;        /* the store; created if need be */
    const char *experiment;  /* by name; NULL is "Default" */
    const char *name;        /* NULL: the next of run1, run2, ... */
    const char *id;          /* of a new run; NULL: a random one */
    const char *parent;      /* id of the run this one belongs to, or NULL */
    const char *resume;      /* id of a run to resume, or NULL */
    const char *command;     /* the command line; secrets are masked */
    const char *source;      /* of a new run: the command, or what created it */
    const char *user;        /* of a new run; NULL: that of this process */
    int64_t start_ms;        /* of a new run; 0: now */
    const char *tensorboard; /* folder in which event files are written too,
                                 * in one named after the run; or NULL */
    double flush_secs;       /* 0: one second */
    int64_t memory;          /* bytes that may wait for the store; 0: a
                                 * 16th of the machine's, 2 GiB at most */
    bool steal;              /* resume also while another process writes */
    int cpus, gpus;          /* in use, over all ranks; 0: those of this
                                 * process, and none */
    bool no_cpus;            /* this process uses no CPU itself */
    bool no_provenance;      /* do not record git, host and environment */
    /* May the run be resumed, whose last attempt ended like this?  Called when
     * nobody writes it, and nothing has changed yet; or NULL. */
    int (*may_resume)(void *arg, enum run_status, struct err *);
    void *arg;
};

struct new_run {
    char *folder; /* where it is built */
    char *place;  /* where it will be */
    struct meta meta;
    struct attempt self; /* this process, as the first attempt */
};

int new_run_stage(struct new_run *, struct arena *, const struct run_conf *,
                  struct err *);

/* The subfolders that every run has. */
int new_run_folders(const char *folder, struct err *);

/*
 * The folder of a run is created and removed in one step:
 *
 *      char *staged = staging_begin(root, folder, e);
 *
 *      ...create its folders, tags and meta.yaml in there
 *      if (staging_commit(staged, folder, e) < 0)
 *          path_remove(staged, &ignored);
 *
 * A folder without a meta.yaml is not a run, and MLflow's search for datasets
 * fails on it.  So a run is built in ROOT/.gtrack.trash, where no reader looks,
 * and moved to its place in one step; a run to be removed is moved there first.
 * If that is impossible, because the experiment is on another file system or
 * the root belongs to another user, a run is built and removed in its place.
 */

/* Create the folder to build it in; the caller frees the name. */
char *staging_begin(const char *root, const char *folder, struct err *);
int staging_commit(const char *staged, const char *folder, struct err *);

/*
 * Runs that wait to be moved to their places, all at once: first everything of
 * them is synced to the disk, since after a power failure a run at its place
 * counts as whole.  staging_add() takes the two names over, which are from
 * malloc(), and moves the runs when there are many; staging_flush() moves the
 * rest.  If that fails, they are removed.
 */
struct staging_batch {
    size_t n;
    char *folder[64], *place[64];
};

int staging_add(struct staging_batch *, char *staged, char *folder,
                struct err *);
int staging_flush(struct staging_batch *, struct err *);

/* Remove a run or an experiment for good. */
int staging_remove(const char *root, const char *folder, struct err *);

/* Call the function with each folder that a killed process left, which is one
 * that nothing was written to for an hour. */
typedef int staging_fn(void *arg, const char *folder, struct err *);

int staging_leftovers(const char *root, staging_fn *, void *arg, struct err *);

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
