#ifndef SWEEP_SLURM_H
#define SWEEP_SLURM_H

#include "common/err.h"
#include "sweep/sweep.h"

/*
 * slurm - submit the cells of a sweep as one array job
 *
 * The script requests the resources of section [slurm] and runs this program
 * with `sweep --cell N WORDS`; the words are quoted for the shell.  Two minutes
 * before the time limit, or when the job is preempted, the program gets SIGUSR1
 * and stops its cell; if it ends with status 75, the cell is queued again and
 * resumes the same run.
 */
int slurm_script(const struct sweep *, const char *folder, const char *words,
                 const char *path, struct err *);
/* Run sbatch --array=CELLS PATH, and log the number of the job. */
int slurm_submit(const char *path, const char *cells, struct err *);

#endif
