#ifndef TRAINER_REPLAY_CERTIFY_H
#define TRAINER_REPLAY_CERTIFY_H

#include "store/read/runs.h"
#include "trainer/engine/engine.h"
#include "trainer/training/step.h"

/*
 * certify - compute steps of a run again, and compare them with its record
 *
 *      if (certify_open(&c, &eng, &run, e) == 0 &&
 *          certify_steps(&c, 101, 200, &result, e) == 0)
 *          ...
 *      certify_close(&c);
 *
 * Training is a function of the settings, the data and the step, so a step that
 * is computed again from a checkpoint gives the same loss, the same norm of the
 * gradient, the same validation loss where training validated and, where it
 * wrote a checkpoint, the same weights and moments, to the last bit.  A number
 * of ranks, of threads or a set of instructions other than those of training
 * may change the order of sums; then numbers may differ by CERTIFY_ROUNDING,
 * and weights are not compared.
 *
 * All ranks call these functions, with the same steps in ascending order.  The
 * run is only read.
 */
enum {
    CERTIFY_LOSS,
    CERTIFY_PERPLEXITY,
    CERTIFY_NORM,
    CERTIFY_LR,
    CERTIFY_VAL_LOSS,
    CERTIFY_VAL_PERPLEXITY,
    CERTIFY_VAL_BPB,
    CERTIFY_NUMBERS
};

struct certify {
    struct engine *engine;
    const struct run_info *run;
    struct step step;
    struct series number[CERTIFY_NUMBERS], skipped, rollback;
    struct series *source; /* the validation loss of each, or NULL */
    char other[96]; /* how this machine computes in another order, or "" */
};

struct certify_result { /* of rank 0 */
    int64_t from;       /* the step of the checkpoint; 0: the start */
    int64_t numbers;    /* that were compared */
    int64_t states;     /* weights and moments that were compared */
    double furthest;    /* the largest relative difference of a number */
    int64_t differs;    /* the first step that differs, on all ranks; or -1 */
    char what[160];     /* the difference */
};

/* Relative differences that rounding may cause, in fp32 and in 16 bits. */
#define CERTIFY_ROUNDING    1e-4
#define CERTIFY_ROUNDING_16 2e-2

/* The engine is open for training.  Fails if its data are not those of the
 * run, or if the run has no losses. */
int certify_open(struct certify *, struct engine *, const struct run_info *,
                 struct err *);
void certify_close(struct certify *);

/* Is the metric one that is computed?  Without validation data, those of
 * validation are not. */
bool certify_computes(const struct certify *, const char *metric);

/* Is there a loss of each step that should have one, and of no other?  Of a run
 * that was resumed this is not known: run.log_every may have changed. */
int certify_points(const struct certify *, struct err *);

/* Compute the steps from the newest checkpoint before them, and compare those
 * from `first` to `last`; the first that differs is the last computed. */
int certify_steps(struct certify *, int64_t first, int64_t last,
                  struct certify_result *, struct err *);

/* Compute the steps before `step`, and nothing of it; nothing is compared. */
int certify_advance(struct certify *, int64_t step, struct err *);

/* Compute the next step and update the weights. */
int certify_compute(struct certify *, struct err *);

/* The folder of the run's checkpoints; the caller frees it. */
char *certify_folder(const struct settings *, const struct run_info *);

#endif
