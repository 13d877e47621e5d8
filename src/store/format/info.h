#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"

/*
 * info - what the files of a store say: a run, its metrics and its datasets
 *
 *      const char *lr = run_info_param(run, "optim.lr");
 *      const struct metric_sum *loss = run_info_metric(run, "train/loss");
 *
 * These are the types that writing and reading share.  A run_info is filled by
 * read/runs.h, and its strings belong to whoever loaded it; params, tags and
 * metrics are sorted by key (byte order).
 */
enum run_status {
    RUN_RUNNING = 1, /* MLflow's numbers */
    RUN_SCHEDULED,
    RUN_FINISHED,
    RUN_FAILED,
    RUN_KILLED,
    RUN_PREEMPTED, /* ours: MLflow sees KILLED */
    RUN_STOPPED,   /* the same, but by a person */
    RUN_STALE,     /* ours: only readers find it */
};

enum run_status run_status_mlflow(enum run_status); /* what MLflow sees */

const char *run_status_word(enum run_status); /* "FINISHED" */
/* The status of a word, which may be NULL, up to `last`; 0 if it is none. */
enum run_status run_status_find(const char *word, enum run_status last);

/* A value of a metric, to be stored with the step and the time. */
struct run_point {
    const char *key;
    double value;
};

/* A dataset that the run reads: its name, a digest of its content (at most 36
 * characters), where it is, as JSON and as a word for the kind of place, and
 * what it is used for: "training", "validation".  All but the name may be NULL.
 */
struct run_dataset {
    const char *name, *digest, *source, *source_type, *schema, *profile;
    const char *context;
};

struct pair {
    const char *key, *value;
};

struct metric_sum { /* a summary of a metric */
    const char *key;
    int64_t count;     /* points of the view that was loaded */
    int64_t retracted; /* points that a rewind retracted */
    int64_t first_step, last_step;
    int64_t last_ms;       /* wall time of the last point */
    double last;           /* of the default view */
    double min, max, mean; /* of all values but NaN; NaN if there is none */
    double harmonic;       /* the harmonic mean of those above 0; the same */
    int64_t min_step, max_step;
    int64_t nonfinite; /* how many are NaN or infinite */
};

struct attempt;

struct run_info {
    const char *id, *name, *experiment, *experiment_id, *folder;
    const char *artifacts;    /* folder of its artifacts */
    const char *artifact_uri; /* from meta.yaml; may be elsewhere */
    const char *user, *parent;
    enum run_status status;
    bool deleted;
    enum path_links links;         /* in it: are they followed? */
    int64_t start_ms, end_ms;      /* end 0 while running */
    int64_t seen_ms;               /* end, last heartbeat, or last point */
    int attempts;                  /* 0 of a run that another tool wrote */
    const struct attempt *attempt; /* by number; see store/format/attempt.h */
    const char *state_reason;      /* why it ended, or NULL */
    size_t n_params, n_tags, n_metrics, n_inputs;
    struct pair *params, *tags;
    struct metric_sum *metrics;
    struct run_dataset *inputs; /* the datasets that it read */
    const char *changed;        /* settings that a later attempt changed, as in
                                 * "optim.lr = 0.01; 0.003 from step 101" */
    const char *damage;         /* NULL when all is well */
    const char *torn;           /* a file whose last line is incomplete */
    bool unread;                /* some of it could not be read, perhaps that
                                 * it is deleted */
    bool edited;                /* with LOAD_FRESH: its files are not what the
                                 * index showed */
};

const char *run_info_param(const struct run_info *, const char *key);
const char *run_info_tag(const struct run_info *, const char *key);
/* Is it a tag that programs set for themselves, not people? */
bool run_info_is_own_tag(const char *key);
/* The command of the first attempt, or NULL. */
const char *run_info_command(const struct run_info *);
/* Is it running, but no process stands for it, unless it is this one?  So are
 * runs of gtrack run. */
bool run_info_is_unattended(const struct run_info *);
const struct metric_sum *run_info_metric(const struct run_info *,
                                         const char *key);

/* Does `gtrain replay` compute a metric of the run again?  Of a run that gtrain
 * did not train, it computes none. */
bool run_info_is_provable(const struct run_info *, const char *metric);
/* The metrics that it computes, in the order of certify.h; ended by NULL. */
extern const char *const run_info_provable[];
/* Those of task/NAME/, in the order of multiple_choice.h. */
extern const char *const run_info_answers[];
/* The artifact with the last answers that training got: for acc and acc_norm of
 * each task, a line with the step, the two names, the SHA-256 of all that was
 * asked, and a digit for each question, which is 1 if the answer is right. */
#define RUN_INFO_TASKS "tasks.tsv"

/* How many seconds a run took, or has been running. */
double run_info_seconds(const struct run_info *);
/* The wall time of the last point of all metrics, or 0. */
int64_t run_info_last_ms(const struct run_info *);
/* The highest step of its metrics, except those of the machine, which count
 * their own; or -1. */
int64_t run_info_last_step(const struct run_info *);

/* The folder that links in a run must not leave, for path_open_inside() and the
 * like; NULL if they are followed. */
const char *run_info_inside(const struct run_info *);

/*
 * Parameters that a later attempt changed:
 *
 *      const char *lr = changed_param(run, "optim.lr", 150);
 *
 * A parameter keeps its first value, as in MLflow.  Another value that attempt
 * N sets becomes the tag "attempt.N.KEY", and the first step that the attempt
 * computes the tag "attempt.N.first_step".  A step belongs to the newest
 * attempt that began at it or before.
 */

/* The name of the tag; the caller frees it. */
char *changed_tag(int attempt, const char *key);
#define CHANGED_FIRST_STEP "first_step"

/* Is it such a tag? */
bool changed_is_tag(const char *tag);

/* The attempt that computed a step, of those that resumed the run; 1 if none
 * did.  *next is the first step after it that another attempt computed, or
 * INT64_MAX; NULL is allowed. */
int changed_attempt(const struct run_info *, int64_t step, int64_t *next);

/* The first step of an attempt that resumed the run, or 0. */
int64_t changed_first_step(const struct run_info *, int attempt);

/* Does the run say what each attempt changed?  Older versions did not record
 * it. */
bool changed_is_known(const struct run_info *);

/* The value that a parameter had at a step; NULL if it has none. */
const char *changed_param(const struct run_info *, const char *key,
                          int64_t step);

/* Append "0.01; 0.003 from step 101"; false if it never changed. */
bool changed_text(struct buf *, const struct run_info *, const char *key);

/* All settings that changed, each with its values, but not the parameters
 * "derived.*" that follow from them and from the machine; NULL if none did. */
const char *changed_settings(const struct run_info *, struct arena *);

/* Flags for loading stores, runs and metrics. */
enum {
    LOAD_DELETED = 1,      /* deleted runs too */
    LOAD_ALL_ATTEMPTS = 2, /* every point, not only the newest attempt's */
    LOAD_ONLY_DELETED = 8 + LOAD_DELETED,
    LOAD_NO_METRICS = 4, /* do not read metrics */
    LOAD_NO_INDEX = 64,  /* read the files, even if the index has the run */
    LOAD_FRESH = 512,    /* look at all files, even of runs that have ended */
    LOAD_ONE_NAMED = 16, /* a name that several runs have is ERR_USAGE */
    LOAD_MAY_LACK = 32,  /* a metric that does not exist has no points */
    LOAD_LINKS = 128,    /* follow symbolic links */
    LOAD_AWAIT = 256,    /* track_each(): see which runs are still written */
};
