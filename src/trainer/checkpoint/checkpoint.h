#pragma once

#include "common/path.h"
#include "store/write/run.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/engine/engine.h"

/*
 * checkpoint - save the state of training, so that it can be resumed
 *
 *      if (checkpoint_open(&c, eng, run, &claim, e) < 0) ...
 *      checkpoint_save(&c, eng, CHECKPOINT_DUE, e);
 *      checkpoint_save(&c, eng, CHECKPOINT_LAST, e);       at the end
 *      checkpoint_close(&c);
 *
 * A checkpoint is a folder, step-00000400, with the files of
 * checkpoint_files.h.  It is written under another name, synced and renamed, so
 * a folder of that name is complete; the next save removes incomplete ones that
 * a crash has left.  Data order, dropout and samples are functions of the step,
 * so a run that resumes computes the same bits without further state.
 *
 * Saving copies the state and returns; a thread writes the copy.  Before the
 * folder is renamed, all points up to the step are flushed and synced, also
 * perf/checkpoint_ms, so that the curves of the run have no gap after a kill or
 * a power failure.  Then older checkpoints are removed, except the newest N,
 * every Mth step and the best, which the link "best" names.
 *
 * Training does not stop because a disk is full: a checkpoint that is not
 * written only causes a warning and the metric event/checkpoint_lost.  Only the
 * last one must be written.
 */
struct checkpoint {
    const struct checkpoint_settings *conf;
    char *folder;
    struct path_pin pin; /* of the folder, while it is looked at or changed */
    struct checkpoint_copy copy;
    struct run *run;                    /* or NULL */
    struct checkpoint_writing *writing; /* or NULL */
    int lock;                           /* the file .lock in it, or -1 */
    int64_t written;                    /* the step last written, or -1 */
    int64_t rolled_to, rollbacks;       /* the last target; times in a row */
};

/* Where checkpoints are written, and what gives the right to do so. */
struct checkpoint_claim {
    const char *folder;
    const char *resumed; /* the id in the checkpoint resumed from, or NULL */
    bool steal;          /* from a running job */
};

/* ERR_BUSY if another running job uses the folder, unless it is stolen;
 * ERR_USAGE if its newest checkpoint is of another run than the one resumed
 * from.  Checkpoints of steps after the one that training begins at are
 * renamed. */
int checkpoint_open(struct checkpoint *, struct engine *, struct run *,
                    const struct checkpoint_claim *, struct err *);
void checkpoint_close(struct checkpoint *);

/* Why it is saved: all that is true of it. */
enum checkpoint_why {
    CHECKPOINT_DUE = 1,
    CHECKPOINT_BEST = 2, /* of all validation losses so far */
    CHECKPOINT_LAST = 4, /* all ranks wait until it is written */
};

int checkpoint_save(struct checkpoint *, struct engine *, int why,
                    struct err *);

/* Load the newest checkpoint, and skip the data that came after it. */
int checkpoint_rollback(struct checkpoint *, struct engine *, struct err *);
