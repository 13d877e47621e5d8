#include "config.h"
#include "store/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/attempt.h"
#include "store/input.h"
#include "store/key.h"
#include "store/meta.h"
#include "store/metric.h"
#include "store/store.h"

enum { VALUE_MAX = 16 << 20 };

const char *run_status_word(enum run_status status)
{
    static const char *const words[] = {
        [RUN_RUNNING] = "RUNNING",   [RUN_SCHEDULED] = "SCHEDULED",
        [RUN_FINISHED] = "FINISHED", [RUN_FAILED] = "FAILED",
        [RUN_KILLED] = "KILLED",     [RUN_PREEMPTED] = "PREEMPTED",
        [RUN_STALE] = "STALE",
    };

    return status >= RUN_RUNNING && status <= RUN_STALE ? words[status] : "";
}

/* -- one run ----------------------------------------------------------- */

struct loader {
    struct arena *mem;
    struct run_info *run;
    struct rewind_list rewinds;
};

static void damaged(struct loader *l, const char *what, const char *where)
{
    if (!l->run->damage)
        l->run->damage = arena_printf(l->mem, "%s: %s", where, what);
}

/* Called with each file below a folder of keys. */
typedef void key_fn(struct loader *, const char *path, const char *key);

static void each_key(struct loader *l, const char *folder, key_fn *fn)
{
    struct path_list keys;
    struct err e = ERR_INIT;

    if (key_list(&keys, folder, &e) < 0) {
        if (e.kind != ERR_MISSING)
            damaged(l, e.text, folder);
        return;
    }
    for (size_t i = 0; i < keys.n; i++) {
        char *path = path_join(folder, keys.name[i]);
        const char *problem = key_problem(keys.name[i]);

        if (problem)
            damaged(l, problem, path);
        fn(l, path, keys.name[i]);
        free(path);
    }
    path_list_clear(&keys);
}

/* One more element at the end of an array in the arena. */
#define ADD(mem, array, n)                                                     \
 do {                                                                          \
  if (((n) & ((n)-1)) == 0) {                                                  \
   void *more_ = arena_alloc((mem), ((n) ? (n)*2 : 1) * sizeof *(array));      \
   if (n)                                                                      \
    memcpy(more_, (array), (n) * sizeof *(array));                             \
   (array) = more_;                                                            \
  }                                                                            \
  (n)++;                                                                       \
 } while (0)

static bool load_value(struct loader *l, const char *path, const char *key,
                       struct pair *out)
{
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    const bool good = buf_read_file(&b, path, VALUE_MAX, &e) == 0;

    if (!good) {
        damaged(l, e.text, path);
    } else {
        if (!utf8_valid(b.s))
            damaged(l, "is not UTF-8", path);
        out->key = arena_strdup(l->mem, key);
        out->value = arena_strndup(l->mem, b.s, b.len);
    }
    buf_clear(&b);
    return good;
}

static void load_param(struct loader *l, const char *path, const char *key)
{
    struct pair p;

    if (load_value(l, path, key, &p)) {
        ADD(l->mem, l->run->params, l->run->n_params);
        l->run->params[l->run->n_params - 1] = p;
    }
}

static void load_tag(struct loader *l, const char *path, const char *key)
{
    struct pair p;

    if (load_value(l, path, key, &p)) {
        ADD(l->mem, l->run->tags, l->run->n_tags);
        l->run->tags[l->run->n_tags - 1] = p;
    }
}

struct summing {
    struct metric_sum *sum;
    int64_t finite;
    double total;
};

/* MLflow's last value is the greatest (step, time, value). */
static bool is_later(const struct metric_sum *s, const struct point *p)
{
    if (p->step != s->last_step)
        return p->step > s->last_step;
    if (p->ms != s->last_ms)
        return p->ms > s->last_ms;
    return p->value > s->last;
}

static void sum_point(void *arg, const struct point *p)
{
    struct summing *s = arg;
    struct metric_sum *m = s->sum;

    if (m->count == 0 || p->step < m->first_step)
        m->first_step = p->step;
    if (m->count++ == 0 || is_later(m, p)) {
        m->last_step = p->step;
        m->last_ms = p->ms;
        m->last = p->value;
    }
    if (!isfinite(p->value)) {
        m->nonfinite++;
        return;
    }
    if (s->finite++ == 0 || p->value < m->min) {
        m->min = p->value;
        m->min_step = p->step;
    }
    if (s->finite == 1 || p->value > m->max) {
        m->max = p->value;
        m->max_step = p->step;
    }
    s->total += p->value;
}

static void load_metric(struct loader *l, const char *path, const char *key)
{
    struct metric_sum m = { .last = (double)NAN,
                            .min = (double)NAN,
                            .max = (double)NAN,
                            .mean = (double)NAN };
    struct summing s = { .sum = &m };
    struct metric_scan scan;
    struct err e = ERR_INIT;

    if (metric_read(path, key, &l->rewinds, sum_point, &s, &scan, &e) < 0) {
        damaged(l, e.text, path);
        return;
    }
    if (s.finite)
        m.mean = s.total / (double)s.finite;
    m.count += scan.dropped;
    m.key = arena_strdup(l->mem, key);
    if (scan.bad)
        damaged(l,
                arena_printf(l->mem, "line %lld is no point",
                             (long long)scan.bad_line),
                path);
    else if (scan.torn && l->run->status != RUN_RUNNING)
        damaged(l, "the last line is torn", path);
    else if (m.count == 0 && !scan.torn)
        damaged(l, "is empty", path);
    if (m.count == 0)
        return;
    ADD(l->mem, l->run->metrics, l->run->n_metrics);
    l->run->metrics[l->run->n_metrics - 1] = m;
}

static void load_keys(struct loader *l, const char *kind, key_fn *fn)
{
    char *folder = path_join(l->run->folder, kind);

    if (path_is_folder(folder))
        each_key(l, folder, fn);
    else if (strcmp(kind, "tags") != 0)
        damaged(l, "is not there", folder);
    free(folder);
}

static void load_state(struct run_info *run, struct arena *mem,
                       const struct meta *meta)
{
    struct attempt_list list;
    const struct attempt *newest;

    run->status = (enum run_status)meta->status;
    run->end_ms = meta->end_ms;
    attempts_load(&list, mem, run->folder);
    run->attempt = list.item;
    run->attempts = (int)list.n;
    if (list.n == 0)
        return;
    for (size_t i = 0; i + 1 < list.n; i++) /* no more than the newest lives */
        if (list.item[i].status == RUN_RUNNING)
            list.item[i].status = RUN_STALE;
    newest = &list.item[list.n - 1];
    run->state_reason = newest->reason;
    if (run->status == RUN_RUNNING)
        run->status = attempt_status(newest, clock_wall_ms());
    else if (run->status == RUN_KILLED && newest->status == RUN_PREEMPTED)
        run->status = RUN_PREEMPTED;
}

/* When was it last heard of? */
static int64_t last_seen(const struct run_info *run)
{
    int64_t ms = run->end_ms ? run->end_ms : run->start_ms;

    if (run->end_ms)
        return ms;
    if (run->attempts) {
        const struct attempt *a = &run->attempt[run->attempts - 1];

        ms = a->beat_ms > ms ? a->beat_ms : ms;
    }
    for (size_t i = 0; i < run->n_metrics; i++)
        if (run->metrics[i].last_ms > ms)
            ms = run->metrics[i].last_ms;
    return ms;
}

static void load_run(struct run_info *run, struct arena *mem,
                     const struct experiment *x, const char *folder, int flags)
{
    struct loader l = { .mem = mem, .run = run };
    struct err e = ERR_INIT;
    struct meta meta;
    const char *name, *problem = NULL;

    *run = (struct run_info){ .folder = arena_strdup(mem, folder),
                              .experiment = x->name,
                              .experiment_id = x->id,
                              .artifacts =
                                  arena_printf(mem, "%s/artifacts", folder) };
    if (meta_load(&meta, mem, folder, &e) < 0) {
        meta.id = arena_strdup(mem, path_name(folder));
        run->damage = arena_strdup(mem, e.text);
    }
    run->id = meta.id;
    run->name = meta.name;
    run->user = meta.user ? meta.user : "";
    run->artifact_uri = meta.artifact_uri;
    run->start_ms = meta.start_ms;
    run->deleted = meta.deleted || x->deleted;
    if (!run->damage)
        run->damage = meta.damage;
    load_state(run, mem, &meta);
    rewinds_load(&l.rewinds, mem, folder);
    load_keys(&l, "params", load_param);
    load_keys(&l, "tags", load_tag);
    if (!(flags & LOAD_NO_METRICS))
        load_keys(&l, "metrics", load_metric);
    inputs_load(&run->inputs, &run->n_inputs, mem, folder, &problem);
    if (problem && !run->damage)
        run->damage = problem;
    name = run_info_tag(run, "mlflow.runName");
    if (!run->name || !*run->name)
        run->name = name ? name : run->id;
    run->parent = run_info_tag(run, "mlflow.parentRunId");
    run->seen_ms = last_seen(run);
}

/* -- all runs ---------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct run_info *x = a, *y = b;

    if (x->start_ms != y->start_ms)
        return x->start_ms < y->start_ms ? -1 : 1;
    return strcmp(x->id, y->id);
}

static void load_experiment(struct runs *runs, const struct experiment *x,
                            int flags)
{
    struct path_list names;
    struct err e = ERR_INIT;

    if (path_list(&names, x->folder, &e) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *folder = path_join(x->folder, names.name[i]);
        char *meta = path_join(folder, STORE_META);

        if (store_is_run(names.name[i]) && path_exists(meta)) {
            struct run_info *run;

            GROW(runs->run, runs->n, runs->room);
            run = &runs->run[runs->n];
            load_run(run, &runs->mem, x, folder, flags);
            if (!run->deleted || (flags & LOAD_DELETED))
                runs->n++;
        }
        free(meta);
        free(folder);
    }
    path_list_clear(&names);
}

int runs_load(struct runs *runs, const char *root, int flags, struct err *e)
{
    struct experiments all;

    *runs = (struct runs)RUNS_INIT;
    if (experiments_load(&all, root, e) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct experiment x = all.item[i];

        if (x.deleted && !(flags & LOAD_DELETED))
            continue;
        x.id = arena_strdup(&runs->mem, x.id);
        x.name = arena_strdup(&runs->mem, x.name);
        load_experiment(runs, &x, flags);
    }
    experiments_free(&all);
    if (runs->n > 1)
        qsort(runs->run, runs->n, sizeof *runs->run, by_start);
    return 0;
}

void runs_free(struct runs *runs)
{
    arena_clear(&runs->mem);
    free(runs->run);
    *runs = (struct runs)RUNS_INIT;
}

/* -- parts of a run ---------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b; /* key is the first member */

    return strcmp(*x, *y);
}

static const void *find(const void *array, size_t n, size_t size,
                        const char *key)
{
    return n ? bsearch(&key, array, n, size, by_key) : NULL;
}

const char *run_info_param(const struct run_info *run, const char *key)
{
    const struct pair *p =
        find(run->params, run->n_params, sizeof *run->params, key);

    return p ? p->value : NULL;
}

const char *run_info_tag(const struct run_info *run, const char *key)
{
    const struct pair *p = find(run->tags, run->n_tags, sizeof *run->tags, key);

    return p ? p->value : NULL;
}

const struct metric_sum *run_info_metric(const struct run_info *run,
                                         const char *key)
{
    return find(run->metrics, run->n_metrics, sizeof *run->metrics, key);
}
