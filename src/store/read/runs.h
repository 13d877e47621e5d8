#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/stats/paired.h"
#include "store/format/info.h"

/*
 * runs - load runs out of a store
 *
 *      struct runs runs = { 0 };
 *
 *      if (runs_select(&runs, "mlruns", argv, argc, 0, e) < 0)
 *          return -1;
 *      for (i = 0; i < runs.n; i++)
 *          printf("%s %s\n", runs.run[i].name, runs.run[i].id);
 *      if (series_load(&s, &runs.run[0], "train/loss", 0, e) < 0) ...
 *      runs_free(&runs);
 *
 * gtrack(1) lists the words that name runs.  If several runs have the same
 * name, it names all of them; an ambiguous prefix of an id is ERR_USAGE.
 * Deleted runs, if they are loaded at all, are considered only if no other run
 * matches.  A damaged run is loaded as far as possible, with the problem in
 * `damage`; it never hides another.  All strings belong to the arena of struct
 * runs.
 */
struct runs {
    struct arena mem;
    struct run_info *run;
    size_t n, room;
    struct err unread; /* why a run, or the runs of an experiment,
                                 * could not be read; or ERR_NONE */
};

/* All runs of the store, oldest first.  A missing store is ERR_MISSING. */
int runs_load(struct runs *, const char *root, int flags, struct err *);
/* Only the runs with these ids, as far as they exist. */
int runs_load_ids(struct runs *, const char *root, char *const *ids, int n,
                  int flags, struct err *);
/* Only the runs that the words name; each must name at least one (ERR_MISSING).
 * If a word refers to metrics, they are loaded whatever the flags are. */
int runs_select(struct runs *, const char *root, char **words, int n, int flags,
                struct err *);
/* Keep the cells of the sweep of this name, or the children of the run that
 * `name` names; ERR_MISSING if there is neither. */
int runs_keep_sweep(struct runs *, const char *root, const char *name,
                    int flags, struct err *);
/* The first word that is the name of a run or a beginning of its id; n if there
 * is none. */
int runs_word(const struct run_info *, char **words, int n);
/* Sort by the words that named the runs; those of one word stay in order. */
void runs_sort_as_named(struct runs *, char **words, int n);
/* Print a warning for each damaged run, before it is copied or sent. */
void runs_warn_damage(const struct runs *);
/* The same for each run with a parameter or tag that looks like a secret. */
void runs_warn_secrets(const struct runs *);
void runs_free(struct runs *);

/* Loading runs judges which are no longer written, as gtrack-store(5)
 * describes, often by a heartbeat that has not moved for some time.  This waits
 * until each of the heartbeats has moved or is judged, or a signal comes. */
void runs_await_beats(struct runs *, const char *root);

/* The history of one metric, ordered by step.  An outline of it (outline.h) has
 * some of the points, and says of how many others each is the first one, and
 * what their mean is. */
struct series {
    size_t n;
    int64_t *step, *ms;
    double *value;
    double *mean; /* NULL if these are all points */
    uint32_t *weight;
};

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
/* Of a metric in its file: the first value of a step, or else the last value of
 * it or, if there is none, of the last step before it.  False for none, and
 * with an error if the file cannot be read. */
bool series_at(double *value, const struct run_info *, const char *key,
               int64_t step, bool first, struct err *);
/* The median of a metric in its file; false if it has no values but NaN, and
 * with an error if it cannot be read. */
bool series_median(double *value, const struct run_info *, const char *key,
                   struct err *);
void series_free(struct series *);

/*
 * run_rate - the speed of a whole run
 *
 *      if (run_rate_is(key))
 *          speed = run_rate(run, key);
 *
 * The mean of rates is no rate: fast steps count as much as slow ones, which
 * take longer.  The tokens per second of a run are its tokens divided by the
 * time of all its attempts, from their start to their end, and its MFU and
 * FLOP/s follow from them.  Tokens that another run has trained on, whose
 * checkpoint this one continues, do not count.  If a run does not record its
 * tokens, each of its points stands for as much work as the others.
 */
bool run_rate_is(const char *key);
/* The time of all attempts until a moment, in seconds. */
double run_rate_seconds(const struct run_info *, int64_t ms);
/* NaN if the run has no such points, and with an error if they cannot be read.
 */
double run_rate(const struct run_info *, const char *key, struct err *);
/* That of the steps after one (INT64_MIN: from the start) up to another. */
double run_rate_between(const struct run_info *, const char *key, int64_t after,
                        int64_t to, struct err *);
/* That of a speed, or else the highest or lowest value of a metric; NaN if
 * there is none, or if it is infinite: a run that diverged is never the best
 * one, and with an error if it cannot be read.  The key may be NULL. */
double run_rate_best(const struct run_info *, const char *key, bool high,
                     struct err *);

/* Do two groups of runs differ in a metric?  The differences a - b of runs with
 * equal seeds (parameter train.seed or seed), or of the only pair, in the last
 * quarter of the steps at which both have a value. */
int paired_groups(struct paired *, const struct run_info *const *a, size_t n,
                  const struct run_info *const *b, size_t n_b, const char *key,
                  struct err *);
