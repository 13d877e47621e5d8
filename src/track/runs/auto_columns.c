#include "config.h"
#include "track/runs/auto_columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "store/query/differ.h"

/* A table of all keys of many runs could take minutes: keep the keys that most
 * runs have. */
static void keep_most_used(struct differ *d, const char *what)
{
    enum { MOST = 1000 };

    if (d->n <= MOST)
        return;
    log_warn("the runs have %zu different %s; showing the %d that the most "
             "runs have, --columns shows others",
             d->n, what, MOST);
    differ_keep(d, MOST);
}

void auto_columns_params(struct columns *c, const struct runs *runs, bool all)
{
    struct differ d = { 0 };

    if (all)
        differ_count(&d, runs->run, runs->n, false);
    else
        differ_params(&d, runs->run, runs->n);
    keep_most_used(&d, "parameters");
    for (size_t i = 0; i < d.n; i++)
        columns_add(c, COLUMN_PARAM, d.item[i].key);
    differ_clear(&d);
}

/* Is it a result of an evaluation, unlike train/perplexity? */
static bool is_result(const char *metric)
{
    return run_value_direction(metric) != 0 &&
           strncmp(metric, "train/", 6) != 0 &&
           strncmp(metric, "perf/", 5) != 0;
}

enum { MAX_METRICS = 6 };

/* Add metrics that most runs have, until there are enough. */
static void fill_up(struct columns *c, struct differ *u, size_t enough)
{
    differ_by_use(u);
    for (size_t i = 0; i < u->n && c->n < enough; i++)
        if (strncmp(u->item[i].key, "system/", 7) != 0 &&
            strncmp(u->item[i].key, "exec/", 5) != 0)
            columns_add(c, COLUMN_METRIC, u->item[i].key);
}

void auto_columns_metrics(struct columns *c, const struct runs *runs, bool all)
{
    /* the metrics of gtrain that runs are compared by, in this order */
    static const char *const usual[] = {
        "train/loss",    "val/loss",           "val/perplexity",    "val/bpb",
        "hellaswag/acc", "hellaswag/acc_norm", "perf/tokens_per_s", "perf/mfu",
    };
    struct differ u = { 0 };
    const size_t before = c->n;

    differ_count(&u, runs->run, runs->n, true);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (differ_find(&u, usual[i]))
            columns_add(c, COLUMN_METRIC, usual[i]);
    }
    for (size_t i = 0; i < u.n && !all && c->n < before + MAX_METRICS; i++)
        if (is_result(u.item[i].key))
            columns_add(c, COLUMN_METRIC, u.item[i].key);
    if (c->n == before && !all)
        fill_up(c, &u, before + MAX_METRICS);
    if (all)
        keep_most_used(&u, "metrics");
    for (size_t i = 0; i < u.n && all; i++)
        columns_add(c, COLUMN_METRIC, u.item[i].key);
    differ_clear(&u);
}

void auto_columns_some(struct columns *c, const struct runs *runs)
{
    struct differ u = { 0 };

    differ_count(&u, runs->run, runs->n, true);
    auto_columns_metrics(c, runs, false);
    fill_up(c, &u, MAX_METRICS);
    differ_clear(&u);
}

/* ---- for gtrack ls ----------------------------------------------------- */

void auto_columns_attribute(struct columns *c, const char *name,
                            const struct runs *runs, bool always)
{
    const struct column x = { .attribute = run_value_find(name, false) };

    if (always || column_differs(&x, runs))
        columns_attribute(c, name);
}

/* Add an attribute that few runs have, if one of these has it. */
static void add_if_any(struct columns *c, const char *attribute,
                       const struct runs *runs)
{
    const struct column x = { .attribute = run_value_find(attribute, false) };

    for (size_t i = 0; i < runs->n; i++)
        if (column_cell(&x, &runs->run[i]).type != TABLE_NONE) {
            columns_attribute(c, attribute);
            return;
        }
}

static bool has_other_status(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].status != RUN_FINISHED)
            return true;
    return false;
}

void auto_columns_full(struct columns *c, const struct runs *runs,
                       const struct track_selection *s, enum auto_reader reader)
{
    const bool document = reader != AUTO_PROGRAM,
               all = reader == AUTO_DOCUMENT_ALL;

    columns_attribute(c, "name");
    if (document)
        columns_add_sorted(c, s->sort, runs);
    if (!document)
        columns_attribute(c, "id");
    auto_columns_attribute(c, "experiment", runs, !document || all);
    columns_attribute(c, "status");
    if (s->deleted)
        columns_attribute(c, "deleted");
    if (document)
        add_if_any(c, "damage", runs);
    else
        columns_attribute(c, "damage");
    add_if_any(c, "changed", runs);
    columns_attribute(c, "started");
    columns_attribute(c, "time");
    if (!document || all)
        columns_attribute(c, "user");
    auto_columns_attribute(c, "attempts", runs, !document || all);
    columns_attribute(c, "steps");
    if (document && !all) {
        auto_columns_metrics(c, runs, false);
        auto_columns_params(c, runs, false);
    } else {
        auto_columns_params(c, runs, true);
        auto_columns_metrics(c, runs, true);
    }
}

/* Is it a number, or at least short, in each run? */
static bool is_narrow(const char *key, const struct runs *runs)
{
    enum { WIDEST = 10 };

    for (size_t i = 0; i < runs->n; i++) {
        const char *value = run_info_param(&runs->run[i], key);

        if (value && strlen(value) > WIDEST)
            return false;
    }
    return true;
}

/* Add what was swept, or the first narrow parameters in which the runs
 * differ. */
static void add_first_params(struct columns *c, const struct runs *runs)
{
    enum { MOST = 3 };
    struct differ d = { 0 };
    const size_t before = c->n;

    differ_params(&d, runs->run, runs->n);
    for (size_t i = 0; i < d.n; i++)
        if (i < d.swept ||
            (c->n < before + MOST && is_narrow(d.item[i].key, runs)))
            columns_add(c, COLUMN_PARAM, d.item[i].key);
    differ_clear(&d);
}

/* Add the best value of the metric that the runs are judged by: that of an
 * evaluation if there is one. */
static void add_best(struct columns *c, const struct runs *runs)
{
    struct columns metrics = { 0 };
    const struct column *best = NULL;

    auto_columns_metrics(&metrics, runs, false);
    for (size_t i = 0; i < metrics.n; i++)
        if (column_direction(&metrics.item[i]) &&
            (!best || strncmp(best->key, "train/", 6) == 0))
            best = &metrics.item[i];
    if (best) {
        const int f = column_direction(best) > 0 ? FUNCTION_MAX : FUNCTION_MIN;
        char *title = xasprintf("%s(%s)", run_value_functions[f], best->key);
        struct column *x = columns_append(c, best->key, title);

        x->kind = COLUMN_METRIC;
        x->function = (enum run_function)f;
        free(title);
    }
    columns_clear(&metrics);
}

/* Show "optim.lr" as "lr", unless something else is called so. */
void auto_columns_shorten(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *dot = strrchr(c->item[i].key, '.');
        bool taken = !dot || !dot[1] || c->item[i].kind != COLUMN_PARAM ||
                     run_value_find(dot + 1, false) >= 0;

        for (size_t j = 0; j < c->n && !taken; j++)
            taken = j != i && str_ends(c->item[j].key, dot + 1);
        if (!taken)
            xreplace(&c->item[i].title, dot + 1);
    }
}

void auto_columns_short(struct columns *c, const struct runs *runs,
                        const struct track_selection *s)
{
    columns_attribute(c, "name");
    columns_add_sorted(c, s->sort, runs);
    if (s->deleted)
        columns_attribute(c, "deleted");
    if (has_other_status(runs))
        columns_attribute(c, "status");
    add_first_params(c, runs);
    add_best(c, runs);
    columns_attribute(c, "steps");
    columns_attribute(c, "time");
    auto_columns_attribute(c, "experiment", runs, false);
    columns_attribute(c, "started");
    add_if_any(c, "damage", runs);
    add_if_any(c, "changed", runs);
    auto_columns_attribute(c, "attempts", runs, false);
    auto_columns_metrics(c, runs, false);
    auto_columns_params(c, runs, false);
    auto_columns_shorten(c);
}
