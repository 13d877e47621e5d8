#include "config.h"
#include "store/load_run.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/attempt.h"
#include "store/input.h"
#include "store/key.h"
#include "store/meta.h"
#include "store/metric.h"
#include "store/store.h"

/* What a run may have, so that a damaged one does not delay others: bytes
 * of parameters and tags. */
enum { TEXT_MAX = 16 << 20 };

/* -- all but the points ------------------------------------------------ */

struct run_reader {
    struct arena *mem;
    struct run_info *run;
    struct watch *watch; /* of all that is read */
    struct rewind_list rewinds;
    size_t text; /* bytes of parameters and tags so far */
};

static void damaged(struct run_reader *r, const char *what, const char *where)
{
    if (!r->run->damage)
        r->run->damage = arena_printf(r->mem, "%s: %s", where, what);
}

/* The same for what cannot be read; it may be readable at another time. */
static void failed(struct run_reader *r, const struct err *e, const char *where)
{
    damaged(r, e->text, where);
    r->run->unread = r->run->unread || e->kind == ERR_SYSTEM;
}

/* Called with each file below a folder of keys. */
typedef void key_fn(struct run_reader *, const char *path, const char *key);

static void each_key(struct run_reader *r, const char *folder, key_fn *fn)
{
    struct path_list keys, folders;
    struct err e = ERR_INIT;

    watch_add(r->watch, r->run->folder, folder);
    if (key_list(&keys, &folders, folder, &e) < 0) {
        if (e.kind != ERR_MISSING)
            failed(r, &e, folder);
        return;
    }
    if (key_list_full(&keys, &folders))
        damaged(r, "has more than 10,000 files, which are not all read",
                folder);
    for (size_t i = 0; i < folders.n; i++) {
        char *path = path_join(folder, folders.name[i]);

        watch_add(r->watch, r->run->folder, path);
        free(path);
    }
    for (size_t i = 0; i < keys.n; i++) {
        char *path = path_join(folder, keys.name[i]);
        const char *problem = key_problem(keys.name[i]);

        if (problem)
            damaged(r, problem, path);
        watch_add(r->watch, r->run->folder, path);
        fn(r, path, keys.name[i]);
        free(path);
    }
    path_list_clear(&folders);
    path_list_clear(&keys);
}

static void load_pair(struct run_reader *r, const char *path, const char *key,
                      struct pair **pairs, size_t *n)
{
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;

    if (r->text >= TEXT_MAX) {
        damaged(r, "not read: the run has more than 16 MiB of such text", path);
    } else if (buf_read_unlinked(&b, path, TEXT_MAX - r->text, &e) < 0) {
        failed(r, &e, path);
    } else {
        r->text += b.len;
        if (!utf8_valid(b.s))
            damaged(r, "is not UTF-8", path);
        *pairs = arena_grow(r->mem, *pairs, *n, sizeof **pairs);
        (*pairs)[(*n)++] = (struct pair){ arena_strdup(r->mem, key),
                                          arena_strndup(r->mem, b.s, b.len) };
    }
    buf_clear(&b);
}

static void load_param(struct run_reader *r, const char *path, const char *key)
{
    load_pair(r, path, key, &r->run->params, &r->run->n_params);
}

static int by_pair_key(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

/* Older stores have "is.NAME" for "derived.NAME".  A run that was resumed since
 * then has both, of which the new one counts. */
static void rename_derived(struct run_reader *r)
{
    struct run_info *run = r->run;
    size_t n = 0, renamed = 0;

    for (size_t i = 0; i < run->n_params; i++) {
        struct pair p = run->params[i];

        if (strncmp(p.key, "is.", 3) == 0) {
            p.key = arena_printf(r->mem, "derived.%s", p.key + 3);
            if (n - renamed > 0 && bsearch(&p, run->params, n - renamed,
                                           sizeof p, by_pair_key))
                continue;
            renamed++;
        }
        run->params[n++] = p;
    }
    run->n_params = n;
    if (renamed)
        qsort(run->params, n, sizeof *run->params, by_pair_key);
}

static void load_tag(struct run_reader *r, const char *path, const char *key)
{
    load_pair(r, path, key, &r->run->tags, &r->run->n_tags);
}

static void load_metric(struct run_reader *r, const char *path, const char *key)
{
    struct run_info *run = r->run;
    struct metric_sum m;
    struct metric_scan scan;
    struct err e = ERR_INIT;

    if (metric_sum_up(&m, path, key, &r->rewinds, &scan, &e) < 0) {
        failed(r, &e, path);
        return;
    }
    if (scan.bad)
        damaged(r,
                arena_printf(r->mem, "line %lld is no point",
                             (long long)scan.bad_line),
                path);
    else if (scan.torn && !run->torn)
        run->torn = arena_strdup(r->mem, path);
    else if (m.count + m.retracted == 0 && !scan.torn)
        damaged(r, "is empty", path);
    if (m.count + m.retracted == 0)
        return;
    m.key = arena_strdup(r->mem, key);
    run->metrics = arena_grow(r->mem, run->metrics, run->n_metrics, sizeof m);
    run->metrics[run->n_metrics++] = m;
}

static void load_keys(struct run_reader *r, const char *kind, key_fn *fn)
{
    char *folder = path_join(r->run->folder, kind);

    if (path_is_refused(folder))
        damaged(r, "is a symbolic link, which only --follow-links follows",
                folder);
    else if (path_is_folder(folder))
        each_key(r, folder, fn);
    else if (strcmp(kind, "tags") != 0)
        damaged(r, "is not there", folder);
    free(folder);
}

static void watch_inside(struct run_reader *r, const char *name)
{
    char *path = path_join(r->run->folder, name);

    watch_add(r->watch, r->run->folder, path);
    free(path);
}

static void load_inputs(struct run_reader *r)
{
    char *folder = path_join(r->run->folder, "inputs");
    const char *problem = NULL;
    struct path_list names;
    struct err e = ERR_INIT;

    watch_add(r->watch, r->run->folder, folder);
    if (path_list_most(&names, folder, INPUTS_MAX, &e) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            char *meta = xasprintf("inputs/%s/" STORE_META, names.name[i]);

            watch_inside(r, meta);
            free(meta);
        }
        path_list_clear(&names);
        inputs_load(&r->run->inputs, &r->run->n_inputs, r->mem, r->run->folder,
                    &problem);
        if (problem)
            damaged(r, problem, folder);
    }
    free(folder);
}

void load_run(struct run_info *run, struct arena *mem, struct watch *watch,
              int flags)
{
    struct run_reader r = { .mem = mem, .run = run, .watch = watch };
    struct attempt_list list;
    struct err e = ERR_INIT;
    struct meta meta;
    bool lost;

    watch_inside(&r, STORE_META);
    lost = meta_load(&meta, mem, run->folder, &e) < 0;
    if (lost) {
        run->unread = e.kind == ERR_SYSTEM;
        meta.id = arena_strdup(mem, path_name(run->folder));
        meta.damage = e.kind == ERR_MISSING ? "meta.yaml is missing"
                                            : arena_strdup(mem, e.text);
    }
    run->id = meta.id;
    run->name = meta.name;
    run->user = meta.user ? meta.user : "";
    run->artifact_uri = meta.artifact_uri;
    run->start_ms = meta.start_ms;
    run->end_ms = meta.end_ms;
    run->status = (enum run_status)meta.status;
    run->deleted = meta.deleted;
    run->damage = meta.damage;
    watch_inside(&r, STORE_OWN); /* all in there comes by rename */
    if (attempts_load(&list, mem, run->folder, &e) < 0)
        failed(&r, &e, run->folder);
    run->attempt = list.item;
    run->attempts = (int)list.n;
    if (lost && !run->attempts)
        run->status = RUN_STALE; /* nobody says that it is running */
    if (!(flags & LOAD_ALL_ATTEMPTS) &&
        rewinds_load(&r.rewinds, mem, run->folder, NULL, &e) < 0)
        failed(&r, &e, run->folder);
    load_keys(&r, "params", load_param);
    rename_derived(&r);
    load_keys(&r, "tags", load_tag);
    if (!(flags & LOAD_NO_METRICS))
        load_keys(&r, "metrics", load_metric);
    load_inputs(&r);
}

/* -- the points of a metric -------------------------------------------- */

struct at {
    struct point point;
    size_t place;
};

static int by_step(const void *a, const void *b)
{
    const struct at *x = a, *y = b;

    if (x->point.step != y->point.step)
        return x->point.step < y->point.step ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* By step; points of one step stay in the order of the file. */
static void sort_by_step(struct series *s)
{
    struct at *at = xcalloc(s->n, sizeof *at);

    for (size_t i = 0; i < s->n; i++)
        at[i] = (struct at){ { s->ms[i], s->step[i], s->value[i] }, i };
    qsort(at, s->n, sizeof *at, by_step);
    for (size_t i = 0; i < s->n; i++) {
        s->ms[i] = at[i].point.ms;
        s->step[i] = at[i].point.step;
        s->value[i] = at[i].point.value;
    }
    free(at);
}

/* A series that is being filled with a part of the points. */
struct filling {
    struct series *s;
    const struct series_part *part;
    size_t room;
    bool sorted;
};

/* Sort what there is, and keep only the last steps that are wanted. */
static void keep_last(struct filling *f)
{
    struct series *s = f->s;
    size_t first = s->n;

    if (!f->sorted)
        sort_by_step(s);
    f->sorted = true;
    for (int64_t k = 0; first > 0 && k < f->part->last; k++) {
        const int64_t step = s->step[first - 1];

        while (first > 0 && s->step[first - 1] == step)
            first--;
    }
    if (f->part->last == 0 || first == 0)
        return;
    s->n -= first;
    memmove(s->step, s->step + first, s->n * sizeof *s->step);
    memmove(s->ms, s->ms + first, s->n * sizeof *s->ms);
    memmove(s->value, s->value + first, s->n * sizeof *s->value);
}

/* Make room for a point.  If only the last steps are wanted, what has become
 * superfluous goes first. */
static void make_room(struct filling *f)
{
    enum { LEAST = 1024 };
    struct series *s = f->s;

    if (f->part->last && s->n)
        keep_last(f);
    if (f->room && s->n <= f->room / 2)
        return;
    f->room = f->room ? f->room * 2 : LEAST;
    s->step = xrealloc(s->step, f->room, sizeof *s->step);
    s->ms = xrealloc(s->ms, f->room, sizeof *s->ms);
    s->value = xrealloc(s->value, f->room, sizeof *s->value);
}

static void add_point(void *arg, const struct point *p)
{
    struct filling *f = arg;
    struct series *s = f->s;

    if (p->step < f->part->from || p->step > f->part->to)
        return;
    if (s->n == f->room)
        make_room(f);
    f->sorted = f->sorted && (s->n == 0 || p->step >= s->step[s->n - 1]);
    s->step[s->n] = p->step;
    s->ms[s->n] = p->ms;
    s->value[s->n++] = p->value;
}

int series_load_part(struct series *s, const struct run_info *run,
                     const char *key, const struct series_part *part, int flags,
                     struct err *e)
{
    char *path = xasprintf("%s/metrics/%s", run->folder, key);
    struct arena mem = ARENA_INIT;
    struct rewind_list rewinds = { 0 };
    struct filling f = { s, part, 0, true };
    struct metric_scan scan;
    int ret = 0;

    *s = (struct series)SERIES_INIT;
    if (!(flags & LOAD_ALL_ATTEMPTS))
        ret = rewinds_load(&rewinds, &mem, run->folder, key, e);
    if (ret == 0)
        ret = metric_read(path, key, &rewinds, add_point, &f, &scan, e);
    if (ret == 0)
        keep_last(&f);
    if (ret < 0 && e->kind == ERR_MISSING && (flags & LOAD_MAY_LACK)) {
        *e = (struct err)ERR_INIT;
        ret = 0;
    }
    if (ret < 0) {
        if (e->kind == ERR_MISSING)
            err_set(e, ERR_MISSING, "run %s has no metric %s", run->name, key);
        series_free(s);
    }
    arena_clear(&mem);
    free(path);
    return ret;
}

int series_load(struct series *s, const struct run_info *run, const char *key,
                int flags, struct err *e)
{
    const struct series_part all = { INT64_MIN, INT64_MAX, 0 };

    return series_load_part(s, run, key, &all, flags, e);
}

bool series_value(const struct series *s, int64_t step, double *value)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (s->step[mid] < step)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == s->n || s->step[low] != step)
        return false;
    *value = s->value[low];
    return true;
}

void series_free(struct series *s)
{
    free(s->step);
    free(s->ms);
    free(s->value);
    free(s->mean);
    free(s->weight);
    *s = (struct series)SERIES_INIT;
}
