#ifndef STORE_FSCK_H
#define STORE_FSCK_H

#include <stdbool.h>

#include "common/err.h"
#include "store/load.h"

/*
 * fsck - find what is wrong with the files of a run, and put it right
 *
 * What MLflow would stumble over, in a run of any origin: torn and malformed
 * lines, empty metrics, names it does not take, values that are not UTF-8,
 * folders and keys of meta.yaml that are missing, and files that a killed
 * writer left.  A repair keeps every point that can be read; a run that is
 * being written is only looked at.
 *
 * A meta.yaml that is gone or cannot be read is made anew from what else there
 * is: of a run its attempts, tags and points, of an experiment its runs and the
 * name that was noted when it was made.  The one that could not be read stays
 * beside it, as meta.yaml.damaged.
 */
struct fsck_finding {
    const char *name, *id; /* of the run or the experiment */
    const char *file;      /* inside it: "metrics/loss" */
    const char *what;      /* "2 lines that are no points, the first 17" */
    bool repaired;
};

typedef void fsck_fn(void *arg, const struct fsck_finding *);

/* -1 only when a repair failed; what is wrong is told to the function. */
int fsck_run(const struct run_info *, bool repair, fsck_fn *, void *arg,
             struct err *);

/* The same of what is around the runs: experiments, and what killed processes
 * left. */
int fsck_store(const char *root, bool repair, fsck_fn *, void *arg,
               struct err *);

#endif
