#include "config.h"
#include "store/read/runs.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/secret.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/path.h"
#include "common/sig.h"
#include "store/format/attempt.h"
#include "store/format/store.h"
#include "store/read/index.h"

/* ---- heartbeats ---------------------------------------------------------- */

enum { BEATS_MAX = 1 << 24 }; /* bytes; larger ones begin anew */

struct beat {
    char run[33];
    int number; /* of the attempt */
    long long ms;
    double since; /* seconds after this machine was started */
};

struct beats {
    char *path; /* NULL: there is no cache */
    const char *boot;
    struct arena mem;
    struct beat *item;
    size_t n, room;
    bool changed;
};

static void read_beats(struct beats *b, const char *root)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    size_t boot;

    b->path = index_path(root, ".beats");
    b->boot = attempt_boot_id(&b->mem);
    boot = strlen(b->boot);
    /* those of another start of the machine, or of another machine, are none */
    if (b->path && buf_read_file(&text, b->path, BEATS_MAX, ERR_IGNORED) == 0 &&
        strncmp(text.s, b->boot, boot) == 0 && text.s[boot] == '\n')
        for (const char *line = strchr(text.s, '\n'); line;
             line = strchr(line + 1, '\n')) {
            struct beat one;

            if (sscanf(line + 1, "%32s %d %lld %lf", one.run, &one.number,
                       &one.ms, &one.since) != 4)
                continue;
            APPEND(b->item, b->n, b->room) = one;
        }
}

static void write_beats(struct beats *b)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (!b->boot)
        return;
    buf_printf(&text, "%s\n", b->boot);
    for (size_t i = 0; i < b->n; i++)
        buf_printf(&text, "%s %d %lld %.9f\n", b->item[i].run,
                   b->item[i].number, b->item[i].ms, b->item[i].since);
    if (b->path && b->changed)
        index_write(b->path, &text);
    FREE(b->path, b->item);
    arena_clear(&b->mem);
}

/* When this machine first saw the heartbeat as it is; now, if it cannot be
 * read. */
static double seen_since(struct beats *b, const struct run_info *run,
                         const struct attempt *a)
{
    struct beat now = { .number = a->number,
                        .ms = attempt_beat_ms(run->folder, a),
                        .since = clock_mono() };
    size_t i = 0;

    snprintf(now.run, sizeof now.run, "%s", run->id);
    while (i < b->n && strcmp(b->item[i].run, now.run) != 0)
        i++;
    if (i < b->n && b->item[i].number == now.number &&
        b->item[i].ms == now.ms && now.ms)
        return b->item[i].since;
    if (i == b->n)
        APPEND(b->item, b->n, b->room) = now;
    b->item[i] = now;
    b->changed = true;
    return now.since;
}

/* Judge the runs of which only the heartbeat can tell.  Returns the seconds
 * until all are judged but those whose heartbeat moved after `first`. */
static double judge(struct beats *b, struct runs *runs, const char *root,
                    double first)
{
    double left = 0;

    for (size_t i = 0; i < runs->n; i++) {
        struct run_info *r = &runs->run[i];
        const size_t n = (size_t)r->attempts;
        const struct attempt *last = n ? &r->attempt[n - 1] : NULL;
        struct attempt *a;
        double since, more;

        if (r->status != RUN_RUNNING || !last || last->pid <= 0 ||
            !store_is_id(r->id) ||
            attempt_life(r->folder, last) != ATTEMPT_UNKNOWN)
            continue;
        if (!b->boot)
            read_beats(b, root);
        since = seen_since(b, r, last);
        more = since + 3 * (double)last->interval_ms / 1000 - clock_mono();
        if (more >= 0) {
            left = since <= first ? fmax(left, more) : left;
            continue;
        }
        a = arena_alloc(&runs->mem, n * sizeof *a);
        memcpy(a, r->attempt, n * sizeof *a);
        a[n - 1].status = r->status = RUN_STALE;
        r->attempt = a;
    }
    return left;
}

static void judge_beats(struct runs *runs, const char *root)
{
    struct beats b = { 0 };

    judge(&b, runs, root, 0);
    write_beats(&b);
}

void runs_await_beats(struct runs *runs, const char *root)
{
    struct beats b = { 0 };
    double first = INFINITY, left;

    while ((left = judge(&b, runs, root, first)) > 0 && !sig_caught()) {
        if (isinf(first))
            log_info("waiting up to %.0f s to see whether processes of other "
                     "machines still write",
                     left);
        first = fmin(first, clock_mono());
        usleep(left < 1 ? 10000 : 250000);
    }
    write_beats(&b);
}

/* ---- one run ------------------------------------------------------------- */

enum { BEGINNING_SECS = 30 };

/* The last sign of life. */
static int64_t last_seen(const struct run_info *run)
{
    int64_t ms;

    if (run->end_ms)
        return run->end_ms;
    ms = run_info_last_ms(run);
    ms = run->start_ms > ms ? run->start_ms : ms;
    if (run->attempts) {
        const struct attempt *a = &run->attempt[run->attempts - 1];

        ms = a->beat_ms > ms ? a->beat_ms : ms;
    }
    return ms;
}

/* Only the newest attempt can be running, and it knows states that MLflow does
 * not. */
static void complete_state(struct run_info *run, struct arena *mem)
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
        a[n - 1].status =
            attempt_status(run->folder, &a[n - 1], clock_wall_ms());
        run->status = a[n - 1].status;
    } else if (run->status == RUN_KILLED &&
               run_status_mlflow(a[n - 1].status) == RUN_KILLED) {
        run->status = a[n - 1].status;
    }
    run->attempt = a;
}

/* Set what depends on the run's folder and on the current time. */
static void complete(struct run_info *run, struct arena *mem,
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
    complete_state(run, mem);
    if (!run->state_reason && run->status != RUN_FINISHED) /* imported */
        run->state_reason = run_info_tag(run, "gtrack.reason");
    if (!run->name || !*run->name)
        run->name = name ? name : run->id;
    run->parent = run_info_tag(run, "mlflow.parentRunId");
    run->seen_ms = last_seen(run);
    run->changed = changed_settings(run, mem);
    if (run->torn && run->status != RUN_RUNNING && !run->damage)
        run->damage = arena_printf(mem, "%s: the last line is torn", run->torn);
}

/* ---- all runs ------------------------------------------------------------ */

struct load_task {
    const struct experiment *x;
    char *key; /* where the run is, below the root */
    bool found;
    struct run_info run;
};

struct crew { /* the threads and the runs they load */
    const char *root;
    int flags;
    enum path_links links;
    char *const *ids; /* only these runs; NULL: all */
    int n_ids;
    struct index index;
    struct load_task *task;
    size_t n, room;
    struct err unread; /* see struct runs */
    atomic_size_t next;
};

struct worker {
    struct crew *crew;
    struct unpack_keep keep;
};

static bool holds(const char *folder, const char *kind)
{
    AUTO_FREE char *path = path_join(folder, kind);

    return store_has_files(path);
}

/* Without a meta.yaml: is its writer just about to create it?  Nothing is
 * logged before, and it takes moments. */
static bool is_beginning(const struct run_info *run)
{
    const int64_t now = clock_wall_ms() / 1000;
    struct stat st;

    return (!run->attempts || run->status == RUN_RUNNING) &&
           !holds(run->folder, "metrics") && !holds(run->folder, "params") &&
           stat(run->folder, &st) == 0 &&
           llabs((long long)now - st.st_mtim.tv_sec) < BEGINNING_SECS;
}

/* The index has what is read without following links. */
static bool uses_index(const struct crew *crew)
{
    return !(crew->flags & (LOAD_ALL_ATTEMPTS | LOAD_NO_INDEX | LOAD_LINKS));
}

/* Keep what was read of a run, in little more memory than its text has: what
 * was needed to read it goes. */
static void keep_run(struct run_info *run, struct arena *read,
                     struct unpack_keep *keep)
{
    struct run_info kept = { .folder = run->folder,
                             .links = run->links,
                             .unread = run->unread,
                             .edited = run->edited };
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct unpack u;

    pack_run(&b, run);
    u = (struct unpack){ b.s, b.s + b.len, true, keep };
    if (unpack_run(&u, &kept)) {
        *run = kept;
        arena_clear(read);
    } else {
        arena_join(&keep->mem, read);
    }
}

static void load_one(struct crew *crew, struct load_task *task,
                     struct unpack_keep *keep)
{
    struct run_info *run = &task->run;
    AUTO(watch_clear) struct watch watch = WATCH_INIT;
    struct arena read = { 0 };
    bool lost = false, whole;

    run->folder = arena_printf(&keep->mem, "%s/%s", crew->root, task->key);
    if (!uses_index(crew) || !index_get(&crew->index, task->key, run, keep)) {
        AUTO_FREE char *meta = path_join(run->folder, STORE_META);

        *run = (struct run_info){ .folder = run->folder,
                                  .links = crew->links,
                                  .edited = run->edited };
        lost = !path_exists(meta);
        if (lost && !store_looks_like_run(run->folder))
            return;
        load_run(run, &read, &watch, crew->flags);
        whole = !run->unread && !(crew->flags & LOAD_NO_METRICS);
        if (!lost && uses_index(crew) && (whole || run->edited))
            index_put(&crew->index, task->key, run, whole ? &watch : NULL);
        keep_run(run, &read, keep);
    }
    complete(run, &keep->mem, task->x);
    if (lost && is_beginning(run))
        return;
    task->found = run->deleted
                      ? crew->flags & LOAD_DELETED
                      : (crew->flags & LOAD_ONLY_DELETED) != LOAD_ONLY_DELETED;
}

static void load_tasks(void *arg)
{
    struct worker *w = arg;
    size_t i;

    while ((i = atomic_fetch_add(&w->crew->next, 1)) < w->crew->n)
        load_one(w->crew, &w->crew->task[i], &w->keep);
}

/* Use several threads, since most of the time is spent in the file system. */
static void run_tasks(struct crew *crew, struct arena *mem)
{
    enum { WORKERS = 8, FEW = 32 };
    struct worker worker[WORKERS];
    const int n = crew->n < FEW ? 1 : WORKERS;

    for (int i = 0; i < n; i++)
        worker[i] = (struct worker){ .crew = crew };
    threads_run(load_tasks, worker, sizeof worker[0], n);
    for (int i = 0; i < n; i++)
        arena_join(mem, &worker[i].keep.mem);
}

static bool is_wanted(const struct crew *crew, const char *id)
{
    for (int i = 0; i < crew->n_ids; i++)
        if (strcmp(crew->ids[i], id) == 0)
            return true;
    return !crew->ids;
}

static void add_tasks(struct crew *crew, const struct experiment *x)
{
    const size_t below = strlen(crew->root) + 1;
    AUTO(path_list_clear) struct path_list names = { 0 };
    struct err e = { 0 };

    if (x->unread)
        err_set(&crew->unread, ERR_SYSTEM, "experiment %s: %s", x->name,
                x->damage);
    if (path_list(&names, x->folder, &e) < 0) {
        if (e.kind != ERR_MISSING)
            log_warn("%s", e.text);
        if (e.kind == ERR_SYSTEM)
            crew->unread = e;
        return;
    }
    for (size_t i = 0; i < names.n; i++) {
        if (!store_is_run(names.name[i]) ||
            strcmp(names.name[i], STORE_META) == 0 ||
            !is_wanted(crew, names.name[i]))
            continue;
        APPEND(crew->task, crew->n, crew->room) = (struct load_task){
            .x = x, .key = xstrdup(path_listed(&names, i) + below)
        };
    }
}

/* The cache holds all runs, so it is written only when all were loaded. */
static void save_index(struct crew *crew)
{
    AUTO_FREE char **keys = xcalloc(crew->n, sizeof *keys);
    size_t n = 0;

    for (size_t i = 0; i < crew->n; i++)
        if (crew->task[i].run.id)
            keys[n++] = crew->task[i].key;
    index_save(&crew->index, keys, n);
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
    runs->unread = crew->unread;
    for (size_t i = 0; i < crew->n; i++) {
        const struct run_info *run = &crew->task[i].run;

        if (run->unread)
            err_set(&runs->unread, ERR_SYSTEM, "run %s: %s", run->name,
                    run->damage);
        if (crew->task[i].found)
            runs->run[runs->n++] = *run;
        free(crew->task[i].key);
    }
    free(crew->task);
    SORT(runs->run, runs->n, by_start);
}

int runs_load_ids(struct runs *runs, const char *root, char *const *ids, int n,
                  int flags, struct err *e)
{
    struct crew crew = { .root = root, .flags = flags, .ids = ids, .n_ids = n };
    AUTO(experiments_free) struct experiments all = { 0 };
    int ret;

    crew.links = flags & LOAD_LINKS ? PATH_FOLLOW_LINKS : PATH_NO_LINKS;
    *runs = (struct runs){ 0 };
    ret = experiments_load(&all, root, crew.links, e);
    for (size_t i = 0; i < all.n && ret == 0; i++)
        if (!all.item[i].deleted || (flags & LOAD_DELETED))
            add_tasks(&crew, &all.item[i]);
    index_open(&crew.index, root, flags & LOAD_FRESH);
    run_tasks(&crew, &runs->mem);
    if (!ids && ret == 0)
        save_index(&crew);
    index_close(&crew.index);
    collect(runs, &crew);
    judge_beats(runs, root);
    arena_join(&runs->mem, &all.mem); /* names of experiments */
    if (ret < 0)
        runs_free(runs);
    return ret;
}

int runs_load(struct runs *runs, const char *root, int flags, struct err *e)
{
    return runs_load_ids(runs, root, NULL, 0, flags, e);
}

void runs_warn_damage(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].damage)
            log_warn("%s is damaged and may be incomplete: %s",
                     runs->run[i].name, runs->run[i].damage);
}

/* The pairs that look like secrets; *first is one of them, if any. */
static size_t count_secrets(const struct pair *pair, size_t n,
                            const char **first)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        if (secret_is_named(pair[i].key, pair[i].value)) {
            *first = pair[i].key;
            found++;
        }
    return found;
}

void runs_warn_secrets(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        const char *command = run_info_command(r), *key = NULL;
        const struct pair line = { "the command line", command };
        const size_t n = count_secrets(&line, command != NULL, &key) +
                         count_secrets(r->params, r->n_params, &key) +
                         count_secrets(r->tags, r->n_tags, &key);

        if (n > 0)
            log_warn("%s: %zu value%s may be secret, such as that of %s, and "
                     "will be seen by whoever gets the run",
                     r->name, n, n == 1 ? "" : "s", key);
    }
}

void runs_free(struct runs *runs)
{
    arena_clear(&runs->mem);
    free(runs->run);
    *runs = (struct runs){ 0 };
}
