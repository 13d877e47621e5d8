#ifndef TRAINER_SEARCH_SLURM_H
#define TRAINER_SEARCH_SLURM_H

#include "common/buf.h"
#include "common/err.h"
#include "trainer/search/sweep.h"

/*
 * slurm - the cells of a search as one array of jobs
 *
 * The script asks for what section [slurm] says and runs `gtrain sweep WORDS
 * --cell N`.  Two minutes before the limit, or when the job is preempted, the
 * cell gets SIGUSR1, saves a checkpoint and ends with status 75; it is then
 * queued again and goes on as the same run.
 */
struct slurm_words {
    struct buf text;            /* quoted for the shell */
};

/* Append "OPTION 'VALUE'"; option may be NULL. */
void slurm_word(struct slurm_words *, const char *option, const char *value);

int slurm_script(const struct sweep *, const char *folder,
                 const struct slurm_words *, const char *path, struct err *);
/* sbatch --array=CELLS PATH; says the job's number. */
int slurm_submit(const char *path, const char *cells, struct err *);

#endif
