#ifndef STORE_FORMAT_ATTEMPT_H
#define STORE_FORMAT_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/info.h"

/*
 * attempt - which process writes a run, and whether it is alive
 *
 *      RUN/.gtrack/attempt.N.yaml
 *
 * Each process that begins or resumes a run is an attempt at it.  It has a file
 * of its own in the run, which it replaces every few seconds while it lives:
 * its heartbeat.  The newest attempt's file holds the state of the run, which
 * MLflow's integer cannot express in full.
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
                  enum path_links, struct err *);
/* Of the file; the caller frees it. */
char *attempt_path(const char *run, int number);
int attempt_save(const char *run, const struct attempt *, struct err *);

/* The status, or RUN_STALE instead of RUN_RUNNING if the process no longer
 * exists or its last heartbeat is older than three intervals. */
enum run_status attempt_status(const struct attempt *, int64_t now_ms);

/* How long it took, or has been running. */
double attempt_seconds(const struct attempt *, int64_t now_ms);

/* This process, as attempt NUMBER; strings belong to the arena. */
void attempt_self(struct attempt *, struct arena *, int number);

#endif
