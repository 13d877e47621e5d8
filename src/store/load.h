#ifndef STORE_LOAD_H
#define STORE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/run.h"

/*
 * load - read runs out of a store
 *
 *      struct runs runs = RUNS_INIT;
 *
 *      if (runs_select(&runs, "mlruns", argv, argc, 0, e) < 0)
 *          return -1;
 *      for (i = 0; i < runs.n; i++)
 *          printf("%s %s\n", runs.run[i].name, runs.run[i].id);
 *      if (series_load(&s, &runs.run[0], "train/loss", 0, e) < 0) ...
 *      runs_free(&runs);
 *
 * A run is named by its id, a unique prefix of it (4 digits or more), its name,
 * @latest, @best:METRIC (the lowest; @best:METRIC:max the highest), or a filter
 * ("metrics.loss < 3", see store/query/filter.h).  If several runs have the
 * same name, it names all of them; an ambiguous prefix is ERR_USAGE.  Deleted
 * runs, if they are loaded at all, are considered only if no other run matches.
 * A damaged run is loaded as far as possible, with the problem in `damage`; it
 * never hides another.  All strings belong to the arena of struct runs.
 *
 * params, tags and metrics are sorted by key (byte order).
 */
struct pair {
    const char *key, *value;
};

struct metric_sum {             /* a summary of a metric */
    const char *key;
    int64_t count;              /* points of the view that was loaded */
    int64_t retracted;          /* points that a rewind retracted */
    int64_t first_step, last_step;
    int64_t last_ms;            /* wall time of the last point */
    double last;                /* of the default view */
    double min, max, mean;      /* of its finite values; NaN if there is none */
    int64_t min_step, max_step;
    int64_t nonfinite;          /* how many are NaN or infinite */
};

struct attempt;

struct run_info {
    const char *id, *name, *experiment, *experiment_id, *folder;
    const char *artifacts;      /* folder of its artifacts */
    const char *artifact_uri;   /* from meta.yaml; may be elsewhere */
    const char *user, *parent;
    enum run_status status;
    bool deleted;
    int64_t start_ms, end_ms;   /* end 0 while running */
    int64_t seen_ms;            /* end, last heartbeat, or last point */
    int attempts;               /* 0 of a run that another tool wrote */
    const struct attempt *attempt;      /* by number; see store/attempt.h */
    const char *state_reason;   /* why it ended, or NULL */
    size_t n_params, n_tags, n_metrics, n_inputs;
    struct pair *params, *tags;
    struct metric_sum *metrics;
    struct run_dataset *inputs; /* the datasets that it read */
    const char *damage;         /* NULL when all is well */
    const char *torn;           /* a file whose last line is incomplete */
    bool unread;                /* damaged, as far as a failure of the system
                                 * lets us know; it may be deleted */
};

struct runs {
    struct arena mem;
    struct run_info *run;
    size_t n, room;
    struct err unread; /* why a run, or the runs of an experiment,
                                 * could not be read; or ERR_NONE */
};

#define RUNS_INIT                                                              \
 {                                                                             \
  ARENA_INIT, NULL, 0, 0, ERR_INIT                                             \
 }

enum {
    LOAD_DELETED = 1,      /* deleted runs too */
    LOAD_ALL_ATTEMPTS = 2, /* every point, not only the newest attempt's */
    LOAD_ONLY_DELETED = 8 + LOAD_DELETED,
    LOAD_NO_METRICS = 4, /* do not read metrics */
    LOAD_NO_INDEX = 64, /* read the files, even if the index has the run */
    LOAD_ONE_NAMED = 16, /* a name that several runs have is ERR_USAGE */
    LOAD_MAY_LACK = 32,  /* a metric that does not exist has no points */
};

/* All runs of the store, oldest first.  A missing store is ERR_MISSING. */
int runs_load(struct runs *, const char *root, int flags, struct err *);
/* Only the runs with these ids, as far as they exist. */
int runs_load_ids(struct runs *, const char *root, char *const *ids, int n,
                  int flags, struct err *);
/* Only the runs that the words name; each must name at least one (ERR_MISSING).
 * If a word refers to metrics, they are loaded whatever the flags are. */
int runs_select(struct runs *, const char *root, char **words, int n,
                int flags, struct err *);
/* Print a warning for each damaged run, before it is copied or sent. */
void runs_warn_damage(const struct runs *);
void runs_free(struct runs *);

/* Does the parameter describe the run itself ("derived.steps", "run.parent"),
 * and not how it was trained? */
bool run_param_is_derived(const char *key);
const char *run_info_param(const struct run_info *, const char *key);
const char *run_info_tag(const struct run_info *, const char *key);
const struct metric_sum *run_info_metric(const struct run_info *,
                                         const char *key);
const char *run_status_word(enum run_status);   /* "FINISHED" */

/* The history of one metric, ordered by step.  An outline of it (see
 * store/outline.h) has some of the points, and says of how many others each is
 * the first one, and what their mean is. */
struct series {
    size_t n;
    int64_t *step, *ms;
    double *value;
    double *mean; /* NULL if these are all points */
    uint32_t *weight;
};

#define SERIES_INIT                                                            \
 {                                                                             \
  0                                                                            \
 }

/* A metric that does not exist is ERR_MISSING, unless LOAD_MAY_LACK is set. */
int series_load(struct series *, const struct run_info *, const char *key,
                int flags, struct err *);

/* A part of a history: the points of these steps, and of those only the ones of
 * the last `last` steps (0: all). */
struct series_part {
    int64_t from, to, last;
};

/* Load a part, in memory for its points, however many the others are. */
int series_load_part(struct series *, const struct run_info *, const char *key,
                     const struct series_part *, int flags, struct err *);
/* The first value of a step; false if there is none. */
bool series_value(const struct series *, int64_t step, double *value);
void series_free(struct series *);

#endif
