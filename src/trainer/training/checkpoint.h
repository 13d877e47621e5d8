#ifndef TRAINER_TRAINING_CHECKPOINT_H
#define TRAINER_TRAINING_CHECKPOINT_H

#include "trainer/training/job.h"
#include "trainer/training/report.h"

/*
 * checkpoint - a training that can be gone on with
 *
 * A checkpoint is a folder, step-00000400, that holds
 *
 *      model.safetensors       the weights, by name, fp32
 *      optim.safetensors       the moments, "m." and "v." before the name
 *      config.ini              every setting
 *      state.json              step, tokens, loss scale, best loss; what the
 *                              data and the tokenizer were; the run; size and
 *                              SHA-256 of the other three
 *
 * It is written beside, synced and renamed, so a folder of that name is whole;
 * what was half written at a crash is removed by the next save.  Data order,
 * dropout and samples are functions of the step, so nothing else needs to be
 * kept for a run to go on bit for bit.
 *
 * The run's metrics up to here are brought to the disk first, so that its curve
 * has no hole after a crash.  Saving copies the state and returns; a thread
 * writes it.  Then older ones go that no rule keeps: the newest N, every Mth
 * step, the best (the link "best").
 *
 * A disk that is full is no reason to lose a training: a checkpoint that cannot
 * be written is warned of, recorded in the run as event/checkpoint_lost, and
 * the next one is tried again.  Only checkpoint_last() fails if it is not
 * written.
 */
struct checkpoint {
    const struct checkpoint_settings *conf;
    char *folder;
    struct run *run;                    /* or NULL */
    struct checkpoint_writing *writing; /* or NULL */
    int lock;                           /* of the folder, or -1 */
    int64_t written;                    /* the last step that was, or -1 */
    int64_t rolled_to, rollbacks; /* the last target, how often in a row */
};

/* Fails if another training that runs has the folder: each would remove what
 * the other writes.  Checkpoints of steps after the one that the job begins at
 * get another name. */
int checkpoint_open(struct checkpoint *, const struct job *, const char *folder,
                    struct run *, struct err *);
void checkpoint_close(struct checkpoint *);

int checkpoint_save(struct checkpoint *, struct job *, struct err *);
/* The same, and it is the best so far. */
int checkpoint_best(struct checkpoint *, struct job *, struct err *);
/* The one that training ends with: all ranks wait until it is written. */
int checkpoint_last(struct checkpoint *, struct job *, struct err *);

/* Back to the newest checkpoint, past the data that led astray. */
int checkpoint_rollback(struct checkpoint *, struct job *, struct report *,
                        struct err *);

/* The newest in a folder that verifies: a path the caller frees, or NULL. */
char *checkpoint_newest(const char *folder);
/* What `word` means: a checkpoint, a folder of them, a run (by name or id), or
 * "auto", the newest of this experiment and name, for which NULL without an
 * error says that there is none yet.  A NULL word is the newest of all. */
char *checkpoint_find(const struct settings *, const char *word, struct err *);
/* Are the files what state.json says? */
int checkpoint_verify(const char *path, struct err *);
char *checkpoint_run_id(const char *path, struct err *);

/* Weights alone, or all of the training. */
int checkpoint_load_weights(const char *path, struct job *, struct err *);
int checkpoint_load(const char *path, struct job *, struct err *);

#endif
