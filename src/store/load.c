#include "config.h"
#include "store/load.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/attempt.h"
#include "store/index.h"
#include "store/input.h"
#include "store/key.h"
#include "store/meta.h"
#include "store/metric.h"
#include "store/store.h"

enum { VALUE_MAX = 16 << 20, BEGINNING_SECS = 30 };

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
    struct watch *watch; /* of all that is read */
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
    struct path_list keys, folders;
    struct err e = ERR_INIT;

    watch_add(l->watch, l->run->folder, folder);
    if (key_list(&keys, &folders, folder, &e) < 0) {
        if (e.kind != ERR_MISSING)
            damaged(l, e.text, folder);
        return;
    }
    for (size_t i = 0; i < folders.n; i++) {
        char *path = path_join(folder, folders.name[i]);

        watch_add(l->watch, l->run->folder, path);
        free(path);
    }
    for (size_t i = 0; i < keys.n; i++) {
        char *path = path_join(folder, keys.name[i]);
        const char *problem = key_problem(keys.name[i]);

        if (problem)
            damaged(l, problem, path);
        watch_add(l->watch, l->run->folder, path);
        fn(l, path, keys.name[i]);
        free(path);
    }
    path_list_clear(&folders);
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
    m.retracted = scan.dropped;
    m.key = arena_strdup(l->mem, key);
    if (scan.bad)
        damaged(l,
                arena_printf(l->mem, "line %lld is no point",
                             (long long)scan.bad_line),
                path);
    else if (scan.torn && !l->run->torn)
        l->run->torn = arena_strdup(l->mem, path);
    else if (m.count + m.retracted == 0 && !scan.torn)
        damaged(l, "is empty", path);
    if (m.count + m.retracted == 0)
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

static void watch_inside(struct loader *l, const char *name)
{
    char *path = path_join(l->run->folder, name);

    watch_add(l->watch, l->run->folder, path);
    free(path);
}

static void load_inputs(struct loader *l)
{
    char *folder = path_join(l->run->folder, "inputs");
    const char *problem = NULL;
    struct path_list names;
    struct err e = ERR_INIT;

    watch_add(l->watch, l->run->folder, folder);
    if (path_list(&names, folder, &e) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            char *meta = xasprintf("inputs/%s/" STORE_META, names.name[i]);

            watch_inside(l, meta);
            free(meta);
        }
        path_list_clear(&names);
        inputs_load(&l->run->inputs, &l->run->n_inputs, l->mem, l->run->folder,
                    &problem);
        if (problem)
            damaged(l, problem, folder);
    }
    free(folder);
}

/* All that the files say. */
static void read_run(struct run_info *run, struct arena *mem,
                     struct watch *watch, int flags)
{
    struct loader l = { .mem = mem, .run = run, .watch = watch };
    struct attempt_list list;
    struct err e = ERR_INIT;
    struct meta meta;
    bool unread;

    watch_inside(&l, STORE_META);
    unread = meta_load(&meta, mem, run->folder, &e) < 0;
    if (unread) {
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
    watch_inside(&l, STORE_OWN); /* all in there comes by rename */
    attempts_load(&list, mem, run->folder);
    run->attempt = list.item;
    run->attempts = (int)list.n;
    if (unread && !run->attempts)
        run->status = RUN_STALE; /* nobody says that it is running */
    if (!(flags & LOAD_ALL_ATTEMPTS))
        rewinds_load(&l.rewinds, mem, run->folder);
    load_keys(&l, "params", load_param);
    load_keys(&l, "tags", load_tag);
    if (!(flags & LOAD_NO_METRICS))
        load_keys(&l, "metrics", load_metric);
    load_inputs(&l);
}

/* No attempt lives but the newest; and what it says, MLflow cannot. */
static void settle_state(struct run_info *run, struct arena *mem)
{
    const size_t n = (size_t)run->attempts;
    struct attempt *a;

    if (n == 0)
        return;
    a = arena_alloc(mem, n * sizeof *a);
    memcpy(a, run->attempt, n * sizeof *a);
    for (size_t i = 0; i + 1 < n; i++)
        if (a[i].status == RUN_RUNNING)
            a[i].status = RUN_STALE;
    run->state_reason = a[n - 1].reason;
    if (run->status == RUN_RUNNING) {
        a[n - 1].status = attempt_status(&a[n - 1], clock_wall_ms());
        run->status = a[n - 1].status;
    } else if (run->status == RUN_KILLED && a[n - 1].status == RUN_PREEMPTED) {
        run->status = RUN_PREEMPTED;
    }
    run->attempt = a;
}

/* What follows from where it is, and from what time it is. */
static void settle(struct run_info *run, struct arena *mem,
                   const struct experiment *x)
{
    const char *name = run_info_tag(run, "mlflow.runName");
    const char *user = run_info_tag(run, "mlflow.user");

    run->experiment = x->name;
    run->experiment_id = x->id;
    run->artifacts = arena_printf(mem, "%s/artifacts", run->folder);
    run->deleted = run->deleted || x->deleted;
    if (!run->start_ms && run->attempts) {
        run->start_ms = run->attempt[0].start_ms;
        run->end_ms = run->attempt[run->attempts - 1].end_ms;
    }
    if (!*run->user && user)
        run->user = user;
    settle_state(run, mem);
    if (!run->name || !*run->name)
        run->name = name ? name : run->id;
    run->parent = run_info_tag(run, "mlflow.parentRunId");
    run->seen_ms = last_seen(run);
    if (run->torn && run->status != RUN_RUNNING && !run->damage)
        run->damage = arena_printf(mem, "%s: the last line is torn", run->torn);
}

/* -- all runs ---------------------------------------------------------- */

struct load_task {
    const struct experiment *x;
    char *key; /* where the run is, below the root */
    bool found;
    struct run_info run;
};

struct crew { /* the threads that do the jobs */
    const char *root;
    int flags;
    char *const *ids; /* only these runs; NULL: all */
    int n_ids;
    struct index index;
    struct load_task *task;
    size_t n, room;
    atomic_size_t next;
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    struct arena mem;
};

static bool holds(const char *folder, const char *kind)
{
    char *path = path_join(folder, kind);
    struct path_list names = PATH_LIST_INIT;
    struct err none = ERR_INIT;
    const bool any = path_list(&names, path, &none) == 0 && names.n > 0;

    path_list_clear(&names);
    free(path);
    return any;
}

/* Without a meta.yaml: is it that its writer has not come to it yet?  Nothing
 * is logged before, and it takes moments. */
static bool is_beginning(const struct run_info *run)
{
    const int64_t now = clock_wall_ms() / 1000;
    struct stat st;

    return (!run->attempts || run->status == RUN_RUNNING) &&
           !holds(run->folder, "metrics") && !holds(run->folder, "params") &&
           stat(run->folder, &st) == 0 &&
           llabs((long long)now - st.st_mtim.tv_sec) < BEGINNING_SECS;
}

static void load_one(struct crew *crew, struct load_task *task,
                     struct arena *mem)
{
    const int kept = LOAD_ALL_ATTEMPTS | LOAD_NO_METRICS;
    struct run_info *run = &task->run;
    struct watch watch = WATCH_INIT;
    bool lost = false;

    run->folder = arena_printf(mem, "%s/%s", crew->root, task->key);
    if ((crew->flags & LOAD_ALL_ATTEMPTS) ||
        !index_get(&crew->index, task->key, run, mem)) {
        char *meta = path_join(run->folder, STORE_META);

        *run = (struct run_info){ .folder = run->folder };
        lost = !path_exists(meta);
        free(meta);
        if (lost && !store_looks_like_run(run->folder))
            return;
        read_run(run, mem, &watch, crew->flags);
        if (!lost && !(crew->flags & kept))
            index_put(&crew->index, task->key, run, &watch);
        watch_clear(&watch);
    }
    settle(run, mem, task->x);
    if (lost && is_beginning(run))
        return;
    task->found = run->deleted
                      ? crew->flags & LOAD_DELETED
                      : (crew->flags & LOAD_ONLY_DELETED) != LOAD_ONLY_DELETED;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    size_t i;

    while ((i = atomic_fetch_add(&w->crew->next, 1)) < w->crew->n)
        load_one(w->crew, &w->crew->task[i], &w->mem);
    return NULL;
}

/* With files of its own a thread need not guard them against the others, which
 * is a 20th of the time. */
static void *work_apart(void *arg)
{
    unshare(CLONE_FILES);
    return work(arg);
}

/* Several threads, since most of the time is the file system's. */
static void do_jobs(struct crew *crew, struct arena *mem)
{
    enum { WORKERS = 8, FEW = 32 };
    struct worker worker[WORKERS];
    const int n = crew->n < FEW ? 1 : WORKERS;
    int started = 0;

    for (int i = 0; i < n; i++)
        worker[i] = (struct worker){ .crew = crew };
    while (started < n - 1 && pthread_create(&worker[started].thread, NULL,
                                             work_apart, &worker[started]) == 0)
        started++;
    work(&worker[n - 1]);
    for (int i = 0; i < started; i++)
        pthread_join(worker[i].thread, NULL);
    for (int i = 0; i < n; i++)
        arena_join(mem, &worker[i].mem);
}

static bool is_wanted(const struct crew *crew, const char *id)
{
    for (int i = 0; i < crew->n_ids; i++)
        if (strcmp(crew->ids[i], id) == 0)
            return true;
    return !crew->ids;
}

static void add_jobs(struct crew *crew, const struct experiment *x)
{
    const char *below = x->folder + strlen(crew->root) + 1;
    struct path_list names;
    struct err e = ERR_INIT;

    if (path_list(&names, x->folder, &e) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        if (!store_is_run(names.name[i]) ||
            strcmp(names.name[i], STORE_META) == 0 ||
            !is_wanted(crew, names.name[i]))
            continue;
        GROW(crew->task, crew->n, crew->room);
        crew->task[crew->n++] = (struct load_task){
            .x = x, .key = xasprintf("%s/%s", below, names.name[i])
        };
    }
    path_list_clear(&names);
}

/* The cache is of all runs, so it is written only when all were looked at. */
static void save_index(struct crew *crew)
{
    char **keys = xcalloc(crew->n, sizeof *keys);
    size_t n = 0;

    for (size_t i = 0; i < crew->n; i++)
        if (crew->task[i].run.id)
            keys[n++] = crew->task[i].key;
    index_save(&crew->index, keys, n);
    free(keys);
}

static int by_start(const void *a, const void *b)
{
    const struct run_info *x = a, *y = b;

    if (x->start_ms != y->start_ms)
        return x->start_ms < y->start_ms ? -1 : 1;
    return strcmp(x->id, y->id);
}

static void collect(struct runs *runs, struct crew *crew)
{
    runs->run = xcalloc(crew->n, sizeof *runs->run);
    runs->room = crew->n;
    for (size_t i = 0; i < crew->n; i++) {
        if (crew->task[i].found)
            runs->run[runs->n++] = crew->task[i].run;
        free(crew->task[i].key);
    }
    free(crew->task);
    if (runs->n > 1)
        qsort(runs->run, runs->n, sizeof *runs->run, by_start);
}

static int load(struct runs *runs, struct crew *crew, struct err *e)
{
    struct experiments all;

    *runs = (struct runs)RUNS_INIT;
    if (experiments_load(&all, crew->root, e) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if (!all.item[i].deleted || (crew->flags & LOAD_DELETED))
            add_jobs(crew, &all.item[i]);
    index_open(&crew->index, crew->root);
    do_jobs(crew, &runs->mem);
    if (!crew->ids)
        save_index(crew);
    index_close(&crew->index, &runs->mem);
    collect(runs, crew);
    arena_join(&runs->mem, &all.mem); /* names of experiments */
    experiments_free(&all);
    return 0;
}

int runs_load(struct runs *runs, const char *root, int flags, struct err *e)
{
    struct crew crew = { .root = root, .flags = flags };

    return load(runs, &crew, e);
}

int runs_load_ids(struct runs *runs, const char *root, char *const *ids, int n,
                  int flags, struct err *e)
{
    struct crew crew = { .root = root, .flags = flags, .ids = ids, .n_ids = n };

    return load(runs, &crew, e);
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

static const void *find_key(const void *array, size_t n, size_t size,
                            const char *key)
{
    return n ? bsearch(&key, array, n, size, by_key) : NULL;
}

const char *run_info_param(const struct run_info *run, const char *key)
{
    const struct pair *p =
        find_key(run->params, run->n_params, sizeof *run->params, key);

    return p ? p->value : NULL;
}

const char *run_info_tag(const struct run_info *run, const char *key)
{
    const struct pair *p =
        find_key(run->tags, run->n_tags, sizeof *run->tags, key);

    return p ? p->value : NULL;
}

const struct metric_sum *run_info_metric(const struct run_info *run,
                                         const char *key)
{
    return find_key(run->metrics, run->n_metrics, sizeof *run->metrics, key);
}
