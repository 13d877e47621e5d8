#pragma once

#include "common/mem.h"
#include "store/read/runs.h"

/*
 * slurm_jobs - what sacct knows of the Slurm jobs of runs
 *
 *      struct slurm_jobs jobs = { 0 };
 *
 *      if (slurm_jobs_load(&jobs, &runs, &mem, e) < 0)
 *          return -1;
 *      job = slurm_jobs_find(&jobs, id);
 *      free(jobs.item);
 *
 * The strings belong to the arena.
 */
struct slurm_job {
    const char *id, *account;
    double secs; /* of all its attempts */
    double cpu_secs, gpu_secs;
};

struct slurm_jobs {
    struct slurm_job *item; /* by id, once all are there */
    size_t n, room;
};

/* Ask sacct, if one of the runs was a Slurm job. */
int slurm_jobs_load(struct slurm_jobs *, const struct runs *, struct arena *,
                    struct err *);
/* NULL if sacct does not know the job, or the id is NULL. */
const struct slurm_job *slurm_jobs_find(const struct slurm_jobs *,
                                        const char *id);
