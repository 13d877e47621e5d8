#pragma once

#include "common/opt.h"
#include "trainer/engine/engine.h"

/*
 * trained_model - a command that uses a trained model
 *
 *      static struct trained_model model = { .micro_batch = 1 };
 *      static const struct opt opts[] = { TRAINED_MODEL_OPTS(model), { 0 } };
 *
 *      return trained_model_run(&model, argc, argv, print_samples, e);
 *
 * The command's argument names a checkpoint, a folder of checkpoints, or a run;
 * without one it is the newest run that has a checkpoint.  The engine that the
 * function gets has the weights and the settings of the checkpoint, with
 * those of --set over them.
 */
struct trained_model {
    const char *root;   /* of the store; NULL: its default */
    const char *device; /* NULL: auto */
    struct opt_list sets;
    int64_t micro_batch; /* 0: as in training */
    int weights;         /* of trained_model_bits */
    const char *chat;    /* template of conversations; NULL: its own */
    const char *path;    /* of the checkpoint, while the function runs */
};

/* clang-format off */
#define TRAINED_MODEL_OPTS(m) \
    { 0, "root", "dir", OPT_STRING, &(m).root, \
      "look for runs in the store DIR (default: mlruns)" }, \
    { 's', "set", "section.key=value", OPT_LIST, &(m).sets, \
      "change one setting (may be given many times)" }
#define TRAINED_MODEL_OPTS_TO_COMPUTE(m) \
    { 0, "weights", "type", OPT_WORD, &(m).weights, \
      "multiply with matrices of this type: %s (default: full)", \
      trained_model_weights }, \
    { 0, "device", "name", OPT_STRING, &(m).device, \
      "compute on NAME (default: auto)" }, \
    TRAINED_MODEL_OPTS(m)
/* clang-format on */

/* The words of --weights, and the bits of a number; 0: as in training. */
extern const char *const trained_model_weights[];
extern const int trained_model_bits[];

typedef int trained_model_fn(struct engine *, struct err *);

/* The store of --root or the default; the caller frees it. */
char *trained_model_store(const struct trained_model *);

/* For struct cmd: the model may be somebody else's, so a command that runs on
 * the CPU without MPI gives up all rights but to write to a folder, if it is
 * not NULL, and to connect to other ranks. */
void trained_model_confine(const struct trained_model *, const char *folder);

/* Open eng->data.form: --chat, or none if it is empty; or the template of the
 * training data; or else chat_template_find(). */
int trained_model_chat(const struct trained_model *, struct engine *,
                       struct err *);

int trained_model_run(struct trained_model *, int argc, char **argv,
                      trained_model_fn *use, struct err *);
