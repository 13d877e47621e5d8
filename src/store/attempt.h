#ifndef STORE_ATTEMPT_H
#define STORE_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/run.h"

/*
 * attempt - who writes a run, and whether he is alive
 *
 *      RUN/.gtrack/attempt.N.yaml
 *
 * A process that begins or resumes a run is an attempt at it, and has a file
 * of its own in the run, replaced whole every few seconds while it lives: its
 * heartbeat.  The newest attempt's file is the state of the run, beyond what
 * MLflow's integer can say.
 *
 *      RUN/.gtrack/rewinds
 *
 * An attempt that resumes at an earlier step retracts what came after it.
 * Nothing is removed: a block here says how long each metric's file was when
 * that happened, "OFFSET KEY" a line, after "rewind STEP TIME ATTEMPT COUNT".
 * Points before the offset and after the step are not in the default view.
 */
struct attempt {
    int number;
    enum run_status status;
    int64_t start_ms, end_ms, beat_ms; /* end 0 while running */
    int64_t interval_ms;               /* from one heartbeat to the next */
    int64_t pid, pid_start;            /* start: clock ticks after boot, or 0 */
    int64_t cpus, gpus;                /* that were used */
    const char *host, *boot;           /* boot: the kernel's boot_id */
    const char *job;                   /* Slurm's id, or NULL */
    const char *user, *command, *reason; /* or NULL */
};

enum { ATTEMPT_BEAT_MS = 10000 };

struct attempt_list {
    struct attempt *item; /* by number */
    size_t n;
};

/* Those of a run; a run of another tool has none. */
void attempts_load(struct attempt_list *, struct arena *, const char *run);
int attempt_save(const char *run, const struct attempt *, struct err *);

/* The same status, but RUN_STALE for a run whose writer is gone: its process
 * is not there, or its last heartbeat is older than three intervals. */
enum run_status attempt_status(const struct attempt *, int64_t now_ms);

/* This process, as attempt NUMBER; strings belong to the arena. */
void attempt_self(struct attempt *, struct arena *, int number);

struct rewind {
    int64_t step, ms;
    int attempt;
    size_t n;
    struct rewind_mark {
        int64_t offset;
        const char *key;
    } * mark;
};

struct rewind_list {
    struct rewind *item; /* in the order they happened */
    size_t n;
};

void rewinds_load(struct rewind_list *, struct arena *, const char *run);
int rewind_add(const char *run, const struct rewind *, struct err *);

#endif
