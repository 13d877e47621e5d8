#ifndef TRAINER_CHECKPOINT_SNAPSHOT_H
#define TRAINER_CHECKPOINT_SNAPSHOT_H

#include "trainer/engine/job.h"

/*
 * snapshot - a copy of what a checkpoint holds, in host memory
 *
 *      if (snapshot_take(&s, j, run_id, e) < 0)        on rank 0
 *          return -1;
 *      ... training continues while s is written ...
 *      snapshot_clear(&s);
 *
 * The other ranks call snapshot_join() at the same time.
 */
struct snapshot {
    float *weights, *m, *v; /* v: NULL for an optimiser without */
    struct snapshot_tensor *tensor;
    int n;        /* tensors */
    char *config; /* the text of config.ini */
    char *state;  /* that of state.json, without checksums */
};

/* A parameter: its shape, and where it begins in each block. */
struct snapshot_tensor {
    char name[48];
    int rank;
    int64_t dim[2], at;
    bool has_v; /* it has a second moment */
};

int snapshot_take(struct snapshot *, struct job *, const char *run_id,
                  struct err *);
int snapshot_join(struct job *, struct err *);
void snapshot_clear(struct snapshot *);

/* Fill in the tensors alone. */
void snapshot_list(struct snapshot *, const struct job *);

#endif
