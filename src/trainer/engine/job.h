#ifndef TRAINER_ENGINE_JOB_H
#define TRAINER_ENGINE_JOB_H

#include "kernels/dev.h"
#include "trainer/engine/job_data.h"
#include "trainer/model/gpt.h"
#include "trainer/model/optim.h"
#include "trainer/model/recording.h"
#include "trainer/ranks/coll.h"
#include "trainer/ranks/parallel.h"

/*
 * job - a model in memory, with its data, its device and the other ranks
 *
 *      struct job j = { 0 };
 *
 *      if (job_open(&j, &settings, JOB_TRAIN, e) < 0) ...
 *      job_close(&j);
 *
 * Training, evaluation and sampling share this; state that only one of them
 * needs is in a struct of its own (train, step, report, checkpoint, sampler).
 * job_close() also closes a job that job_open() failed to open.
 */
struct job {
    struct settings *set;
    struct launch launch;
    struct coll coll;
    struct dev dev;
    struct job_data data;
    struct gpt gpt;
    struct optim optim;
    struct parallel parallel;
    struct recording recording;
    struct job_batch { /* one micro-batch, on the host */
        int32_t *x, *y;
        float *losses; /* long enough for all of a step */
    } batch;
    struct job_state {   /* what a checkpoint restores */
        int64_t step;    /* steps done */
        int64_t tokens;  /* that training has seen */
        int64_t updates; /* steps that moved the weights */
        int64_t skipped; /* sequences skipped after rollbacks */
        double seconds;  /* spent in training, in earlier attempts */
        double loss_scale;
        int64_t good_steps; /* since the loss scale last moved */
        double best_loss;   /* of validation; infinite at first */
        int64_t best_step;
        int64_t bad_evals; /* validations since */
        bool val_due;      /* a signal stopped the one of this step */
    } state;
    struct job_clock {
        double started; /* clock_mono() of this attempt */
        double agreed;  /* job_seconds() of rank 0 at the last step */
    } clock;
    int64_t memory[DEV_MODEL_USES]; /* bytes, of the rank that needs most */
};

enum job_purpose {
    JOB_TRAIN,
    JOB_BENCH, /* as for training, but without data */
    JOB_INFER
};

/* Where train.device comes from if each rank must have a GPU of its own. */
#define JOB_GPUS "--gpus"

int job_open(struct job *, struct settings *, enum job_purpose, struct err *);
void job_close(struct job *);

/* Read n windows from the given one on into the batch; -1 in y where
 * data.ignore says that there is nothing to predict. */
int job_read(struct job *, struct loader *, int64_t window, int64_t n,
             struct err *);

/* Run the model on the first n sequences of the batch, without gradients;
 * fills in their losses.  The others have no cost on a CPU. */
int job_forward(struct job *, int64_t n, struct err *);

/* What computes: the instructions of the CPU, or a description of the GPU.  The
 * last bits of results depend on it.  Returns out. */
char *job_instructions(struct job *, char *out, size_t room);

/* Seconds of training, in this attempt and those before. */
double job_seconds(const struct job *);
/* How much of the schedule is done, in steps, or by train.max_time. */
double job_position(const struct job *);

#endif
