#ifndef TRACK_RUNS_TRACK_H
#define TRACK_RUNS_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/opt.h"
#include "common/table.h"
#include "store/load.h"

/*
 * track - what the commands of gtrack share
 *
 * A command fills a struct table, which knows how to print itself; it formats
 * nothing of its own.
 */
#define TRACK_OPTS                                                             \
 {                                                                             \
  'r', "root", "dir", OPT_STRING, &track_root,                                 \
      "use this store (default: GTRACK_ROOT or mlruns)"                        \
 }

extern const char *track_root;
const char *track_store(void); /* what -r, GTRACK_ROOT or nothing name */

/* Options that choose runs, for the commands that take many. */
struct track_choice {
    const char *where, *experiment, *status, *sweep, *since, *sort;
    int limit;
    bool deleted, attempts;
};

/* clang-format off */
#define TRACK_CHOICE_OPTS(c) \
    { 'w', "where", "filter", OPT_STRING, &(c).where, \
      "select only runs for which FILTER is true" }, \
    { 'e', "experiment", "name", OPT_STRING, &(c).experiment, \
      "select only runs of this experiment" }, \
    { 0, "status", "word", OPT_STRING, &(c).status, \
      "select only runs with this status, as in running" }, \
    { 0, "sweep", "name", OPT_STRING, &(c).sweep, \
      "select runs of this sweep or children of this run" }, \
    { 0, "since", "time", OPT_STRING, &(c).since, \
      "select only runs started since TIME, as in 2h, 3d or 2026-11-21" }, \
    { 0, "sort", "column", OPT_STRING, &(c).sort, \
      "sort by this column; -column reverses the order" }, \
    { 'n', "limit", "count", OPT_INT, &(c).limit, \
      "select at most COUNT runs" }, \
    { 'd', "deleted", NULL, OPT_FLAG, &(c).deleted, "include deleted runs" }
/* clang-format on */

/*
 * The runs that words and options choose, sorted.  No words are all runs.  A
 * word that names none is ERR_MISSING; a filter that none passes is not.
 */
int track_choose(struct runs *, const struct track_choice *, char **words,
                 int n, int flags, struct err *);
/* Exactly one run, named by a word (NULL: @latest). */
int track_one(struct runs *, const char *word, int flags, struct err *);

/* Would a greater value of this metric be better (1), a smaller one (-1), or
 * is it neither (0)?  Told from its name. */
int track_direction(const char *metric);

/* How long it ran, or has been running; seconds. */
double track_seconds(const struct run_info *);
/* The greatest step any of its metrics has; -1 for none. */
int64_t track_last_step(const struct run_info *);
enum table_mark track_status_mark(enum run_status);

/* Refuse more words than a command takes, or fewer: "show takes one RUN". */
int track_words(int argc, int least, int most, const char *usage, struct err *);

/* "key=value" apart; the caller frees *key. */
int track_apart(const char *text, char **key, const char **value, struct err *);
/* Are all of a list such?  Then they are put to a run, by run_param() or
 * run_tag(). */
int track_check_pairs(const struct opt_list *, struct err *);
typedef void track_put_fn(struct run *, const char *key, const char *value);
void track_put_pairs(struct run *, const struct opt_list *, track_put_fn *);

/* Ask on the terminal; true without one only if yes is given. */
bool track_confirm(bool yes, const char *question, struct err *);

#endif
