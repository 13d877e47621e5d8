#ifndef TRAINER_REPLAY_REHEARSE_SCENE_H
#define TRAINER_REPLAY_REHEARSE_SCENE_H

#include "common/opt.h"
#include "common/path.h"
#include "common/output/table.h"
#include "trainer/settings/settings.h"

/*
 * rehearse_scene - accidents of a job in miniature
 *
 *      for (s = rehearsal_scenes; s->name; s++)
 *          s->play(&rehearsal, s->name);
 *
 * Each scene is a run of its own, with its own folder of checkpoints.  It
 * trains a few steps, meets with an accident, and is resumed; then the steps
 * around the resume are computed again and compared.  It adds a row to the
 * table.
 */
struct rehearsal {
    const char *config;           /* the settings file of the job, */
    const struct opt_list *given; /* the assignments of --set, */
    int64_t ranks;                /* and its processes */
    struct settings set;
    struct path_list sets; /* assignments that make it small */
    char *program, *store, *checkpoints, *log;
    bool exact; /* the device computes the same bits again */
    int64_t failed;
    struct table table;
};

extern const struct scene {
    const char *name;
    void (*play)(struct rehearsal *, const char *name);
} rehearsal_scenes[]; /* ends with a NULL name */

/* Add a row; the result is "passed", "failed" or "skipped". */
void rehearsal_result(struct rehearsal *, const char *what, const char *result,
                      const char *text);

#endif
