#pragma once

#include "trainer/engine/engine.h"

/*
 * checkpoint_from - the model of another run that training starts from
 *
 * train.from names it.  Training starts at step 0 with its weights, and with
 * moments of zero, or its own.
 */

/* Find it, and let train.from be the path of its checkpoint, and run.parent the
 * id of its run. */
int checkpoint_from_find(struct settings *, struct err *);

/* The tag of the run that has the SHA-256 of its weights. */
#define CHECKPOINT_FROM_SHA256 "from.sha256"

/* Load it into an engine at step 0, if train.from is set.  `sum` is NULL right
 * after it was found.  Otherwise its files are verified, and it is ERR_INPUT if
 * `sum`, unless it is empty, is not the SHA-256 of its weights. */
int checkpoint_from_load(struct engine *, const char *sum, struct err *);
