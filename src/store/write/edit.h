#pragma once

#include <stdint.h>

#include "common/err.h"
#include "store/format/info.h"
#include "store/format/store.h"

/*
 * edit - change runs and experiments that exist
 *
 * Each function replaces whole files one by one, as MLflow's own commands do,
 * and may be used while the run is being written.  None touches a metric.  They
 * also complete moves of any run that were interrupted.
 */

/* A value of NULL removes the tag; a bad key is ERR_USAGE.  The tag
 * mlflow.runName renames the run. */
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

/* Add to the experiment's meta.yaml what is missing, from the struct; if the
 * file is missing or cannot be read, it is rebuilt. */
int edit_experiment_repair(const struct experiment *, struct err *);

/* Correct the absolute artifact URIs after the tree was moved; *count becomes
 * the number that were wrong.  Or only count those that belong to a store
 * elsewhere and name no folder. */
int edit_uris(const char *root, bool correct, int64_t *count, struct err *);

/*
 * A run is moved to another experiment, and what a killed process left of that
 * is completed.
 *
 *      struct edit_move m;
 *
 *      edit_move_begin(&m, root, id);
 *      ...change meta.yaml, and move the folder to another experiment
 *      edit_move_end(&m);
 *
 * Two files cannot change in one step, so a mark in ROOT/.gtrack.trash/moves
 * tells which run is being moved; it is locked as long as its process lives.
 * edit_finish_moves() lets the meta.yaml of each run with a mark that is not
 * locked name the experiment that the run is in, and removes the mark.  All of
 * these do what they can: without a mark, gtrack fsck --repair corrects
 * meta.yaml.
 */
struct edit_move {
    char *mark;
    int fd;
};

void edit_move_begin(struct edit_move *, const char *root, const char *id);
void edit_move_end(struct edit_move *);
void edit_finish_moves(const char *root);
