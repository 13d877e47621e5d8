#ifndef TRAINER_TRAINING_REPORT_PARAMS_H
#define TRAINER_TRAINING_REPORT_PARAMS_H

#include "store/run.h"
#include "trainer/training/job.h"

/*
 * report_params - what the run records of a job when it begins
 *
 * Every setting becomes a parameter, and so does what follows from them, in the
 * first attempt: later ones may have other ranks.  The data become datasets,
 * with their hashes, and run.note and run.tags become tags.
 */
void report_params(struct run *, const struct job *, bool resumed);

#endif
