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
    float *weights, *m, *v; /* v: NULL for an optimiser without */
    float *own;             /* the part of this rank of one of them */
    struct checkpoint_copy_tensor *tensor;
    int n;        /* tensors */
    char *config; /* the text of config.ini */
    char *state;  /* that of state.json, without checksums */
};

/* A parameter: its shape, and where it begins in each block. */
struct checkpoint_copy_tensor {
    char name[48];
    int rank;
    int64_t dim[2], at;
    int64_t v_count; /* second moments: of each element or row, or none */
};

int checkpoint_copy_open(struct checkpoint_copy *, struct engine *,
                         struct err *);
/* Opens it if it is not open. */
int checkpoint_copy_take(struct checkpoint_copy *, struct engine *,
                         const char *run_id, struct err *);
void checkpoint_copy_clear(struct checkpoint_copy *);

/* The shape of the second moments of a tensor. */
struct checkpoint_copy_tensor checkpoint_copy_second(
    const struct checkpoint_copy_tensor *);

/* Fill in the tensors alone. */
void checkpoint_copy_list(struct checkpoint_copy *, const struct engine *);
