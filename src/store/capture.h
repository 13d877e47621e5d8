#ifndef STORE_CAPTURE_H
#define STORE_CAPTURE_H

/*
 * capture - what a run should know of where it came from, as tags
 *
 * The commit, branch, remote and state of the git tree we stand in, the
 * machine, its processor and memory, its GPUs and their driver, the versions
 * of libraries, Slurm's variables.  What cannot be learned is left out.
 */
struct run;

void capture(struct run *);

#endif
