#pragma once

#include "trainer/engine/engine.h"

/*
 * checkpoint_copy - a copy of what a checkpoint holds, in host memory
 *
 *      struct checkpoint_copy s = { 0 };
 *
 *      if (checkpoint_copy_open(&s, eng, e) < 0)       before training
 *          return -1;
 *      if (checkpoint_copy_take(&s, eng, run_id, e) < 0)
 *          return -1;
 *      ... training continues while s is written ...
 *      checkpoint_copy_clear(&s);
 *
 * All ranks call these at the same time; rank 0 gets the copy.  Memory is
 * allocated once, so that a checkpoint does not fail for lack of it after days.
 */
struct checkpoint_copy {
    float *weights, *m, *v;      /* v: NULL for an optimiser without */
    float *own;                  /* the part of this rank of one of them */
    const struct engine *engine; /* which knows the parameters */
    char *config;                /* the text of config.ini */
    char *state;                 /* that of state.json, without checksums */
};

int checkpoint_copy_open(struct checkpoint_copy *, struct engine *,
                         struct err *);
/* Opens it if it is not open. */
int checkpoint_copy_take(struct checkpoint_copy *, struct engine *,
                         const char *run_id, struct err *);
void checkpoint_copy_clear(struct checkpoint_copy *);

/*
 * checkpoint_files - the files of one checkpoint, written and loaded
 *
 *      model.safetensors       the weights, by name, fp32
 *      optim.safetensors       the moments, "m." and "v." before the name
 *      config.ini              every setting
 *      state.json              see checkpoint_state.h
 */
int checkpoint_write(const struct checkpoint_copy *, const char *folder,
                     struct err *);

/* Can eng->weights.folder be loaded?  Reads only the header of its weights. */
int checkpoint_fits(const struct engine *, struct err *);
int checkpoint_load(const char *folder, struct engine *, struct err *);
/*
 * The weights alone.  If `ids` is not 0, the model may have more ids or
 * positions than the checkpoint, whose vocabulary has this many: the embedding
 * of a new one is the mean of the others.
 */
int checkpoint_load_weights(const char *folder, struct engine *, int64_t ids,
                            struct err *);

/* Warn of settings with another value than when a checkpoint was written, if
 * breaks() says what that breaks. */
void checkpoint_compare(const struct settings *, const struct settings *then,
                        const char *breaks(const char *key));

/* Find the model of another run that train.from names; let train.from be the
 * path of its checkpoint, and run.parent the id of its run. */
int checkpoint_from_find(struct settings *, struct err *);

/* The tag of the run that has the SHA-256 of its weights. */
#define CHECKPOINT_FROM_SHA256 "from.sha256"

/* Load it into an engine at step 0, with moments of zero or its own, if
 * train.from is set.  `sum` is NULL right after it was found.  Otherwise its
 * files are verified, and it is ERR_INPUT if `sum`, unless it is empty, is not
 * the SHA-256 of its weights. */
int checkpoint_from_load(struct engine *, const char *sum, struct err *);
