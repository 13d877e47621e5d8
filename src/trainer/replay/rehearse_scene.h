#pragma once

#include "common/opt.h"
#include "common/path.h"
#include "common/output/table.h"
#include "trainer/settings/settings.h"

/*
 * rehearse_scene - accidents of a job in miniature
 *
 *      rehearsal_shrink(&rehearsal);
 *      for (size_t i = 0; rehearsal_scene(i); i++)
 *          rehearsal_play(&rehearsal, i);
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

/* Fill `sets`: the same model, optimiser, data and number of ranks, but narrow,
 * with two layers and a short context, with two micro-batches of one sequence
 * for each rank, and with validations, samples and checkpoints after every few
 * steps.  The settings are resolved. */
void rehearsal_shrink(struct rehearsal *);

/* The name of a scene, or NULL after the last. */
const char *rehearsal_scene(size_t i);
void rehearsal_play(struct rehearsal *, size_t i);

/* Add a row; the result is "passed", "failed" or "skipped". */
void rehearsal_result(struct rehearsal *, const char *what, const char *result,
                      const char *text);
