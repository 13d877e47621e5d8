#pragma once

#include <stdbool.h>
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
 * of its own, which it replaces every few seconds: its heartbeat.
 * gtrack-store(5) describes the file, the lock beside it, and what both tell.
 * Where nothing is known, the process is taken to be alive.
 */
struct attempt {
    int number;
    enum run_status status;
    int64_t start_ms, end_ms, beat_ms; /* end 0 while running */
    int64_t interval_ms;               /* from one heartbeat to the next */
    int64_t pid, pid_start;            /* start: clock ticks after boot, or 0 */
    int64_t cpus, gpus;                /* in use */
    const char *host, *boot;           /* boot: the kernel's boot_id */
    const char *pids;                  /* the namespace of its pid, or "" */
    const char *lock;                  /* the file that it keeps locked, or
                                        * NULL if locks are not possible */
    const char *job;                   /* Slurm's id, or NULL */
    const char *user, *command, *reason; /* or NULL */
};

enum { ATTEMPT_BEAT_MS = 10000 };

struct attempt_list {
    struct attempt *item; /* by number */
    size_t n;
    int last; /* the highest number, also of a damaged file; or 0 */
};

/* The attempts at a run; a run of another tool has none, and damaged ones are
 * left out.  -1 if one cannot be read because of a failure of the system. */
int attempts_load(struct attempt_list *, struct arena *, const char *run,
                  enum path_links, struct err *);
/* Of the file; the caller frees it. */
char *attempt_path(const char *run, int number);
/* A heartbeat need not wait until it is on the disk.  If `exists` is not NULL,
 * one that another process has saved under this number stays, and *exists is
 * set. */
int attempt_save(const char *run, const struct attempt *, bool sync,
                 bool *exists, struct err *);

/* Create the file to keep locked, and name it in the attempt.  Returns its
 * descriptor, or -1 without an error where locks are not possible. */
int attempt_lock(const char *run, struct attempt *, struct arena *,
                 struct err *);
/* Remove that file; the lock ends when its descriptor is closed. */
void attempt_unlock(const char *run, const struct attempt *);

/* Is there no newer attempt?  ERR_BUSY names it. */
int attempt_check(const char *run, int number, struct err *);

/* Does the process of a running attempt exist? */
enum attempt_life {
    ATTEMPT_GONE,
    ATTEMPT_UNKNOWN, /* only its heartbeat can tell */
    ATTEMPT_ALIVE,
    ATTEMPT_HERE, /* alive, on this machine */
};

enum attempt_life attempt_life(const char *run, const struct attempt *);
/* Watch a running attempt until it ends or is gone.  ERR_BUSY if it is alive:
 * it is on this machine, its heartbeat moves, or its lock is held longer than
 * twelve intervals.  A heartbeat that nothing locks and that stands still for
 * three counts as an end. */
int attempt_await(const char *run, const struct attempt *, struct err *);

/* The status, or RUN_STALE instead of RUN_RUNNING if the process is gone.  If
 * that is not known, it is alive, until somebody looks twice (read/runs.h).
 * One that no process keeps is open until three intervals have passed. */
enum run_status attempt_status(const char *run, const struct attempt *,
                               int64_t now_ms);

/* When its heartbeat moved, by the clock of the file system; 0: unknown.  The
 * process replaces the file, or one that keeps the run touches it. */
int64_t attempt_beat_ms(const char *run, const struct attempt *);

/* How long it took, or has been running. */
double attempt_seconds(const char *run, const struct attempt *, int64_t now_ms);

/* The kernel's, which each start of a machine has anew; "" if unknown. */
const char *attempt_boot_id(struct arena *);
/* This process, as attempt NUMBER; strings belong to the arena. */
void attempt_self(struct attempt *, struct arena *, int number);
/* Another process of this machine, in the same containers. */
void attempt_other(struct attempt *, struct arena *, int number, int64_t pid);
/* Is it this process? */
bool attempt_is_self(const struct attempt *);
