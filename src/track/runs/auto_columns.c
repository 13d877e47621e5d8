#include "config.h"
#include "track/runs/auto_columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "track/runs/column_parse.h"
#include "track/runs/run_facts.h"

struct key_use {
    const char *key, *value; /* value: in the first run that has the key */
    size_t runs;
    bool differs;
};

/* The keys of the first run come first, sorted. */
struct key_uses {
    struct key_use *item;
    size_t n, room;
    size_t first; /* how many keys the first run has */
    size_t next;  /* where the next key of this run probably is */
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct key_use *)a)->key,
                  ((const struct key_use *)b)->key);
}

static bool values_differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

/* Sort, and merge the entries of equal keys. */
static void merge_uses(struct key_uses *u)
{
    size_t kept = 0;

    if (u->n == 0)
        return;
    qsort(u->item, u->n, sizeof *u->item, by_key);
    for (size_t i = 1; i < u->n; i++) {
        struct key_use *k = &u->item[kept], *x = &u->item[i];

        if (strcmp(k->key, x->key) != 0) {
            u->item[++kept] = *x;
            continue;
        }
        k->runs += x->runs;
        k->differs |= x->differs || values_differ(k->value, x->value);
    }
    u->n = kept + 1;
}

/* The keys of a run are sorted, and mostly equal to those of the first run. */
static void count_key(struct key_uses *u, const char *key, const char *value)
{
    int c = 1;

    while (u->next < u->first && (c = strcmp(u->item[u->next].key, key)) < 0)
        u->next++;
    if (c == 0) {
        struct key_use *k = &u->item[u->next++];

        k->runs++;
        k->differs |= values_differ(k->value, value);
        return;
    }
    GROW(u->item, u->n, u->room);
    u->item[u->n++] = (struct key_use){ key, value, 1, false };
}

/* Count the parameters or the metrics of all runs. */
static struct key_uses count_keys(const struct runs *runs, bool metrics)
{
    struct key_uses u = { 0 };

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; metrics && j < r->n_metrics; j++)
            count_key(&u, r->metrics[j].key, NULL);
        for (size_t j = 0; !metrics && j < r->n_params; j++)
            count_key(&u, r->params[j].key, r->params[j].value);
        if (i == 0)
            u.first = u.n;
        u.next = 0;
    }
    merge_uses(&u);
    return u;
}

static int by_use(const void *a, const void *b)
{
    const struct key_use *x = a, *y = b;

    if (x->runs != y->runs)
        return x->runs < y->runs ? 1 : -1;
    return strcmp(x->key, y->key);
}

/* Runs may have so many keys that a table of all would take minutes: keep the
 * keys that most runs have. */
static void keep_most_used(struct key_uses *u, const char *what)
{
    enum { MOST = 1000 };

    if (u->n <= MOST)
        return;
    log_warn("the runs have %zu different %s; showing the %d that the most "
             "runs have, --columns shows others",
             u->n, what, MOST);
    qsort(u->item, u->n, sizeof *u->item, by_use);
    u->n = MOST;
    qsort(u->item, u->n, sizeof *u->item, by_key);
}

/* A parameter that few runs have says which program they are of, and a program
 * may have a hundred of these. */
static bool tells_apart(const struct key_use *k, size_t runs)
{
    return k->differs || (k->runs < runs && 2 * k->runs >= runs);
}

void auto_columns_params(struct columns *c, const struct runs *runs, bool all)
{
    struct key_uses u = count_keys(runs, false);
    size_t n = 0;

    for (size_t i = 0; i < u.n; i++)
        if (all || tells_apart(&u.item[i], runs->n))
            u.item[n++] = u.item[i];
    u.n = n;
    keep_most_used(&u, "parameters");
    for (size_t i = 0; i < u.n; i++)
        columns_add(c, COLUMN_PARAM, u.item[i].key);
    free(u.item);
}

/* Is it a result of an evaluation, unlike train/perplexity? */
static bool is_result(const char *metric)
{
    return run_facts_direction(metric) != 0 &&
           strncmp(metric, "train/", 6) != 0 &&
           strncmp(metric, "perf/", 5) != 0;
}

enum { MAX_METRICS = 6 };

/* Add metrics that most runs have, until there are enough. */
static void fill_up(struct columns *c, struct key_uses *u, size_t enough)
{
    if (u->n)
        qsort(u->item, u->n, sizeof *u->item, by_use);
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
    struct key_uses u = count_keys(runs, true);
    const size_t before = c->n;

    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        const struct key_use k = { usual[i], NULL, 0, false };

        if (u.n && bsearch(&k, u.item, u.n, sizeof k, by_key))
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
    free(u.item);
}

void auto_columns_some(struct columns *c, const struct runs *runs)
{
    struct key_uses u = count_keys(runs, true);

    auto_columns_metrics(c, runs, false);
    fill_up(c, &u, MAX_METRICS);
    free(u.item);
}

/* ---- for gtrack ls ----------------------------------------------------- */

/* Do the runs differ in an attribute? */
static bool attribute_differs(const struct runs *runs, const char *attribute)
{
    const struct column c = { .attribute = column_find_attribute(attribute) };

    return column_differs(&c, runs);
}

static bool has_damage(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].damage)
            return true;
    return false;
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
    if (!document || all || attribute_differs(runs, "experiment"))
        columns_attribute(c, "experiment");
    columns_attribute(c, "status");
    if (s->deleted)
        columns_attribute(c, "deleted");
    if (has_damage(runs) || !document)
        columns_attribute(c, "damage");
    columns_attribute(c, "started");
    columns_attribute(c, "time");
    if (!document || all)
        columns_attribute(c, "user");
    if (!document || all || attribute_differs(runs, "attempts"))
        columns_attribute(c, "attempts");
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
static bool is_narrow(const struct column *c, const struct runs *runs)
{
    enum { WIDEST = 10 };

    for (size_t i = 0; i < runs->n; i++) {
        const char *value = run_info_param(&runs->run[i], c->key);

        if (value && strlen(value) > WIDEST)
            return false;
    }
    return true;
}

/* Add the first narrow parameters in which the runs differ. */
static void add_first_params(struct columns *c, const struct runs *runs)
{
    enum { MOST = 3 };
    struct columns params = { 0 };
    const size_t before = c->n;

    auto_columns_params(&params, runs, false);
    for (size_t i = 0; i < params.n && c->n < before + MOST; i++)
        if (column_differs(&params.item[i], runs) &&
            is_narrow(&params.item[i], runs))
            columns_add(c, COLUMN_PARAM, params.item[i].key);
    columns_clear(&params);
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
        const int f = column_direction(best) > 0 ? COLUMN_MAX : COLUMN_MIN;
        char *title = xasprintf("%s(%s)", column_functions[f], best->key);
        struct column *x = columns_append(c, best->key, title);

        x->kind = COLUMN_METRIC;
        x->function = (enum column_function)f;
        free(title);
    }
    columns_clear(&metrics);
}

/* Show "optim.lr" as "lr", unless something else is called so. */
static void shorten_titles(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *dot = strrchr(c->item[i].key, '.');
        bool taken = !dot || !dot[1] || c->item[i].kind != COLUMN_PARAM ||
                     column_find_attribute(dot + 1) >= 0;

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
    if (attribute_differs(runs, "experiment"))
        columns_attribute(c, "experiment");
    columns_attribute(c, "started");
    if (has_damage(runs))
        columns_attribute(c, "damage");
    if (attribute_differs(runs, "attempts"))
        columns_attribute(c, "attempts");
    auto_columns_metrics(c, runs, false);
    auto_columns_params(c, runs, false);
    shorten_titles(c);
}
