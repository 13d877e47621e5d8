#pragma once

#include "store/write/run.h"
#include "trainer/settings/settings.h"

/*
 * checkpoint_begun - begin the run of --resume auto, where it has no checkpoint
 *
 *      char *claim;
 *
 *      if (checkpoint_begin_run(&run, &conf, s, &claim, e) == 0)
 *          write the artifact config.ini
 *      checkpoint_drop_claim(&claim);
 *
 * It is the newest run of this experiment, name and settings if that one was
 * interrupted: its points are retracted, and it begins at step 0 again.
 * Otherwise it is a new run.  Of several processes that begin the run at once,
 * one trains it, and for the others it is ERR_BUSY.
 */

/* *claim: the file by which these processes find the same run, until they find
 * it by its settings.  It may remain after a failure. */
int checkpoint_begin_run(struct run **, const struct run_conf *,
                         const struct settings *, char **claim, struct err *);
/* Remove the file, and free its path; it may be NULL. */
void checkpoint_drop_claim(char **claim);
