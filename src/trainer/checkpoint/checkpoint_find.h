#pragma once

#include "common/path.h"
#include "store/read/runs.h"
#include "store/write/run.h"
#include "trainer/settings/settings.h"

/*
 * checkpoint_find - find a checkpoint by the word that names it
 *
 * WORD is a checkpoint, a folder of them, a run (by name or id), a run and a
 * step, such as "run42@2000", or "auto": the newest checkpoint of the settings'
 * experiment and name.  A NULL word means the newest of all.  For these two,
 * *path is NULL where there is none yet.  A run takes precedence over a folder
 * of its name.  The caller frees *path.
 */
int checkpoint_find(const struct settings *, const char *word, char **path,
                    struct err *);

/* The newest checkpoint in a folder, up to the step `last`, whose files are
 * intact; damaged ones are skipped with a warning.  *path is NULL if there is
 * none yet.  It is an error if one cannot be read or, without a limit, if all
 * are damaged: training must not begin anew.  The caller frees *path. */
int checkpoint_newest(const char *folder, int64_t last, char **path,
                      struct err *e);

/* The step in a name such as step-00000400, or -1. */
int64_t checkpoint_step(const char *name);

/* The names of the checkpoints in a folder, in the order of their steps. */
int checkpoint_names(struct path_list *, const char *folder, struct err *);

/*
 * By default the checkpoints of a run are its artifact "checkpoints".  If the
 * setting checkpoint.folder names another folder, training notes its path in
 * the tag "checkpoints".  A link that leads out of the run is followed only if
 * it leads to the folder of that tag, since the store may be somebody else's.
 */

/* The folder to write to, which the caller frees; updates the tag. */
int checkpoint_place(struct run *, const struct settings *, bool resumed,
                     char **folder, struct err *);

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
