#ifndef TRACK_RUNS_AGAIN_H
#define TRACK_RUNS_AGAIN_H

#include <stdbool.h>

#include "common/buf.h"
#include "store/read/runs.h"

/*
 * again - the shell command that repeats a run
 *
 * It changes to the folder in which the run was started and to the commit that
 * was checked out, as far as they were recorded.
 */

/* Append it; false if the run has no record of its command. */
bool again_command(struct buf *, const struct run_info *);

#endif
