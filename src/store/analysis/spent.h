#pragma once

#include "common/err.h"
#include "store/read/runs.h"

/*
 * spent - what the time of a run was spent on
 *
 *      if (spent_load(&s, run, seconds, e) < 0)
 *          return -1;
 *      s.secs[SPENT_DATA] ...
 *
 * The parts follow from the times that training records (gtrain(1), METRICS)
 * and from the attempts.  `seconds` is the wall-clock time of all attempts; all
 * parts but SPENT_QUEUE add up to it.  A run that failed, or whose process
 * died, has SPENT_FAILED alone.
 */
enum spent_part {
    SPENT_COMPUTE,
    SPENT_DATA,       /* waiting for data */
    SPENT_RANKS,      /* waiting for other ranks */
    SPENT_EVAL,       /* validation, questions and samples */
    SPENT_CHECKPOINT, /* waiting for checkpoints */
    SPENT_REPEATED,   /* steps that a later attempt computed again */
    SPENT_FAILED,
    SPENT_OTHER, /* starting, and steps that no metric has */
    SPENT_QUEUE, /* between two attempts: no part of the wall-clock time */
    SPENT_PARTS
};

extern const char *const spent_words[SPENT_PARTS];

struct spent {
    double secs[SPENT_PARTS];
};

int spent_load(struct spent *, const struct run_info *, double seconds,
               struct err *);

/* The attempts at a run.  One that was killed has no end; it gets the time at
 * which it was last heard of, by a heartbeat or by a point. */
struct attempt *spent_attempts(struct arena *, const struct run_info *);

/* The wall-clock time of all attempts. */
double spent_seconds(const struct run_info *);

/* The energy that the GPUs of all ranks used in `seconds`, in joules; NaN if no
 * metric tells. */
int spent_joules(double *joules, const struct run_info *, double seconds,
                 struct err *);
