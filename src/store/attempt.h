#ifndef STORE_ATTEMPT_H
#define STORE_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/run.h"

/*
 * attempt - which process writes a run, and whether it is alive
 *
 *      RUN/.gtrack/attempt.N.yaml
 *
 * Each process that begins or resumes a run is an attempt at it.  It has a file
 * of its own in the run, which it replaces every few seconds while it lives:
 * its heartbeat.  The newest attempt's file holds the state of the run, which
 * MLflow's integer cannot express in full.
 *
 *      RUN/.gtrack/rewinds
 *
 * An attempt that resumes at an earlier step retracts what came after that
 * step.  Nothing is removed from the metrics' files: a block in this file tells
 * how long each of them was, in one line "OFFSET KEY" each, after the line
 * "rewind STEP TIME ATTEMPT COUNT".  Points before the offset and after the
 * step are left out of the default view.
 */
struct attempt {
    int number;
    enum run_status status;
    int64_t start_ms, end_ms, beat_ms; /* end 0 while running */
    int64_t interval_ms;               /* from one heartbeat to the next */
    int64_t pid, pid_start;            /* start: clock ticks after boot, or 0 */
    int64_t cpus, gpus;                /* in use */
    const char *host, *boot;           /* boot: the kernel's boot_id */
    const char *job;                   /* Slurm's id, or NULL */
    const char *user, *command, *reason; /* or NULL */
};

enum { ATTEMPT_BEAT_MS = 10000 };

struct attempt_list {
    struct attempt *item; /* by number */
    size_t n;
};

/* The attempts at a run; a run of another tool has none, and damaged ones are
 * left out.  -1 if one cannot be read because of a failure of the system. */
int attempts_load(struct attempt_list *, struct arena *, const char *run,
                  struct err *);
int attempt_save(const char *run, const struct attempt *, struct err *);

/* The status, or RUN_STALE instead of RUN_RUNNING if the process no longer
 * exists or its last heartbeat is older than three intervals. */
enum run_status attempt_status(const struct attempt *, int64_t now_ms);

/* How long it took, or has been running. */
double attempt_seconds(const struct attempt *, int64_t now_ms);

/* This process, as attempt NUMBER; strings belong to the arena. */
void attempt_self(struct attempt *, struct arena *, int number);

/* Where the files of metrics were cut, and back to which step; by key, and for
 * one key in the order in which it happened. */
struct rewind_list {
    struct rewind_cut {
        const char *key;
        size_t place; /* in that order */
        int64_t offset, step;
    } * cut;
    size_t n;
};

/* The cuts of one metric, or of all if the key is NULL; -1 as above. */
int rewinds_load(struct rewind_list *, struct arena *, const char *run,
                 const char *key, struct err *);
/* Those of one metric, n of them. */
const struct rewind_cut *rewind_cuts(const struct rewind_list *,
                                     const char *key, size_t *n);
/* Retract all points so far of steps after this one; ms is the time now. */
int rewind_add(const char *run, int attempt, int64_t step, int64_t ms,
               struct err *);

#endif
