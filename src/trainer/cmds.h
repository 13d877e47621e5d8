#ifndef TRAINER_CMDS_H
#define TRAINER_CMDS_H

#include "common/opt.h"
#include "trainer/training/job.h"

/*
 * cmds - the commands of gtrain, one a file
 *
 * Those that use a trained model take it by one word: a checkpoint, a folder
 * of them, or a run.  cmd_open_model() finds it, reads the settings that are
 * kept with it, lays the caller's --set over them and loads the weights.
 */
#define TRAINER_CMDS(X)                                                        \
    X(train) X(plan) X(eval) X(sample) X(export) X(import) X(bench)            \
    X(devices) X(sweep)
TRAINER_CMDS(CMD_DECLARE)

struct model_word {
    const char *word;   /* NULL: the newest run with a checkpoint */
    const char *root;   /* of the store, NULL: its default */
    const char *device; /* NULL: auto */
    const struct opt_list *sets;
    int64_t micro_batch; /* 0: as it was trained */
};

int cmd_open_model(struct job *, struct settings *, const struct model_word *,
                   struct err *);

#endif
