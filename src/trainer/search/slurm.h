#ifndef TRAINER_SEARCH_SLURM_H
#define TRAINER_SEARCH_SLURM_H

#include "common/err.h"
#include "trainer/search/sweep.h"

/*
 * slurm - submit the cells of a search as one array job
 *
 * The script requests the resources of section [slurm] and runs `gtrain sweep
 * WORDS --cell N`; the words are quoted for the shell.  Two minutes before the
 * time limit, or when the job is preempted, the cell gets SIGUSR1, saves a
 * checkpoint and ends with status 75; it is then queued again and resumes the
 * same run.
 */
int slurm_script(const struct sweep *, const char *folder, const char *words,
                 const char *path, struct err *);
/* Run sbatch --array=CELLS PATH, and log the number of the job. */
int slurm_submit(const char *path, const char *cells, struct err *);

#endif
