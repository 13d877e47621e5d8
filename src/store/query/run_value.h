#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/output/table.h"
#include "store/format/key.h"
#include "store/read/runs.h"

/*
 * run_value - what tables show of a run and filters test: its attributes, and
 * values of its metrics
 *
 *      const int a = run_value_find("start_time", true);
 *      const struct table_cell when = run_value_attribute(a, run);
 *
 * What a run does not have is a cell of type TABLE_NONE; strings are borrowed
 * from the run.
 */
/* clang-format off */
#define RUN_ATTRIBUTES(X) \
    X(NAME, "name") X(ID, "id") X(EXPERIMENT, "experiment") \
    X(EXPERIMENT_ID, "experiment_id") X(STATUS, "status") \
    X(REASON, "reason") X(STARTED, "started") X(ENDED, "ended") \
    X(TIME, "time") X(STEPS, "steps") X(USER, "user") \
    X(ATTEMPTS, "attempts") X(PARENT, "parent") X(DELETED, "deleted") \
    X(DAMAGE, "damage") X(CHANGED, "changed") X(FOLDER, "folder")
#define RUN_ATTRIBUTE_VALUE(value, name) ATTRIBUTE_##value,
/* clang-format on */

enum run_attribute {
    RUN_ATTRIBUTES(RUN_ATTRIBUTE_VALUE) /* and for filters only: */
    ATTRIBUTE_ARTIFACTS,
    ATTRIBUTE_HOST,
    ATTRIBUTE_IDLE, /* seconds since the last point, while it has not ended */
};

/* The value of a metric. */
enum run_function {
    FUNCTION_LAST,
    FUNCTION_MIN,
    FUNCTION_MAX,
    FUNCTION_MEAN, /* of a rate, that of the whole run */
    FUNCTION_FIRST,
    FUNCTION_COUNT,
    FUNCTION_ARGMIN, /* the step of the lowest value */
    FUNCTION_ARGMAX,
    FUNCTION_AT, /* the value at a step, or the last one before it */
    FUNCTION_MEDIAN,
};

/* The names of the attributes that tables show, and those of the functions,
 * ended by NULL. */
extern const char *const run_value_attributes[];
extern const char *const run_value_functions[];

/* The attribute of a name, which may be MLflow's; -1 for none. */
int run_value_find(const char *name, bool for_filter);
struct table_cell run_value_attribute(int attribute, const struct run_info *);
/* What a function says of a metric; `step` is for FUNCTION_AT.  Points that
 * cannot be read are an error, and missing. */
struct table_cell run_value_metric(const struct run_info *, const char *key,
                                   enum run_function, int64_t step,
                                   struct err *);
/* Is a higher value of this metric better (1), a lower one (-1), or neither
 * (0)?  This is guessed from its name. */
int run_value_direction(const char *metric);

/*
 * find_key - the parameter, metric or tag that a word means
 *
 * A word is the key of a parameter, else of a metric, else of a tag of one of
 * the runs; or else it is the last part of a key, after a dot or a slash: of
 * the only such parameter, or of the only such metric.
 */
enum key_kind find_key(const struct runs *, const char *word,
                       const char **key); /* KINDS: it means none */

bool find_key_exists(const struct runs *, enum key_kind, const char *key);

/* "no run has a metric los; did you mean loss?", for a kind, or KINDS for any
 * of them.  It is ERR_MISSING; always -1.  `others`, ended by NULL or itself
 * NULL, may have been meant, too. */
int find_key_fail(const struct run_info *, size_t n, enum key_kind,
                  const char *word, const char *const *others, struct err *);
