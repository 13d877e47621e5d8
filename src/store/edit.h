#ifndef STORE_EDIT_H
#define STORE_EDIT_H

#include <stdint.h>

#include "common/err.h"
#include "store/load.h"
#include "store/store.h"

/*
 * edit - change what is in a store already: runs and experiments
 *
 * Each of these replaces single files, whole, as MLflow's own commands do, and
 * may be used while the run is being written.  None touches a metric.
 */

/* A value of NULL takes the tag away; a bad key is ERR_USAGE. */
int edit_tag(const struct run_info *, const char *key, const char *value,
             struct err *);
/* A new name: in meta.yaml and in the tag mlflow.runName. */
int edit_name(const struct run_info *, const char *name, struct err *);

/* Mark a run deleted, or active again; its files stay.  A run that is being
 * written is ERR_USAGE. */
int edit_delete(const struct run_info *, struct err *);
int edit_restore(const struct run_info *, struct err *);
/* Remove a deleted run's files for good. */
int edit_remove(const char *root, const struct run_info *, struct err *);
/* Put a run that nobody writes any more to rest: STALE becomes what is said. */
int edit_status(const struct run_info *, enum run_status, struct err *);

/* Give its meta.yaml what it lacks, from the struct; where there is none, or
 * one that cannot be read, it is made anew. */
int edit_experiment_repair(const struct experiment *, struct err *);

/* Write the absolute artifact URIs anew after the tree was moved; *count says
 * how many were wrong. */
int edit_uris(const char *root, int64_t *count, struct err *);

#endif
