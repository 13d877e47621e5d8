#ifndef TRAINER_TRAINED_MODEL_H
#define TRAINER_TRAINED_MODEL_H

#include "common/opt.h"
#include "trainer/training/job.h"

/*
 * trained_model - open a trained model by the word that names it
 *
 * The word is a checkpoint, a folder of checkpoints, or a run.  The settings
 * are those of the checkpoint, with the caller's over them, and the job has
 * its weights.  The caller closes the job and clears the settings, also after
 * a failure.
 */
struct trained_model_conf {
    const char *word;   /* NULL: the newest run with a checkpoint */
    const char *root;   /* of the store; NULL: its default */
    const char *device; /* NULL: auto */
    const struct opt_list *sets;
    int64_t micro_batch; /* 0: as in training */
};

int trained_model_open(const struct trained_model_conf *, struct settings *,
                       struct job *, struct err *);

#endif
