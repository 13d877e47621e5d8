#include "config.h"
#include "track/runs/auto_columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "track/runs/track.h"

struct key_use {
    const char *key, *value; /* value: the first run's that has it */
    size_t runs;
    bool differs;
};

/* The first run's come first, in order; next: where the next one may be. */
struct key_uses {
    struct key_use *item;
    size_t n, room;
    size_t first, next;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct key_use *)a)->key,
                  ((const struct key_use *)b)->key);
}

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

/* Sort, and make one entry of those with one key. */
static void unite(struct key_uses *u)
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
        k->differs |= x->differs || differ(k->value, x->value);
    }
    u->n = kept + 1;
}

/* A run's keys come in order, and are mostly those of the first. */
static void take(struct key_uses *u, const char *key, const char *value)
{
    int c = 1;

    while (u->next < u->first && (c = strcmp(u->item[u->next].key, key)) < 0)
        u->next++;
    if (c == 0) {
        struct key_use *k = &u->item[u->next++];

        k->runs++;
        k->differs |= differ(k->value, value);
        return;
    }
    GROW(u->item, u->n, u->room);
    u->item[u->n++] = (struct key_use){ key, value, 1, false };
}

static void end_run(struct key_uses *u, size_t run)
{
    if (run == 0)
        u->first = u->n;
    u->next = 0;
}

void choose_params(struct columns *c, const struct runs *runs, bool all)
{
    struct key_uses u = { 0 };

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; j < r->n_params; j++)
            take(&u, r->params[j].key, r->params[j].value);
        end_run(&u, i);
    }
    unite(&u);
    for (size_t i = 0; i < u.n; i++)
        if (all || u.item[i].differs || u.item[i].runs < runs->n)
            columns_add(c, COLUMN_PARAM, u.item[i].key);
    free(u.item);
}

static int by_use(const void *a, const void *b)
{
    const struct key_use *x = a, *y = b;

    if (x->runs != y->runs)
        return x->runs < y->runs ? 1 : -1;
    return strcmp(x->key, y->key);
}

/* Something of validation or a test: eval/f1, val/acc; not train/perplexity. */
static bool is_result(const char *metric)
{
    return track_direction(metric) != 0 && strncmp(metric, "train/", 6) != 0 &&
           strncmp(metric, "perf/", 5) != 0;
}

void choose_metrics(struct columns *c, const struct runs *runs, bool all)
{
    /* what gtrain writes that a run is judged by, in this order */
    static const char *const judged[] = {
        "train/loss",    "val/loss",           "val/perplexity",    "val/bpb",
        "hellaswag/acc", "hellaswag/acc_norm", "perf/tokens_per_s", "perf/mfu",
    };
    enum { MOST = 6 };
    struct key_uses u = { 0 };
    const size_t before = c->n;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; j < r->n_metrics; j++)
            take(&u, r->metrics[j].key, NULL);
        end_run(&u, i);
    }
    unite(&u);
    for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++) {
        const struct key_use k = { judged[i], NULL, 0, false };

        if (u.n && bsearch(&k, u.item, u.n, sizeof k, by_key))
            columns_add(c, COLUMN_METRIC, judged[i]);
    }
    for (size_t i = 0; i < u.n && !all && c->n < before + MOST; i++)
        if (is_result(u.item[i].key))
            columns_add(c, COLUMN_METRIC, u.item[i].key);
    if (c->n == before && u.n && !all) {
        qsort(u.item, u.n, sizeof *u.item, by_use);
        for (size_t i = 0; i < u.n && c->n < before + MOST; i++)
            if (strncmp(u.item[i].key, "system/", 7) != 0 &&
                strncmp(u.item[i].key, "exec/", 5) != 0)
                columns_add(c, COLUMN_METRIC, u.item[i].key);
    }
    for (size_t i = 0; i < u.n && all; i++)
        columns_add(c, COLUMN_METRIC, u.item[i].key);
    free(u.item);
}
