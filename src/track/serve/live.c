#include "config.h"
#include "track/serve/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"

/* Seconds from one reading to the next, at least. */
static const double soonest = 0.3, /* after a change */
    polling = 2,                   /* where changes are not reported */
    beats = 15,                    /* a run that is running may be dead */
    trouble = 1,                   /* until a missing store is looked for */
    calm = 30;

/* Of so many parts of the time, one is for reading. */
enum { SHARE = 20 };

/* -- what is different ----------------------------------------------------- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    return hash128(data, n, h).hi;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    return s ? mix(h, s, strlen(s) + 1) : h;
}

/* A number that is another one after a change of the run. */
static uint64_t print_of(const struct run_info *r)
{
    const int64_t facts[] = { r->status, r->deleted,  r->start_ms,
                              r->end_ms, r->attempts, (int64_t)r->n_params };
    uint64_t h = mix(0, facts, sizeof facts);

    h = mix_text(mix_text(mix_text(h, r->id), r->name), r->experiment);
    h = mix_text(h, r->damage);
    for (size_t i = 0; i < r->n_tags; i++)
        h = mix_text(mix_text(h, r->tags[i].key), r->tags[i].value);
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct metric_sum *m = &r->metrics[i];

        h = mix(h, &m->count, sizeof m->count);
        h = mix(h, &m->last, sizeof m->last);
    }
    return h;
}

struct known {
    const char *id;
    uint64_t print;
    int64_t since;
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->id, ((const struct known *)b)->id);
}

/* Sorted by id; the caller frees it. */
static struct known *list_known(const struct live *l)
{
    struct known *known = xcalloc(l->runs.n + 1, sizeof *known);

    for (size_t i = 0; i < l->runs.n; i++)
        known[i] =
            (struct known){ l->runs.run[i].id, l->print[i], l->since[i] };
    if (l->runs.n)
        qsort(known, l->runs.n, sizeof *known, by_id);
    return known;
}

/* -- reading --------------------------------------------------------------- */

/* Take over the runs that were read; true if they differ from those before. */
static bool accept_runs(struct live *l, struct runs *now)
{
    struct known *known = list_known(l);
    const size_t before = l->runs.n;
    bool any = before != now->n;

    l->print = xrealloc(l->print, now->n + 1, sizeof *l->print);
    l->since = xrealloc(l->since, now->n + 1, sizeof *l->since);
    l->changed = xrealloc(l->changed, now->n + 1, sizeof *l->changed);
    l->running = false;
    for (size_t i = 0; i < now->n; i++) {
        const struct run_info *r = &now->run[i];
        const struct known key = { .id = r->id };
        const struct known *was =
            before ? bsearch(&key, known, before, sizeof key, by_id) : NULL;

        l->print[i] = print_of(r);
        l->changed[i] = !was || was->print != l->print[i];
        l->since[i] = l->changed[i] ? l->version + 1 : was->since;
        l->running |= r->status == RUN_RUNNING;
        any |= l->changed[i];
        if (l->changed[i])
            changes_watch_run(&l->changes, r);
        /* a point may have come before it was watched */
        l->stale |= !was && r->status == RUN_RUNNING;
    }
    free(known);
    runs_free(&l->runs);
    l->runs = *now;
    return any;
}

bool live_read(struct live *l)
{
    const double begin = clock_mono();
    const bool had_problem = l->problem.kind != ERR_NONE;
    struct runs now = RUNS_INIT;
    bool any;

    l->problem = (struct err)ERR_INIT;
    changes_watch_root(&l->changes, l->path);
    l->stale = false;
    if (runs_load(&now, l->path, LOAD_DELETED, &l->problem) < 0)
        now = (struct runs)RUNS_INIT;
    any = accept_runs(l, &now);
    any |= had_problem != (l->problem.kind != ERR_NONE);
    l->version += any;
    l->read_at = clock_mono();
    l->cost = l->read_at - begin;
    return any;
}

void live_open(struct live *l, const char *path)
{
    *l = (struct live){ .path = path, .runs = RUNS_INIT };
    changes_open(&l->changes, path);
    live_read(l);
}

void live_look(struct live *l)
{
    if (changes_take(&l->changes))
        l->stale = true;
}

/* When the next reading is due. */
static double due_at(const struct live *l)
{
    const double pause = l->stale           ? soonest
                         : l->problem.kind  ? trouble
                         : !l->changes.seen ? polling
                         : l->running       ? beats
                                            : calm;

    return l->read_at + fmax(pause, l->cost * SHARE);
}

bool live_due(const struct live *l)
{
    return clock_mono() >= due_at(l);
}

double live_wait(const struct live *l)
{
    return fmax(due_at(l) - clock_mono(), 0);
}

int64_t live_since(const struct live *l, char *const *ids, size_t n)
{
    int64_t since = 0;

    for (size_t i = 0; i < l->runs.n; i++)
        for (size_t k = 0; k < n && l->since[i] > since; k++)
            if (strcmp(l->runs.run[i].id, ids[k]) == 0)
                since = l->since[i];
    return since;
}

void live_changed(const struct live *l, struct emit *o)
{
    emit_object(o, NULL);
    emit_int(o, "version", l->version);
    emit_array(o, "runs");
    for (size_t i = 0; i < l->runs.n; i++)
        if (l->changed[i])
            emit_text(o, NULL, l->runs.run[i].id);
    emit_array_end(o);
    emit_object_end(o);
}

void live_close(struct live *l)
{
    changes_close(&l->changes);
    runs_free(&l->runs);
    free(l->print);
    free(l->changed);
    free(l->since);
}
