#include "config.h"
#include "store/query/filter.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/utf8.h"
#include "store/query/filter_impl.h"
#include "store/read/run_rate.h"

static bool in_order(enum order order, int sign)
{
    const enum order is = sign < 0 ? LT : sign > 0 ? GT : EQ;

    return (order & is) != 0;
}

static bool compare_numbers(enum order order, double a, double b)
{
    if (isnan(a) || isnan(b))
        return order == NE;
    return in_order(order, (a > b) - (a < b));
}

/* Step over a character of each, and compare the two. */
static bool same_letter(const char **s, const char **pattern, bool fold)
{
    const char x = **s, y = **pattern;
    const int32_t a = utf8_next(s), b = utf8_next(pattern);

    if (a < 0) /* no letter, but a byte */
        return b < 0 && x == y;
    return a == b || (fold && utf8_fold(a) == utf8_fold(b));
}

/* SQL's LIKE: % is any run of characters, _ one, and nothing escapes. */
static bool like(const char *s, const char *pattern, bool fold)
{
    const char *star = NULL, *retry = NULL;

    while (*s) {
        const char *t = s, *p = pattern;

        if (*pattern == '%') {
            star = ++pattern;
            retry = s;
        } else if (*pattern == '_') {
            utf8_next(&s);
            pattern++;
        } else if (*pattern && same_letter(&t, &p, fold)) {
            s = t;
            pattern = p;
        } else if (star) {
            pattern = star;
            utf8_next(&retry);
            s = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '%')
        pattern++;
    return *pattern == '\0';
}

static bool is_text(const struct value *v, const char *s)
{
    double x;

    if (v->is_number)
        return num_real(s, &x) && x == v->number;
    return strcmp(v->text, s) == 0;
}

static bool test_text(const struct clause *c, const char *s)
{
    const struct value *v = c->value;
    bool found = false;
    double x;

    switch (c->test) {
    case IS_NULL:
        return c->negated;
    case LIKE:
    case ILIKE:
        return like(s, v->text, c->test == ILIKE) != c->negated;
    case IN:
        for (size_t i = 0; i < c->n_values && !found; i++)
            found = is_text(&v[i], s);
        return found != c->negated;
    default:
        break;
    }
    if (v->is_number)
        return num_real(s, &x) && compare_numbers(c->order, x, v->number);
    return in_order(c->order, strcmp(s, v->text));
}

static bool test_number(const struct clause *c, double x)
{
    bool found = false;

    if (c->test == IS_NULL)
        return c->negated;
    if (c->test == IS_NAN)
        return isnan(x) != c->negated;
    if (c->test == IS_FINITE)
        return isfinite(x) != c->negated;
    if (c->test == COMPARE)
        return compare_numbers(c->order, x, c->value->number);
    for (size_t i = 0; i < c->n_values && !found; i++)
        found = x == c->value[i].number;
    return found != c->negated;
}

/* The clause is about something that is missing. */
static bool test_missing(const struct clause *c)
{
    return c->test == IS_NULL && !c->negated;
}

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
    return m && aspect_of(&x, c, run, m, e) ? test_number(c, x)
                                            : test_missing(c);
}

static bool test_dataset(const struct clause *c, const struct run_info *run)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        const struct run_dataset *in = &run->inputs[i];
        const char *s = strcmp(c->key, "name") == 0     ? in->name
                        : strcmp(c->key, "digest") == 0 ? in->digest
                                                        : in->context;

        if (s && test_text(c, s))
            return true;
    }
    return run->n_inputs == 0 && test_missing(c);
}

/* A run is also found by the status that MLflow, which knows fewer, sees. */
static bool test_status(const struct clause *c, const struct run_info *run)
{
    const bool found = test_text(c, run_status_word(run->status));
    bool other;

    if (run_status_mlflow(run->status) == run->status)
        return found;
    other = test_text(c, run_status_word(run_status_mlflow(run->status)));
    return c->negated || (c->test == COMPARE && c->order == NE)
               ? found && other
               : found || other;
}

/* For how long a run that has not ended has logged nothing. */
static bool test_idle(const struct clause *c, const struct run_info *run)
{
    int64_t last = run->start_ms;

    if (run->status != RUN_RUNNING && run->status != RUN_STALE)
        return test_missing(c);
    for (size_t i = 0; i < run->n_metrics; i++)
        if (run->metrics[i].last_ms > last)
            last = run->metrics[i].last_ms;
    return test_number(c, (double)(clock_wall_ms() - last) / 1000);
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
    };
    const char *s;

    switch (c->attribute) {
    case STATUS:
        return test_status(c, run);
    case START:
        return test_number(c, (double)run->start_ms);
    case DURATION:
        return run->start_ms ? test_number(c, run_info_seconds(run))
                             : test_missing(c);
    case STEPS:
        return run_info_last_step(run) < 0
                   ? test_missing(c)
                   : test_number(c, (double)run_info_last_step(run));
    case IDLE:
        return test_idle(c, run);
    case ATTEMPTS:
        return test_number(c, run->attempts);
    case END:
        return run->end_ms ? test_number(c, (double)run->end_ms)
                           : test_missing(c);
    default:
        s = texts[c->attribute];
        return s ? test_text(c, s) : test_missing(c);
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
    return s ? test_text(c, s) : test_missing(c);
}

static bool test_node(const struct node *n, const struct run_info *run,
                      struct err *e)
{
    switch (n->kind) {
    case CLAUSE:
        return test_clause(&n->clause, run, e);
    case AND:
        return test_node(n->left, run, e) && test_node(n->right, run, e);
    case OR:
        return test_node(n->left, run, e) || test_node(n->right, run, e);
    default:
        return !test_node(n->left, run, e);
    }
}

int filter_match(const struct filter *f, const struct run_info *run,
                 struct err *e)
{
    struct err why = { 0 };
    const bool matches = !f->root || test_node(f->root, run, &why);

    if (why.kind == ERR_NONE)
        return matches;
    *e = why;
    return -1;
}
