#ifndef TRAINER_CHECKPOINT_CHECKPOINT_PLACE_H
#define TRAINER_CHECKPOINT_CHECKPOINT_PLACE_H

#include "store/read/runs.h"
#include "store/write/run.h"
#include "trainer/settings/settings.h"

/*
 * checkpoint_place - the folder of a run's checkpoints
 *
 * By default it is the artifact "checkpoints".  If the setting
 * checkpoint.folder names another one, training notes its path in the tag
 * "checkpoints".  A link that leads out of the run is followed only if it leads
 * to the folder of that tag, since a store may be that of somebody else.
 */

/* The newest checkpoint of a run that is intact, or NULL.  One that is kept
 * elsewhere has to be of this run.  The caller frees it. */
char *checkpoint_of_run(const struct run_info *);

/* The folder to write to, which the caller frees; updates the tag. */
int checkpoint_place(struct run *, const struct settings *, bool resumed,
                     char **folder, struct err *);

#endif
