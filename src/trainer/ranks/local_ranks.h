#pragma once

#include "common/err.h"

/*
 * local_ranks - a job of several processes on this machine
 *
 * local_ranks_run() starts n processes of argv as ranks 0 to n-1 and waits for
 * them.  The signals of sig.h are passed on to them.  If ranks fail, e is the
 * error that explains most, with its rank unless all ranks report the same, and
 * its kind gives the exit status of that rank.  The other ranks are killed
 * after a grace period.  Ranks that are still running some time after rank 0
 * has succeeded are killed, too; that is not a failure.
 */
int local_ranks_run(char *const *argv, int n, struct err *);

/* Called by a rank before it exits: passes e to the process that started it,
 * which will print it, and clears the text. */
void local_ranks_report(struct err *e);
