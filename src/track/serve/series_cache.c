#include "config.h"
#include "track/serve/series_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct kept_series {
    char *run, *key;
    struct metric_sum sum; /* when it was read; its key is not used */
    struct series series;
    uint64_t used;
};

static size_t bytes_of(const struct series *s)
{
    return s->n * (sizeof *s->step + sizeof *s->ms + sizeof *s->value);
}

static int copy_series(struct series *to, const struct series *from,
                       const char *key, struct err *e)
{
    *to = (struct series){
        .n = from->n,
        .step = mem_alloc(from->n + 1, sizeof *to->step, key, e),
        .ms = mem_alloc(from->n + 1, sizeof *to->ms, key, e),
        .value = mem_alloc(from->n + 1, sizeof *to->value, key, e),
    };
    if (!to->step || !to->ms || !to->value) {
        series_free(to);
        return -1;
    }
    memcpy(to->step, from->step, from->n * sizeof *to->step);
    memcpy(to->ms, from->ms, from->n * sizeof *to->ms);
    memcpy(to->value, from->value, from->n * sizeof *to->value);
    return 0;
}

static void drop(struct series_cache *c, size_t i)
{
    struct kept_series *k = &c->item[i];

    c->bytes -= bytes_of(&k->series);
    series_free(&k->series);
    free(k->run);
    free(k->key);
    *k = c->item[--c->n];
}

static struct kept_series *find(struct series_cache *c, const char *run,
                                const char *key)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->item[i].run, run) == 0 &&
            strcmp(c->item[i].key, key) == 0)
            return &c->item[i];
    return NULL;
}

static bool is_same(const struct metric_sum *a, const struct metric_sum *b)
{
    return a->count == b->count && a->retracted == b->retracted &&
           a->last_step == b->last_step && a->last_ms == b->last_ms &&
           memcmp(&a->last, &b->last, sizeof a->last) == 0;
}

/* Make room by dropping what was not used for the longest time. */
static void make_room(struct series_cache *c, size_t bytes)
{
    while (c->n && c->bytes + bytes > SERIES_CACHE_BYTES) {
        size_t oldest = 0;

        for (size_t i = 1; i < c->n; i++)
            if (c->item[i].used < c->item[oldest].used)
                oldest = i;
        drop(c, oldest);
    }
}

static void keep(struct series_cache *c, const struct run_info *r,
                 const struct metric_sum *m, const char *key,
                 const struct series *s)
{
    const size_t bytes = bytes_of(s);
    struct err ignored = ERR_INIT;
    struct series copy;

    if (bytes > SERIES_CACHE_BYTES / 4 ||
        copy_series(&copy, s, key, &ignored) < 0)
        return;
    make_room(c, bytes);
    GROW(c->item, c->n, c->room);
    c->item[c->n++] = (struct kept_series){ .run = xstrdup(r->id),
                                            .key = xstrdup(key),
                                            .sum = *m,
                                            .series = copy,
                                            .used = ++c->uses };
    c->bytes += bytes;
}

int series_cache_load(void *cache, struct series *s, const struct run_info *r,
                      const char *key, struct err *e)
{
    struct series_cache *c = cache;
    const struct metric_sum *m = run_info_metric(r, key);
    struct kept_series *k = find(c, r->id, key);

    if (k && m && is_same(&k->sum, m)) {
        k->used = ++c->uses;
        return copy_series(s, &k->series, key, e);
    }
    if (k)
        drop(c, (size_t)(k - c->item));
    if (series_load(s, r, key, 0, e) < 0)
        return -1;
    if (m)
        keep(c, r, m, key, s);
    return 0;
}

void series_cache_clear(struct series_cache *c)
{
    while (c->n)
        drop(c, c->n - 1);
    free(c->item);
    *c = (struct series_cache){ 0 };
}
