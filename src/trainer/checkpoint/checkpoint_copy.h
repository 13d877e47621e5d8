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
