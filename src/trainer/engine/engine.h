#pragma once

#include "kernels/dev.h"
#include "trainer/engine/engine_data.h"
#include "trainer/model/gpt.h"
#include "trainer/model/optim.h"
#include "trainer/ranks/coll.h"
#include "trainer/ranks/parallel.h"

/*
 * engine - a model in memory, with its data, its device and the other ranks
 *
 *      struct engine eng = { 0 };
 *
 *      if (engine_open(&eng, &settings, ENGINE_TRAIN, e) < 0) ...
 *      engine_close(&eng);
 *
 * Training, evaluation and sampling share this; state that only one of them
 * needs is in a struct of its own (train, step, report, checkpoint, sampler).
 * engine_close() also closes an engine that engine_open() failed to open.  If
 * weights.folder is set before, engine_open() calls weights.check() when it
 * knows the shapes of the model, and has not yet allocated memory for it.
 */
struct engine {
    struct settings *set;
    struct launch launch;
    struct coll coll;
    struct dev dev;
    struct engine_data data;
    struct gpt gpt;
    struct optim optim;
    struct parallel parallel;
    struct recording recording;
    struct engine_weights { /* what will be loaded, if anything */
        const char *folder;
        int (*check)(const struct engine *, struct err *);
    } weights;
    struct engine_batch { /* one micro-batch, on the host */
        int32_t *x, *y;
        float *losses;    /* long enough for all of a step */
        int32_t *teacher; /* its words (head_fn), or NULL */
    } batch;
    struct engine_state { /* what a checkpoint restores */
        int64_t step;     /* steps done */
        int64_t tokens;   /* that training has seen */
        int64_t updates;  /* steps that moved the weights */
        int64_t skipped;  /* sequences skipped after rollbacks */
        double seconds;   /* spent in training, in earlier attempts */
        double loss_scale;
        int64_t good_steps; /* since the loss scale last moved */
        double best_loss;   /* of validation; infinite at first */
        int64_t best_step;
        int64_t bad_evals; /* validations since */
        double noise[2];   /* see step_add_noise() */
        int due; /* what a signal kept from being done: enum engine_due */
    } state;
    struct engine_recent {   /* so, too: what step_judge() judges by */
        double *loss, *norm; /* of the last good steps, the oldest first */
        int n;
        int64_t skips; /* steps skipped in a row */
    } recent;
    struct engine_clock {
        double started; /* clock_mono() of this attempt */
        double agreed;  /* engine_seconds() of rank 0 at the last step */
    } clock;
    int64_t memory[DEV_MODEL_USES]; /* bytes, of the rank that needs most */
};

enum engine_purpose {
    ENGINE_TRAIN,
    ENGINE_BENCH, /* as for training, but without data */
    ENGINE_INFER
};

/* Where train.device comes from if each rank must have a GPU of its own. */
#define ENGINE_GPUS "--gpus"

int engine_open(struct engine *, struct settings *, enum engine_purpose,
                struct err *);
void engine_close(struct engine *);

/* Check that all ranks compute the same: compares the program, the tokenizer,
 * the names, sizes and samples of the token files that are open, and the
 * instruction set or the GPU.  A difference is an error of kind ERR_RANK on
 * every rank, which names a rank that differs from rank 0.  Where only the last
 * bits of results depend on it, it is a warning, unless train.deterministic is
 * set.  coll_open() has compared the settings. */
int engine_agree(struct engine *, struct err *);

/* Read n windows from the given one on into the batch; -1 in y where
 * data.ignore says that there is nothing to predict. */
int engine_read(struct engine *, struct loader *, int64_t window, int64_t n,
                struct err *);
/* The same, of n sequences of the training data, with those of the teacher. */
int engine_read_train(struct engine *, int64_t first, int64_t n, struct err *);

/* The sequences of the training data before the next step. */
int64_t engine_sequences(const struct engine *);
/* Do the training data have the sequences of the next step? */
bool engine_has_data(const struct engine *);

/* Fill sequences `from` to `to` of the batch; they have no targets. */
void engine_pad(struct engine *, int64_t from, int64_t to);

/* Run the model on the first n sequences of the batch, without gradients;
 * fills in their losses.  The others have no cost on a CPU. */
int engine_forward(struct engine *, int64_t n, struct err *);

/* The instruction set of the CPU, or a description of the GPU; the last bits of
 * results depend on it.  Returns out. */
char *engine_instructions(struct engine *, char *out, size_t room);
/* And on the version and the hash of the program, and the libraries that
 * compute.  Both return out. */
char *engine_build(char *out, size_t room);
char *engine_libraries(char *out, size_t room);

/* Seconds of training, in this attempt and those before. */
double engine_seconds(const struct engine *);
/* How much of the schedule is done, in steps, or by train.max_time. */
double engine_position(const struct engine *);
