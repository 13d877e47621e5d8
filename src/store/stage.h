#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "common/err.h"

/*
 * stage - the folder of a run appears whole, and goes whole
 *
 *      char *staged = stage_begin(root, folder, e);
 *
 *      ...its folders, tags and meta.yaml are made in there
 *      if (stage_commit(staged, folder, e) < 0)
 *          path_remove(staged, &ignored);
 *
 * A folder without a meta.yaml is no run, and MLflow's search for datasets
 * fails over it.  So one is built in ROOT/.gtrack.trash, where no reader looks,
 * and moved to its place in one step; one that is removed is moved there first.
 * Where that cannot be, the experiment being on another file system or the root
 * another user's, a run is built, and removed, in its place.
 */

/* Where to build it, made; the caller frees the name. */
char *stage_begin(const char *root, const char *folder, struct err *);
int stage_commit(const char *staged, const char *folder, struct err *);

/* Remove a run or an experiment for good. */
int stage_remove(const char *root, const char *folder, struct err *);

/* What killed processes left: each folder that nothing was written to for an
 * hour.  The function says whether to remove it. */
typedef int stage_fn(void *arg, const char *folder, struct err *);

int stage_leftovers(const char *root, stage_fn *, void *arg, struct err *);

#endif
