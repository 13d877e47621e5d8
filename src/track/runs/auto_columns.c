#include "config.h"
#include "track/runs/auto_columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
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

void auto_columns_metrics(struct columns *c, const struct runs *runs, bool all)
{
    /* the metrics of gtrain that runs are compared by, in this order */
    static const char *const usual[] = {
        "train/loss",    "val/loss",           "val/perplexity",    "val/bpb",
        "hellaswag/acc", "hellaswag/acc_norm", "perf/tokens_per_s", "perf/mfu",
    };
    enum { MAX_METRICS = 6 };
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
    if (c->n == before && u.n && !all) {
        qsort(u.item, u.n, sizeof *u.item, by_use);
        for (size_t i = 0; i < u.n && c->n < before + MAX_METRICS; i++)
            if (strncmp(u.item[i].key, "system/", 7) != 0 &&
                strncmp(u.item[i].key, "exec/", 5) != 0)
                columns_add(c, COLUMN_METRIC, u.item[i].key);
    }
    if (all)
        keep_most_used(&u, "metrics");
    for (size_t i = 0; i < u.n && all; i++)
        columns_add(c, COLUMN_METRIC, u.item[i].key);
    free(u.item);
}
