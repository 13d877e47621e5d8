#ifndef TRAINER_TRAINING_TRAIN_H
#define TRAINER_TRAINING_TRAIN_H

#include "trainer/training/checkpoint.h"
#include "trainer/training/job.h"
#include "trainer/training/report.h"

/*
 * train - the loop, and nothing but the loop
 *
 * A step is some micro-batches forward and backward, the sum of the gradients
 * over ranks, the norm, and the update.  Around it: validation, samples and
 * checkpoints when they are due, and what to do when a loss goes bad.
 *
 * train_run() returns 0 when the last step is done or a validation that no
 * longer improves ended it.  A signal ends it after a checkpoint, with
 * ERR_STOPPED.
 */
struct train {
    struct job *job;
    struct report *report;
    struct checkpoint *checkpoint;
    struct step_check *check;
    double *facts; /* its own: what the ranks sum up each step */
};

int train_run(struct train *, struct err *);

#endif
