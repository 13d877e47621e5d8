#pragma once

#include <stdbool.h>

#include "store/write/run.h"

/*
 * claimed_run - one run, though several processes begin it at once
 *
 *      char *id;
 *
 *      if (claimed_run_id(path, true, &id, e) == 0)
 *          ret = claimed_run_begin(&run, &conf, id, &made, e);
 *
 * A file that only one process can create holds the id for all of them.  One
 * process makes the run; to the others it is a run that is being written,
 * ERR_BUSY, or one to resume if that process has ended.  This needs no locks.
 */

/* The id in the file; the caller frees it.  If the file does not exist, it is
 * created with a new id, or ERR_MISSING. */
int claimed_run_id(const char *path, bool create, char **id, struct err *);

/* Resume the run of this id, or make it. */
int claimed_run_begin(struct run **, const struct run_conf *, const char *id,
                      bool *made, struct err *);
