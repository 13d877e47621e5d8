#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/attempt.h"
#include "store/format/meta.h"

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
struct new_run_conf {
    const char *root;
    const char *experiment; /* NULL: Default */
    const char *name;       /* NULL: the next of run1, run2, ... */
    const char *id;         /* 32 hexadecimal digits; NULL: a random one */
    const char *user;       /* NULL: of this process */
    const char *parent;     /* the id of a run, or NULL */
    const char *source;     /* the command, or what created the run */
    int64_t start_ms;       /* 0: now */
};

struct new_run {
    char *folder; /* where it is built */
    char *place;  /* where it will be */
    struct meta meta;
    struct attempt self; /* this process, as the first attempt */
};

int new_run_stage(struct new_run *, struct arena *, const struct new_run_conf *,
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
