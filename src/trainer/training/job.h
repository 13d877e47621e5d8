#ifndef TRAINER_TRAINING_JOB_H
#define TRAINER_TRAINING_JOB_H

#include "data/shards/loader.h"
#include "data/token/tokenizer.h"
#include "kernels/dev.h"
#include "trainer/model/gpt.h"
#include "trainer/model/optim.h"
#include "trainer/model/phases.h"
#include "trainer/model/replay.h"
#include "trainer/model/schedule.h"
#include "trainer/ranks/coll.h"
#include "trainer/ranks/parallel.h"
#include "trainer/settings/settings.h"

/*
 * job - everything a training has in memory, opened and closed together
 *
 *      struct job j = { 0 };
 *
 *      if (job_open(&j, &settings, e) < 0) ...
 *      job_close(&j);
 *
 * What the parts of training share is here; what one part alone needs is in
 * its own struct (report, checkpoint, eval).  job_close() takes a job that is
 * open in part.  gtrain eval and sample open a job without data to train on.
 */
struct job_state {   /* what a checkpoint must bring back */
    int64_t step;    /* steps done */
    int64_t tokens;  /* seen by training */
    int64_t updates; /* steps that moved the weights */
    int64_t skipped; /* windows passed over after a rollback */
    double seconds;  /* spent in training, over all attempts */
    double loss_scale;
    int64_t good_steps; /* since the loss scale last moved */
    double best_loss;   /* of validation; infinite at first */
    int64_t best_step;
    int64_t bad_evals; /* validations since */
    bool val_due;      /* that of this step was cut short by a signal */
};

struct job {
    struct settings *set;
    struct launch launch;
    struct coll coll;
    struct dev dev;
    struct tokenizer *tokenizer; /* or NULL */
    int32_t *token_bytes;        /* of each id, or NULL */
    struct loader *train, *val;  /* either may be NULL */
    struct gpt gpt;
    struct optim optim;
    struct parallel parallel;
    struct replay replay;
    struct phases phases;
    struct schedule schedule;
    struct job_state state;
    bool detect_anomaly;          /* look at every result */
    int64_t kept[DEV_MODEL_USES]; /* bytes, at most, of any rank */

    int32_t *x, *y; /* one micro-batch */
    float *losses;  /* of one micro-batch, or of a step */

    /* the last step, as it is reported */
    double loss, norm, lr;
    int64_t step_tokens;
    int64_t targets; /* this rank's, that count */
    double scale;    /* of the gradient: the mean over all ranks' targets */
    double step_seconds, wait_seconds;
    double agreed;        /* seconds of training by rank 0's clock */
    bool asked_to_stop;   /* a signal came to a rank */
    double sent;          /* bytes, in the step, by a rank in the mean */
    uint64_t sent_before; /* by this rank, until the step began */
    double started;       /* clock_mono() of this attempt */
};

enum job_for {
    JOB_TRAIN,
    JOB_BENCH, /* to train, but on no data */
    JOB_INFER
};

int job_open(struct job *, struct settings *, enum job_for, struct err *);
/* The data of data.val, as eval. says; job_open() does it for training. */
int job_open_val(struct job *, struct err *);
void job_close(struct job *);

/* n windows from the first one on, into x and y; -1 in y where data.ignore says
 * that there is nothing to predict. */
int job_read(struct job *, struct loader *, int64_t first, int64_t n,
             struct err *);

/*
 * Can these settings be trained with by `ranks` processes?  They are resolved,
 * and what they name is opened and closed again; an error says which line asks
 * for what is not there.  Settings that differ in little are checked one after
 * another at little cost: `seen` knows what was well the last time.
 */
struct job_checked {
    char *path, *data;
    struct tokenizer *tokenizer;
    int64_t vocab;
};

int job_check(struct settings *, int ranks, struct job_checked *seen,
              struct err *);
void job_checked_clear(struct job_checked *);

/* Seconds of training, this attempt's and those before. */
double job_seconds(const struct job *);
/* How much of the schedule is done, in steps, or by train.max_time. */
double job_position(const struct job *);

#endif
