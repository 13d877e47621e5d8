#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "store/format/info.h"
#include "store/write/new_run.h"

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
 * The files have the form of MLflow's file store, described in gtrack-store(5).
 * Logging neither fails nor waits for the disk, as the GUARANTEES there say: a
 * thread of the run's own writes whole lines at least once a second, and
 * run_end() reports what was lost.  Any thread may call these functions.
 *
 * One process writes a run; any number may read it.  A run that another process
 * writes is not resumed: ERR_BUSY names that process.  If it is on another
 * machine and may have ended without a word, run_begin() waits for half a
 * minute to see whether its heartbeat moves.  A process that was stopped for so
 * long that another one resumed its run writes nothing more when it goes on:
 * run_check(), run_flush() and run_end() fail with ERR_BUSY.
 */
struct run;

/* Make the conf resume the run that was prepared for this program, if any; true
 * then.  A program that starts others, such as gtrack sweep, creates a run for
 * each of them and names it in GTRACK_RESUME, and its store in GTRACK_ROOT.
 * The first run that the other program would begin is this one, unless its conf
 * has an id, a parent or a run to resume.  The variable is removed, so that the
 * programs that this one starts do not write the same run. */
bool run_take_handed(struct run_conf *);

int run_begin(struct run **, const struct run_conf *, struct err *);
const char *run_id(const struct run *);     /* 32 hexadecimal digits */
const char *run_name(const struct run *);   /* "run42" */
const char *run_folder(const struct run *); /* ROOT/EXPERIMENT/ID */

void run_param(struct run *, const char *key, const char *value);
void run_paramf(struct run *, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void run_tag(struct run *, const char *key, const char *value); /* or NULL */

void run_metric(struct run *, const char *key, int64_t step, double value);
/* Several metrics of one step, with one time stamp. */
void run_metrics(struct run *, int64_t step, const struct run_point *,
                 int count);
/* run_metrics() for points that were measured `secs` seconds ago. */
void run_metrics_ago(struct run *, int64_t step, double secs,
                     const struct run_point *, int count);
/* Retract the points of later steps: the run continues after STEP. */
void run_rewind(struct run *, int64_t step);

int run_dataset(struct run *, const struct run_dataset *, struct err *);

/* Write an artifact; the folders that it needs are created. */
int run_artifact(struct run *, const char *name, const void *data, size_t n,
                 struct err *);
/* The path of an artifact, its folder created; the caller frees the path.
 * NULL, with a warning, if that fails or links in it lead out of the run. */
char *run_artifact_path(struct run *, const char *name);

/* -1 with ERR_BUSY if another process has taken the run over.  Then this one
 * writes nothing more of it, nor may its caller publish anything. */
int run_check(struct run *, struct err *);
/* Has run_check(), or the thread that writes, found that?  Never waits. */
bool run_is_lost(const struct run *);

/* Hand everything logged so far to the operating system. */
int run_flush(struct run *, struct err *);
/* Some of its output was lost, which run_end() will report. */
void run_lacks_output(struct run *);
/* Why the run is about to end, in a few words: "loss is nan at step 7". */
void run_reason(struct run *, const char *reason);
/* Write how and why the run ends, for a process that exits immediately after
 * this: other threads may still log, so that nothing is freed.  NULL: no
 * reason. */
void run_abandon(struct run *, enum run_status, const char *reason);
/* End the run, wait for its thread and free it.  The run may be NULL. */
int run_end(struct run *, enum run_status, struct err *);

/*
 * claimed_run - one run, though several processes begin it at once
 *
 *      char *id;
 *
 *      if (claimed_run_id(path, true, &id, e) == 0)
 *          ret = claimed_run_begin(&run, &conf, id, &made, e);
 *
 * A file that only one process can create holds the id for all of them.  One
 * process makes the run; to the others it is a run that is being written,
 * ERR_BUSY, or one to resume if that process has ended.  This needs no locks.
 */

/* The id in the file; the caller frees it.  If the file does not exist, it is
 * created with a new id, or ERR_MISSING. */
int claimed_run_id(const char *path, bool create, char **id, struct err *);

/* Resume the run of this id, or make it. */
int claimed_run_begin(struct run **, const struct run_conf *, const char *id,
                      bool *made, struct err *);
