#ifndef STORE_WRITE_PROVENANCE_H
#define STORE_WRITE_PROVENANCE_H

/*
 * provenance - tags that tell where a run comes from
 *
 *      mlflow.source.git.commit .branch .repoURL .dirty .diff
 *      gtrack.host .system .cpu .memory .gpus .driver .libraries
 *      gtrack.slurm.job_id ...
 *
 * They describe the git repository of the working directory, the machine, the
 * libraries that are loaded, and Slurm's variables.  The difference from the
 * commit is stored as the artifact git.diff, up to a mebibyte of it, and its
 * beginning as a tag.  What cannot be found out is left out.  As git may take
 * some time, this is done in a thread, which takes a few seconds at most.
 */
struct point_queue;
struct provenance;

/* The tags go to the queue of the run that is in this folder. */
struct provenance *provenance_start(struct point_queue *, const char *run);
void provenance_end(struct provenance *); /* wait, and free; may be NULL */

#endif
