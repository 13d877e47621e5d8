#ifndef TRAINER_TRAINING_TRAIN_H
#define TRAINER_TRAINING_TRAIN_H

#include "trainer/training/job.h"

/*
 * train - the training loop
 *
 *      if (job_open(&j, &settings, JOB_TRAIN, e) == 0)
 *          train_run(&j, &(struct train_conf){ .command = "..." }, e);
 *
 * Begins the run, or resumes that of a checkpoint, and trains: steps, and
 * validations, samples and checkpoints when they are due, and what the settings
 * say where a loss is not finite or jumps.  Whatever happens, the run ends.
 *
 * Returns 0 after the last step, or when a validation has stopped training
 * early.  A signal ends it after a checkpoint, with ERR_STOPPED.
 */
struct train_conf {
    const char *checkpoint; /* to resume from; NULL: start at step 0 */
    const char *command;    /* that the run records */
    bool detect_anomaly;    /* look at the result of every operation */
};

int train_run(struct job *, const struct train_conf *, struct err *);

#endif
