#pragma once

#include <stddef.h>

#include "common/err.h"

/*
 * staging - create and remove the folder of a run in one step
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
