#ifndef STORE_CAPTURE_H
#define STORE_CAPTURE_H

/*
 * capture - what a run should know of where it came from, as tags
 *
 *      mlflow.source.git.commit .branch .repoURL .dirty .diff
 *      gtrack.host .system .cpu .memory .gpus .driver .libraries
 *      gtrack.slurm.job_id ...
 *
 * The tree that we stand in, the machine, the libraries that are loaded, and
 * Slurm's variables.  What differs from the commit is the artifact git.diff,
 * up to a mebibyte of it, and the beginning of it a tag.  What cannot be
 * learned is left out.  Since git may take its time it runs in a thread of its
 * own, a few seconds at most.
 */
struct run;
struct capture;

struct capture *capture_start(struct run *);
void capture_end(struct capture *);     /* wait, and free; NULL is nothing */

#endif
