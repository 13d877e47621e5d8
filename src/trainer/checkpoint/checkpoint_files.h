#pragma once

#include "trainer/checkpoint/checkpoint_copy.h"

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
