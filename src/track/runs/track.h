#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/path.h"
#include "common/program.h"
#include "store/read/runs.h"
#include "store/write/run.h"

/*
 * track - functions and options that the commands of gtrack share
 *
 *      static struct track_selection selection = TRACK_SELECTION_INIT;
 *      static const struct opt ls_opts[] = {
 *          TRACK_OPT_ROOT,
 *          TRACK_OPTS_SELECTION(selection),
 *          { 0 }
 *      };
 *      struct runs runs = { 0 };
 *
 *      if (track_select(&runs, &selection, argc, argv, e) == 0)
 *          ...
 *      runs_free(&runs);
 *
 * The options are macros because each command lists them among its own, in the
 * order in which --help prints them.
 */
extern const char *track_root;
extern bool track_follow_links;
/* The store that --root, GTRACK_ROOT or the default names. */
const char *track_store(void);
/* LOAD_LINKS with --follow-links, else 0. */
int track_links(void);

/* For struct cmd: the command changes no files but those of the cache, or of
 * the cache and the store; only push opens connections. */
void track_confine_reader(void);
void track_confine_writer(void);
void track_confine_push(void);
/* The same for a command that changes several stores. */
void track_confine_stores(const char *const *roots, size_t n, bool connect);
/* Confine a command that also writes to a folder, which may be NULL. */
void track_confine_output(const char *folder);
void track_confine_folders(struct path_list *, bool connect);

/* The values of the options that select runs. */
struct track_selection {
    const char *where, *experiment, *sweep, *since, *sort;
    int status; /* index into track_status_words, or -1 */
    int limit;
    bool deleted, attempts, fresh;
};

/* The values of the options of a command that begins a run. */
struct track_new_run {
    const char *experiment;
    struct opt_list params, tags;
};

/* clang-format off */
#define TRACK_SELECTION_INIT ((struct track_selection){ .status = -1 })

#define TRACK_OPT_ROOT \
    { 'r', "root", "dir", OPT_STRING, &track_root, \
      "use this store (default: GTRACK_ROOT or mlruns)" }
#define TRACK_OPT_LINKS \
    { 0, "follow-links", NULL, OPT_FLAG, &track_follow_links, \
      "also read through symbolic links that leave a run" }
#define TRACK_OPT_WHERE(s) \
    { 'w', "where", "filter", OPT_STRING, &(s).where, \
      "select only runs for which FILTER is true" }
#define TRACK_OPT_EXPERIMENT(s) \
    { 'e', "experiment", "name", OPT_STRING, &(s).experiment, \
      "select only runs of this experiment" }
#define TRACK_OPT_SWEEP(s) \
    { 0, "sweep", "name", OPT_STRING, &(s).sweep, \
      "select runs of this sweep or children of this run" }
#define TRACK_OPT_SINCE(s) \
    { 0, "since", "time", OPT_STRING, &(s).since, \
      "select only runs started since TIME, as in 2h, 3d or 2026-11-21" }
#define TRACK_OPTS_SELECTION(s) \
    TRACK_OPT_WHERE(s), \
    TRACK_OPT_EXPERIMENT(s), \
    { 0, "status", "word", OPT_WORD, &(s).status, \
      "select only runs with this status, as in running", \
      track_status_words }, \
    TRACK_OPT_SWEEP(s), \
    TRACK_OPT_SINCE(s), \
    { 0, "sort", "column", OPT_STRING, &(s).sort, \
      "sort by this column; -column reverses the order" }, \
    { 'n', "limit", "count", OPT_INT, &(s).limit, \
      "select at most COUNT runs", .range = OPT_FROM(0) }, \
    { 'd', "deleted", NULL, OPT_FLAG, &(s).deleted, "include deleted runs" }
#define TRACK_OPT_DRY_RUN(target) \
    { 0, "dry-run", NULL, OPT_FLAG, &(target), \
      "print what would be done, and do nothing" }
#define TRACK_OPTS_NEW_RUN(r) \
    { 'e', "experiment", "name", OPT_STRING, &(r).experiment, \
      "create the run in this experiment (default: Default)" }, \
    { 'p', "param", "key=value", OPT_LIST, &(r).params, \
      "set a parameter of the run; may be given many times" }, \
    { 't', "tag", "key=value", OPT_LIST, &(r).tags, \
      "set a tag of the run; may be given many times" }
/* clang-format on */

/* The words of --status, from RUN_RUNNING on. */
extern const char *const track_status_words[];

/*
 * The runs that words and options select, sorted.  No words select all runs.
 * A word that names no run is ERR_MISSING; a filter that matches none is not.
 */
int track_select(struct runs *, const struct track_selection *, int n,
                 char **words, struct err *);
/* track_select() for callbacks, whose argument is a struct track_words. */
struct track_words {
    const struct track_selection *selection;
    int n;
    char **words;
};
int track_select_words(void *, struct runs *, struct err *);
/* Keep the chosen ones of the runs that are loaded from a store, and sort. */
int track_narrow(struct runs *, const char *root,
                 const struct track_selection *, int n, char **words,
                 struct err *);
/* The runs that words name, or all. */
int track_load(struct runs *, int n, char **words, int flags, struct err *);
/* Exactly one run, named by a word (NULL: @latest). */
int track_select_one(struct runs *, const char *word, int flags, struct err *);

/* Call a function for each of the runs that words name, without metrics. */
typedef int track_each_fn(const struct run_info *, void *arg, struct err *);
int track_each(int n, char **words, int flags, track_each_fn *, void *arg,
               struct err *);

/* The best of the runs that are left is not the best of those that were made:
 * for each experiment that the runs are in, say how many of its runs were
 * deleted, and how many failed, if any. */
void track_tell_left_out(const struct runs *);

/* Its name, and the beginning of its id if another of the runs has that name;
 * the caller frees it. */
char *track_shown_name(const struct runs *, size_t at);

/* Report fewer or more arguments than the running command takes; most < 0 is
 * no limit. */
int track_check_args(int argc, char **argv, int least, int most, struct err *);

/* Split words of the form "key=value".  The last pair has no key.  NULL if a
 * word is no pair. */
struct pair *track_parse_pairs(struct arena *, const char *const *words,
                               size_t n, struct err *);
/* Write pairs as a JSON object. */
struct emit;
void track_emit_pairs(struct emit *, const char *key, const struct pair *,
                      size_t n);
/* Add the last, the lowest and the highest value, each with its step. */
void track_add_metric(struct table *, const struct metric_sum *);
/* Begin a run as the options say. */
int track_begin_run(struct run **, struct run_conf *,
                    const struct track_new_run *, struct err *);

/* Ask on the terminal; without one, refuse unless `yes` is set. */
bool track_confirm(bool yes, const char *question, struct err *);

/* The program itself, for commands that check what others print. */
extern const struct program track_program;

/*
 * run_facts - what tables say of a run that is not written in its files
 */

/* The step after the last one of a run; one above the highest possible step is
 * ERR_USAGE. */
int run_facts_next_step(const struct run_info *, int64_t *next, struct err *);
/* The artifact with the output of a run, or NULL; the caller frees it. */
char *run_facts_output(const struct run_info *);
/* Append the shell command that repeats the run: it changes to the folder in
 * which the run was started and to the commit that was checked out, as far as
 * they were recorded.  False if the run has no record of its command. */
bool run_facts_command(struct buf *, const struct run_info *);
enum table_mark run_facts_mark(enum run_status);
