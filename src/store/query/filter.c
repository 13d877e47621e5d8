#include "config.h"
#include "store/query/filter.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "store/query/filter_impl.h"
#include "store/read/run_rate.h"

/* False if the metric has none, as the lowest value of only NaN. */
static bool aspect_of(double *out, const struct clause *c,
                      const struct run_info *run, const struct metric_sum *m,
                      struct err *e)
{
    const double values[] = {
        [LAST] = m->last,
        [MIN] = m->min,
        [MAX] = m->max,
        [MEAN] = m->mean,
        [COUNT] = (double)m->count,
        [ARGMIN] = (double)m->min_step,
        [ARGMAX] = (double)m->max_step,
    };

    if (c->aspect == FIRST || c->aspect == AT)
        return series_at(out, run, c->key,
                         c->aspect == AT ? c->step : m->first_step,
                         c->aspect == FIRST, e);
    *out = c->aspect == MEAN && run_rate_is(c->key) ? run_rate(run, c->key, e)
                                                    : values[c->aspect];
    return c->aspect < ARGMIN || !isnan(m->min);
}

static bool test_metric(const struct clause *c, const struct run_info *run,
                        struct err *e)
{
    const struct metric_sum *m = run_info_metric(run, c->key);
    double x;

    if (!m && run->unread)
        err_set(e, ERR_SYSTEM, "run %s could not be read: %s", run->name,
                run->damage);
    return m && aspect_of(&x, c, run, m, e) ? filter_test_number(c, x)
                                            : filter_test_missing(c);
}

static bool test_dataset(const struct clause *c, const struct run_info *run)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        const struct run_dataset *in = &run->inputs[i];
        const char *s = strcmp(c->key, "name") == 0     ? in->name
                        : strcmp(c->key, "digest") == 0 ? in->digest
                                                        : in->context;

        if (s && filter_test_text(c, s))
            return true;
    }
    return run->n_inputs == 0 && filter_test_missing(c);
}

/* A run is also found by the status that MLflow, which knows fewer, sees. */
static bool test_status(const struct clause *c, const struct run_info *run)
{
    const bool found = filter_test_text(c, run_status_word(run->status));
    bool other;

    if (run_status_mlflow(run->status) == run->status)
        return found;
    other =
        filter_test_text(c, run_status_word(run_status_mlflow(run->status)));
    return c->negated || (c->test == COMPARE && c->order == NE)
               ? found && other
               : found || other;
}

/* For how long a run that has not ended has logged nothing. */
static bool test_idle(const struct clause *c, const struct run_info *run)
{
    int64_t last = run->start_ms;

    if (run->status != RUN_RUNNING && run->status != RUN_STALE)
        return filter_test_missing(c);
    for (size_t i = 0; i < run->n_metrics; i++)
        if (run->metrics[i].last_ms > last)
            last = run->metrics[i].last_ms;
    return filter_test_number(c, (double)(clock_wall_ms() - last) / 1000);
}

static bool test_attribute(const struct clause *c, const struct run_info *run)
{
    const char *const texts[] = {
        [RUN_ID] = run->id,
        [RUN_NAME] = run->name,
        [REASON] = run->state_reason,
        [USER] = run->user,
        [ARTIFACTS] = run->artifact_uri,
        [EXPERIMENT] = run->experiment,
        [EXPERIMENT_ID] = run->experiment_id,
        [PARENT] = run->parent,
        [FOLDER] = run->folder,
        [DELETED] = run->deleted ? "deleted" : NULL,
        [HOST] = run_info_tag(run, "gtrack.host"),
        [DAMAGE] = run->damage,
        [CHANGED] = run->changed,
    };
    const char *s;

    switch (c->attribute) {
    case STATUS:
        return test_status(c, run);
    case START:
        return filter_test_number(c, (double)run->start_ms);
    case DURATION:
        return run->start_ms ? filter_test_number(c, run_info_seconds(run))
                             : filter_test_missing(c);
    case STEPS:
        return run_info_last_step(run) < 0
                   ? filter_test_missing(c)
                   : filter_test_number(c, (double)run_info_last_step(run));
    case IDLE:
        return test_idle(c, run);
    case ATTEMPTS:
        return filter_test_number(c, run->attempts);
    case END:
        return run->end_ms ? filter_test_number(c, (double)run->end_ms)
                           : filter_test_missing(c);
    default:
        s = texts[c->attribute];
        return s ? filter_test_text(c, s) : filter_test_missing(c);
    }
}

static bool test_clause(const struct clause *c, const struct run_info *run,
                        struct err *e)
{
    const char *s;

    switch (c->entity) {
    case METRICS:
        return test_metric(c, run, e);
    case ANY: /* there is no run to find it in */
        return false;
    case DATASETS:
        return test_dataset(c, run);
    case ATTRIBUTES:
        return test_attribute(c, run);
    case PARAMS:
        s = run_info_param(run, c->key);
        break;
    default:
        s = run_info_tag(run, c->key);
        break;
    }
    return s ? filter_test_text(c, s) : filter_test_missing(c);
}

struct tested {
    const struct run_info *run;
    struct err why; /* a metric could not be read */
};

static bool test_run(const struct clause *c, void *arg)
{
    struct tested *t = arg;

    return test_clause(c, t->run, &t->why);
}

int filter_match(const struct filter *f, const struct run_info *run,
                 struct err *e)
{
    struct tested t = { .run = run };
    const bool matches = filter_tree_test(f->root, test_run, &t);

    if (t.why.kind == ERR_NONE)
        return matches;
    *e = t.why;
    return -1;
}
