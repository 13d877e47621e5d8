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
extern const struct opt cmd_train_opts[], cmd_plan_opts[], cmd_eval_opts[],
    cmd_sample_opts[], cmd_bench_opts[], cmd_devices_opts[], cmd_export_opts[],
    cmd_import_opts[], cmd_sweep_opts[];

int cmd_sweep(int argc, char **argv, struct err *);
int cmd_train(int argc, char **argv, struct err *);
int cmd_plan(int argc, char **argv, struct err *);
int cmd_eval(int argc, char **argv, struct err *);
int cmd_sample(int argc, char **argv, struct err *);
int cmd_bench(int argc, char **argv, struct err *);
int cmd_devices(int argc, char **argv, struct err *);
int cmd_export(int argc, char **argv, struct err *);
int cmd_import(int argc, char **argv, struct err *);

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
