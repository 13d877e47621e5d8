#ifndef TRAINER_TRAINING_CHECKPOINT_FILES_H
#define TRAINER_TRAINING_CHECKPOINT_FILES_H

#include "trainer/training/job.h"

/*
 * checkpoint_files - the files of one checkpoint
 *
 * A snapshot is a copy of everything that a checkpoint holds, in host memory.
 */
struct snapshot {
    float *weights, *m, *v; /* as the blocks are */
    struct tensor_place *place;
    int n;
    char *config, *state; /* state.json without the files' sums */
};

/* Where the numbers of a parameter are in each block. */
struct tensor_place {
    char name[48];
    int rank;
    int64_t dim[2], at;
    bool second; /* it has second moments */
};

int snapshot_take(struct snapshot *, struct job *, const char *run_id,
                  struct err *);
/* The other ranks' side of it, where they keep parts of the state. */
int snapshot_join(struct job *, struct err *);
/* Write the folder and sync it. */
int snapshot_write(const struct snapshot *, const char *folder, struct err *);
void snapshot_clear(struct snapshot *);

#endif
