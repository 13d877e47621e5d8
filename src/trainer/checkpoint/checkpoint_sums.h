#pragma once

#include "common/sha256.h"
#include "store/write/run.h"

/*
 * checkpoint_sums - the SHA-256 of every checkpoint that a run has written
 *
 * The artifact checkpoints.sha256 has a line for the weights of each
 * checkpoint, for its moments and for its state.json, in the form of
 * sha256sum(1), so that its weights can be recognised after it has been
 * removed.  If a step was written twice, as after a rollback, the last lines
 * count.
 */
struct checkpoint_sums {
    char model[SHA256_TEXT], optim[SHA256_TEXT]; /* weights and moments */
};

/* Add the lines of the checkpoint in a folder, and a link to the chain of the
 * run (store/format/chain.h), whose head becomes a tag. */
int checkpoint_sums_add(struct run *, const char *folder, int64_t step,
                        struct err *);

/* Those of the checkpoint in a folder. */
int checkpoint_sums_read(const char *folder, struct checkpoint_sums *,
                         struct err *);

/* artifacts is the folder of a run's artifacts.  A step without sums is
 * ERR_MISSING. */
int checkpoint_sums_find(const char *artifacts, int64_t step,
                         struct checkpoint_sums *, struct err *);

/* ERR_INPUT if the sums have the step of the checkpoint in a folder, but not
 * its weights and moments: another run wrote it. */
int checkpoint_sums_check(const char *artifacts, const char *folder,
                          int64_t step, struct err *);

/* The newest step up to `last` at which two runs have written the same weights
 * and moments, or 0; and the first at which they have not, or 0. */
struct checkpoint_sums_pair {
    int64_t same, differs;
};
int checkpoint_sums_compare(const char *artifacts, const char *others,
                            int64_t last, struct checkpoint_sums_pair *,
                            struct err *);
