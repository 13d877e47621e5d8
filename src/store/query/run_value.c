#include "config.h"
#include "store/query/run_value.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/opt.h"

#define NAME_OF(value, name) name,

const char *const run_value_attributes[] = { RUN_ATTRIBUTES(NAME_OF) NULL };

const char *const run_value_functions[] = {
    [FUNCTION_LAST] = "last",     [FUNCTION_MIN] = "min",
    [FUNCTION_MAX] = "max",       [FUNCTION_MEAN] = "mean",
    [FUNCTION_FIRST] = "first",   [FUNCTION_COUNT] = "count",
    [FUNCTION_ARGMIN] = "argmin", [FUNCTION_ARGMAX] = "argmax",
    [FUNCTION_AT] = "at",         [FUNCTION_MEDIAN] = "median",
    [FUNCTION_MEDIAN + 1] = NULL,
};

int run_value_find(const char *name, bool for_filter)
{
    enum { FOR_ALL = 8 }; /* the rest is known to filters only */
    /* clang-format off */
    static const struct {
        const char *name; /* most of them are MLflow's */
        enum run_attribute attribute;
    } others[] = {
        { "run_name", ATTRIBUTE_NAME },      { "run_id", ATTRIBUTE_ID },
        { "start_time", ATTRIBUTE_STARTED }, { "created", ATTRIBUTE_STARTED },
        { "end_time", ATTRIBUTE_ENDED },     { "duration", ATTRIBUTE_TIME },
        { "user_id", ATTRIBUTE_USER },       { "state", ATTRIBUTE_STATUS },
        { "run name", ATTRIBUTE_NAME },      { "Run name", ATTRIBUTE_NAME },
        { "Run Name", ATTRIBUTE_NAME },      { "Created", ATTRIBUTE_STARTED },
        { "experiment_name", ATTRIBUTE_EXPERIMENT },
        { "artifact_uri", ATTRIBUTE_ARTIFACTS },
        { "host", ATTRIBUTE_HOST },          { "idle", ATTRIBUTE_IDLE },
    };
    /* clang-format on */
    const size_t n = for_filter ? sizeof others / sizeof others[0] : FOR_ALL;

    for (size_t i = 0; i < n; i++)
        if (strcmp(name, others[i].name) == 0)
            return (int)others[i].attribute;
    return opt_find_word(run_value_attributes, name);
}

static struct table_cell time_cell(int64_t ms)
{
    return (struct table_cell){ .type = ms ? TABLE_TIME : TABLE_NONE, .i = ms };
}

/* For how long a run that has not ended has logged nothing. */
static struct table_cell idle_cell(const struct run_info *r)
{
    int64_t last = run_info_last_ms(r);

    if (r->status != RUN_RUNNING && r->status != RUN_STALE)
        return table_text_cell(NULL);
    last = r->start_ms > last ? r->start_ms : last;
    return (struct table_cell){ .type = TABLE_SECS,
                                .x = (double)(clock_wall_ms() - last) / 1000 };
}

struct table_cell run_value_attribute(int attribute, const struct run_info *r)
{
    const char *const text[] = {
        [ATTRIBUTE_NAME] = r->name,
        [ATTRIBUTE_ID] = r->id,
        [ATTRIBUTE_EXPERIMENT] = r->experiment,
        [ATTRIBUTE_EXPERIMENT_ID] = r->experiment_id,
        [ATTRIBUTE_STATUS] = run_status_word(r->status),
        [ATTRIBUTE_REASON] = r->state_reason,
        [ATTRIBUTE_USER] = r->user,
        [ATTRIBUTE_PARENT] = r->parent,
        [ATTRIBUTE_DELETED] = r->deleted ? "deleted" : NULL,
        [ATTRIBUTE_DAMAGE] = r->damage,
        [ATTRIBUTE_CHANGED] = r->changed,
        [ATTRIBUTE_FOLDER] = r->folder,
        [ATTRIBUTE_ARTIFACTS] = r->artifact_uri,
    };
    struct table_cell cell = { .type = TABLE_NONE };

    switch ((enum run_attribute)attribute) {
    case ATTRIBUTE_STARTED:
        return time_cell(r->start_ms);
    case ATTRIBUTE_ENDED:
        return time_cell(r->end_ms);
    case ATTRIBUTE_TIME:
        cell.type = r->start_ms ? TABLE_SECS : TABLE_NONE;
        cell.x = run_info_seconds(r);
        return cell;
    case ATTRIBUTE_STEPS:
        cell.i = run_info_last_step(r);
        cell.type = cell.i < 0 ? TABLE_NONE : TABLE_INT;
        return cell;
    case ATTRIBUTE_ATTEMPTS:
        cell.type = TABLE_INT;
        cell.i = r->attempts;
        return cell;
    case ATTRIBUTE_HOST:
        return table_text_cell(run_info_tag(r, "gtrack.host"));
    case ATTRIBUTE_IDLE:
        return idle_cell(r);
    default:
        return table_text_cell(text[attribute]);
    }
}

struct table_cell run_value_metric(const struct run_info *r, const char *key,
                                   enum run_function f, int64_t step,
                                   struct err *e)
{
    const struct metric_sum *m = run_info_metric(r, key);
    struct table_cell cell = { .type = TABLE_REAL };
    bool known = true;

    if (!m)
        return table_text_cell(NULL);
    switch (f) {
    case FUNCTION_LAST:
        cell.x = m->last;
        break;
    case FUNCTION_MIN:
        cell.x = m->min;
        break;
    case FUNCTION_MAX:
        cell.x = m->max;
        break;
    case FUNCTION_MEAN:
        cell.x = run_rate_is(key) ? run_rate(r, key, e) : m->mean;
        break;
    case FUNCTION_MEDIAN:
        known = series_median(&cell.x, r, key, e);
        break;
    case FUNCTION_FIRST:
        known = series_at(&cell.x, r, key, m->first_step, true, e);
        break;
    case FUNCTION_AT:
        known = series_at(&cell.x, r, key, step, false, e);
        break;
    case FUNCTION_COUNT:
        cell.type = TABLE_INT;
        cell.i = m->count;
        break;
    case FUNCTION_ARGMIN:
    case FUNCTION_ARGMAX:
        known = !isnan(m->min);
        cell.type = TABLE_INT;
        cell.i = f == FUNCTION_ARGMIN ? m->min_step : m->max_step;
        break;
    }
    if (!known)
        cell.type = TABLE_NONE;
    return cell;
}

/* Is `word` a whole word of `key`? */
static bool has_word(const char *key, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = key; (p = strcasestr(p, word)); p++)
        if ((p == key || !isalnum((unsigned char)p[-1])) &&
            !isalpha((unsigned char)p[n]))
            return true;
    return false;
}

int run_value_direction(const char *metric)
{
    static const char *const low[] = { "loss", "perplexity", "ppl", "bpb",
                                       "bpc",  "error",      "err", "wer",
                                       "cer",  "rmse",       "mse", "mae",
                                       "nll" };
    static const char *const high[] = {
        "acc",       "accuracy", "acc_norm", "f1",           "bleu",
        "rouge",     "mfu",      "auc",      "map",          "reward",
        "precision", "recall",   "score",    "tokens_per_s", "exact_match"
    };

    if (strncmp(metric, "system/", 7) == 0)
        return 0;
    for (size_t i = 0; i < sizeof high / sizeof high[0]; i++)
        if (has_word(metric, high[i]))
            return 1;
    for (size_t i = 0; i < sizeof low / sizeof low[0]; i++)
        if (has_word(metric, low[i]))
            return -1;
    return 0;
}

/* ---- what a word means -------------------------------------------------- */

static bool run_has(const struct run_info *r, enum key_kind kind,
                    const char *key)
{
    switch (kind) {
    case PARAM:
        return run_info_param(r, key) != NULL;
    case METRIC:
        return run_info_metric(r, key) != NULL;
    case TAG:
        return run_info_tag(r, key) != NULL;
    default:
        return false;
    }
}

bool find_key_exists(const struct runs *runs, enum key_kind kind,
                     const char *key)
{
    for (size_t i = 0; i < runs->n; i++)
        if (run_has(&runs->run[i], kind, key))
            return true;
    return false;
}

/* Does full end in ".part" or "/part"? */
static bool ends_in_part(const char *full, const char *part)
{
    const size_t n = strlen(full), m = strlen(part);

    return n > m && strcmp(full + n - m, part) == 0 &&
           (full[n - m - 1] == '.' || full[n - m - 1] == '/');
}

static bool set_once(const char **found, const char *key)
{
    if (*found && strcmp(*found, key) != 0)
        return false;
    *found = key;
    return true;
}

/*
 * The only parameter whose key ends in `word`, or else the only such metric:
 * abbreviations are mostly of parameters.
 */
static enum key_kind find_abbreviated(const struct runs *runs, const char *word,
                                      const char **key)
{
    const char *param = NULL, *metric = NULL;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; j < r->n_params; j++)
            if (ends_in_part(r->params[j].key, word) &&
                !set_once(&param, r->params[j].key))
                return KINDS;
        for (size_t j = 0; j < r->n_metrics; j++)
            if (ends_in_part(r->metrics[j].key, word) &&
                !set_once(&metric, r->metrics[j].key))
                metric = "";
    }
    *key = param ? param : metric;
    return param ? PARAM : metric && *metric ? METRIC : KINDS;
}

enum key_kind find_key(const struct runs *runs, const char *word,
                       const char **key)
{
    static const enum key_kind order[] = { PARAM, METRIC, TAG };

    *key = word;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (find_key_exists(runs, order[i], word))
            return order[i];
    return find_abbreviated(runs, word, key);
}

int find_key_fail(const struct run_info *run, size_t n, enum key_kind kind,
                  const char *word, const char *const *others, struct err *e)
{
    static const char *const names[] = {
        [PARAM] = "parameter",
        [TAG] = "tag",
        [METRIC] = "metric",
        [KINDS] = "parameter, metric or tag",
    };
    struct opt_nearest near = { .word = word };

    for (size_t i = 0; i < n; i++)
        if (run[i].unread)
            return err_set(e, ERR_SYSTEM, "run %s could not be read: %s",
                           run[i].name, run[i].damage);
    for (size_t i = 0; i < n; i++) {
        const struct run_info *r = &run[i];

        for (size_t j = 0; kind != PARAM && j < r->n_metrics; j++)
            opt_nearest_try(&near, r->metrics[j].key);
        for (size_t j = 0; kind != METRIC && j < r->n_params; j++)
            opt_nearest_try(&near, r->params[j].key);
    }
    while (others && *others)
        opt_nearest_try(&near, *others++);
    err_set(e, ERR_MISSING, "no run has a %s %s", names[kind], word);
    return opt_nearest_add(&near, e);
}
