#ifndef STORE_RUN_H
#define STORE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * run - write one run into the store
 *
 *      struct run_conf c = { .root = "mlruns", .experiment = "c4" };
 *      struct run *run;
 *
 *      if (run_begin(&run, &c, e) < 0)
 *          return -1;
 *      run_param(run, "optim.lr", "0.0006");
 *      run_tag(run, "note", "first try");
 *      for (step = 1; ...; step++)
 *          run_metric(run, "train/loss", step, loss);
 *      return run_end(run, RUN_FINISHED, e);
 *
 * The files are those of MLflow's file store, laid out in gtrack-store(5).
 * Between begin and end nothing fails: what cannot be written now is kept and
 * tried again, the first failure is warned of once, and run_end() says whether
 * anything was lost.  It is kept within bounds: when a store is gone for so
 * long that the memory for waiting points is full, every second one is given
 * up, the oldest first.  Points are handed to a thread of the run's own, which
 * brings them to the kernel at least once a second in whole lines, so the
 * caller waits for a memory copy and no longer.  All functions may be called
 * from any thread.  One process writes a run; any number may read it.
 */
struct run;

enum run_status {
    RUN_RUNNING = 1,            /* MLflow's numbers */
    RUN_SCHEDULED,
    RUN_FINISHED,
    RUN_FAILED,
    RUN_KILLED,
    RUN_PREEMPTED,              /* ours: MLflow sees KILLED */
    RUN_STALE,                  /* ours: never written, found by readers */
};

struct run_conf {
    const char *root;           /* the store; made if it is not there */
    const char *experiment;     /* by name; NULL is "Default" */
    const char *name;           /* NULL: run1, run2, ... the next free one */
    const char *parent;         /* id of the run this one belongs to, or NULL */
    const char *resume;         /* id of a run to go on with, or NULL */
    const char *command;        /* the command line, recorded as it is */
    const char *tensorboard;    /* tell TensorBoard, too: event files in the
                                 * folder of the run's name in this; or NULL */
    double flush_secs;          /* 0: one second */
    int64_t memory;             /* bytes that may wait for the store; 0: a
                                 * 16th of the machine's, 2 GiB at most */
    int cpus, gpus;             /* in use, over all ranks; 0: those of this
                                 * process, and none */
    bool no_cpus;               /* it stands for others and uses none itself */
    bool no_capture;            /* leave git, host and environment out */
};

int run_begin(struct run **, const struct run_conf *, struct err *);
const char *run_id(const struct run *);         /* 32 hexadecimal digits */
const char *run_name(const struct run *);       /* "run42" */
const char *run_folder(const struct run *);     /* ROOT/EXPERIMENT/ID */

void run_param(struct run *, const char *key, const char *value);
void run_paramf(struct run *, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void run_tag(struct run *, const char *key, const char *value);

void run_metric(struct run *, const char *key, int64_t step, double value);
/* Many values of one step, with one time stamp. */
struct run_point {
    const char *key;
    double value;
};
void run_metrics(struct run *, int64_t step, const struct run_point *,
                 int count);
/* A step that is taken back: the run continues after STEP (resume, rollback).
 * Later attempts win in the default view. */
void run_rewind(struct run *, int64_t step);

/* A dataset that the run reads: its name, a digest of its content (36
 * characters at most), where it is, as JSON and a word for its kind, and what
 * it is for: "training", "validation".  Strings may be NULL but for the name.
 */
struct run_dataset {
    const char *name, *digest, *source, *source_type, *schema, *profile;
    const char *context;
};
int run_dataset(struct run *, const struct run_dataset *, struct err *);

/* An artifact's path inside the run, its folders made; the caller frees it and
 * writes the file. */
char *run_artifact(struct run *, const char *name);

/* Bring everything written so far to the kernel. */
int run_flush(struct run *, struct err *);
/* Why the run ends as it will, in a few words: "loss is nan at step 7". */
void run_reason(struct run *, const char *reason);
/* End the run, wait for its thread, free it.  A NULL run is no error. */
int run_end(struct run *, enum run_status, struct err *);

#endif
