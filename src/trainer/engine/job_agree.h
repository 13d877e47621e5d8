#ifndef TRAINER_ENGINE_JOB_AGREE_H
#define TRAINER_ENGINE_JOB_AGREE_H

#include "trainer/engine/job.h"

/*
 * job_agree - check that all ranks of a job compute the same
 *
 * Compares the program, the tokenizer, the names, sizes and samples of the
 * token files that are open, and the instruction set or the GPU.  A difference
 * is an error of kind ERR_RANK on every rank, which names a rank that differs
 * from rank 0.  Where only the last bits of results depend on it, it is a
 * warning, unless train.deterministic is set.  coll_open() has compared the
 * settings.
 */
int job_agree(struct job *, struct err *);

#endif
