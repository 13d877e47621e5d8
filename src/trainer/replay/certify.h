#pragma once

#include "store/read/runs.h"
#include "trainer/checkpoint/checkpoint_files.h"
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
 * gtrain(1), replay, says which numbers, weights and moments must be equal to
 * the last bit, what else may round differently, and when it cannot be told
 * what the run has computed.  If something rounds differently, each checkpoint
 * of the run is loaded when its step is reached; and if a number is too far
 * off, the steps since the checkpoint are computed again, from weights that
 * differ in a few last bits.
 *
 * All ranks call these functions, with the same steps in ascending order, which
 * the run has computed in one way.  The run is only read.
 */
/* In the order of run_info_provable[]. */
enum {
    CERTIFY_LOSS,
    CERTIFY_PERPLEXITY,
    CERTIFY_NORM,
    CERTIFY_LR,
    CERTIFY_TOKENS,
    CERTIFY_FLOPS,
    CERTIFY_NOISE,
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
    struct series *answer; /* behind them, ANSWERS of each task */
    int64_t begins;        /* certify_begins(); 0: the start */
    int64_t since;         /* the step of the weights that were loaded last */
    const char *handover;  /* folder of the checkpoints of another process that
                           * computed the steps before, or NULL */
    int64_t same; /* the last step whose weights have the recorded sums */
    int64_t lost; /* the `since` of steps that cannot be told, or -1 */
    struct checkpoint_copy start; /* of `since`, if rounding may differ */
    double val;                   /* the validation loss computed last */
    char other[320]; /* how this machine may round differently, or "" */
};

struct certify_result { /* of rank 0 */
    int64_t from;       /* the step of the checkpoint; 0: the start */
    int64_t numbers;    /* that were compared */
    int64_t states;     /* weights and moments that were compared */
    double furthest;    /* the largest relative difference of a number */
    int doubt;          /* the number that judge() will judge, or -1, */
    double off;         /* and how far it is off */
    bool rounded;       /* not all were equal to the last bit */
    int64_t differs;    /* the first step that differs, on all ranks; or -1 */
    char what[160];     /* the difference */
    char unknown[400];  /* why some of it cannot be told, or "" */
};

/* Relative differences that are certified as rounding, in fp32 and in 16 bits,
 * at the step after a checkpoint; they grow by as much every 10 steps, up to
 * three times.  A number is false if it is off by ten times as much, and by
 * 1,000 times what a few last bits move it, or 10 times in 16 bits.  Honest
 * numbers of small models with learning rates from 0.3 to 3 were off by up to
 * 400 times as much, half of them by less than once. */
#define CERTIFY_ROUNDING    1e-4
#define CERTIFY_ROUNDING_16 2e-2

/* The engine is open for training with the settings that a step was computed
 * with.  Fails if its data are not those of the run, or if the run
 * has no losses. */
int certify_open(struct certify *, struct engine *, const struct run_info *,
                 int64_t step, struct err *);
void certify_close(struct certify *);

/* Part of certify_open(): are the data, and what follows from the settings,
 * those of the run?  Notes what may round differently here. */
int certify_record(struct certify *, struct err *);

/* Is there a loss of each step that should have one, and of no other?  Where
 * training ends, only the settings of the last attempt say.  Of a run that was
 * resumed by an earlier version none of this is known. */
int certify_points(const struct certify *, struct err *);

/* Compute the steps from the newest checkpoint before them, and compare those
 * from `first` to `last`; the first that differs is the last computed. */
int certify_steps(struct certify *, int64_t first, int64_t last,
                  struct certify_result *, struct err *);

/* Compute the steps before `step`, and nothing of it; nothing is compared. */
int certify_advance(struct certify *, int64_t step, struct err *);

/* Compute the next step and update the weights. */
int certify_compute(struct certify *, struct err *);

/* Write a checkpoint of this step, from which another process goes on. */
int certify_hand_over(struct certify *, struct err *);

/* The first of the steps around one that were all computed alike, with
 * the same settings, ranks and instructions; 0 for the start of the run.  *next
 * is the first step after them, or INT64_MAX; NULL is allowed. */
int64_t certify_begins(const struct run_info *, int64_t step, int64_t *next);

/* The folder of the run's checkpoints; `folder` is the setting
 * checkpoint.folder, or NULL.  The caller frees it. */
char *certify_folder(const char *folder, const struct run_info *);
