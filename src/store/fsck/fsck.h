#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "store/read/runs.h"

/*
 * fsck - find and repair damage in the files of a run
 *
 * It finds what MLflow would fail on, in a run of any origin: torn and
 * malformed lines, empty metrics, names that MLflow does not accept, values
 * that are not UTF-8, missing folders and keys of meta.yaml, strays among the
 * inputs, and files that a killed writer left.  A repair keeps every point that
 * can be read.  Of a run that is being written only meta.yaml is repaired.
 *
 * A meta.yaml that is missing or cannot be read is rebuilt from the rest: for a
 * run from its attempts, tags and points, for an experiment from its runs and
 * the name that was noted when it was created.  One that could not be read is
 * kept as meta.yaml.damaged.
 */
struct fsck_finding {
    const char *name, *id; /* of the run or the experiment */
    const char *file;      /* inside it: "metrics/loss" */
    const char *what;      /* "its last line is not whole" */
    bool repaired;
    bool harmless; /* not damage: no reader looks there */
};

typedef void fsck_fn(void *arg, const struct fsck_finding *);

/* Call the function with each finding.  Returns -1 only if a repair failed. */
int fsck_run(const struct run_info *, bool repair, fsck_fn *, void *arg,
             struct err *);

/* Compare the checkpoints among a run's artifacts with the SHA-256 that
 * training noted when it wrote them, in checkpoints.sha256, and its metrics
 * with the chain (store/format/chain.h).  Fails if one
 * cannot be read; a run without that file has nothing to compare. */
int fsck_checkpoints(const struct run_info *, fsck_fn *, void *arg,
                     struct err *);

/* Check the store itself as fsck_run() checks a run: names of folders,
 * experiments, and leftovers of processes that were killed. */
int fsck_store(const char *root, bool repair, fsck_fn *, void *arg,
               struct err *);

/* Find paths of artifacts that lead to where the store was before;
 * edit_uris() corrects them. */
int fsck_moved(const char *root, fsck_fn *, void *arg, struct err *);
