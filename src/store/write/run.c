#include "config.h"
#include "store/write/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/secret.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/attempt.h"
#include "store/format/meta.h"
#include "store/format/store.h"
#include "store/format/tfevents.h"
#include "store/read/runs.h"
#include "store/write/provenance.h"
#include "store/write/writer.h"

struct run {
    struct arena mem;
    struct point_queue queue; /* of the writer */
    struct writer *writer;
    struct provenance *provenance;
    struct meta meta;
    struct attempt attempt;
    char *folder, *place; /* of a new run: where it will be */
    int held;             /* the locked file of the attempt, or -1 */
    bool began;           /* the attempt is in the run */
    bool lacks_output;
    bool beating;
    pthread_t beats;
    pthread_cond_t wake;
    pthread_mutex_t lock;
    char *reason; /* guarded by it, as are the attempt and the next three */
    bool stop;
    atomic_bool lost; /* to a newer attempt */
    struct err why;
};

/* run_check(), with the lock held. */
static int check(struct run *r, struct err *e)
{
    if (!r->lost && attempt_check(r->folder, r->attempt.number, &r->why) < 0) {
        r->lost = true;
        err_wrap(&r->why, "%s", r->meta.name);
    }
    if (r->lost)
        *e = r->why;
    return r->lost ? -1 : 0;
}

int run_check(struct run *r, struct err *e)
{
    int ret;

    pthread_mutex_lock(&r->lock);
    ret = check(r, e);
    pthread_mutex_unlock(&r->lock);
    return ret;
}

bool run_is_lost(const struct run *r)
{
    return atomic_load(&r->lost);
}

static int may_write(void *run, struct err *e)
{
    return run_check(run, e);
}

/* The heartbeat has a thread of its own: writing the points may take minutes
 * on a slow disk. */
static void *beat_on(void *arg)
{
    struct run *r = arg;

    const double secs = (double)r->attempt.interval_ms / 1000;

    while (!clock_wait(&r->lock, &r->wake, &r->stop, secs)) {
        pthread_mutex_lock(&r->lock);
        if (check(r, ERR_IGNORED) == 0) {
            r->attempt.beat_ms = clock_wall_ms();
            attempt_save(r->folder, &r->attempt, false, NULL, ERR_IGNORED);
        }
        pthread_mutex_unlock(&r->lock);
        if (run_is_lost(r))
            break;
    }
    return NULL;
}

static int start_beats(struct run *r, struct err *e)
{
    clock_cond(&r->wake);
    errno = threads_start(&r->beats, beat_on, r);
    r->beating = errno == 0;
    return r->beating ? 0
                      : err_sys(e, "cannot start the thread of the heartbeat");
}

static void stop_beats(struct run *r)
{
    if (!r->beating)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->beats, NULL);
    pthread_cond_destroy(&r->wake);
    r->beating = false;
}

/* A command line without secrets. */
static const char *mask_command(struct arena *mem, const char *command)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    secret_mask(&b, command);
    return arena_strdup(mem, b.s);
}

/* What the attempt says of itself, and the file that it keeps locked. */
static int prepare_attempt(struct run *r, const struct run_conf *c,
                           struct err *e)
{
    if (c->cpus || c->no_cpus)
        r->attempt.cpus = c->cpus;
    r->attempt.gpus = c->gpus;
    if (c->command)
        r->attempt.command = mask_command(&r->mem, c->command);
    r->held = attempt_lock(r->folder, &r->attempt, &r->mem, e);
    return r->held < 0 && e->kind != ERR_NONE ? -1 : 0;
}

static void unlock_attempt(struct run *r)
{
    if (r->held < 0)
        return;
    attempt_unlock(r->folder, &r->attempt);
    close(r->held);
    r->held = -1;
}

static int begin_new(struct run *r, const struct run_conf *c, struct err *e)
{
    struct run_conf conf = *c;
    struct new_run n;
    int ret;

    conf.source = c->command ? mask_command(&r->mem, c->command)
                             : program_invocation_short_name;
    ret = new_run_stage(&n, &r->mem, &conf, e);
    r->attempt = n.self;
    r->meta = n.meta;
    r->folder = n.folder;
    r->place = n.place;
    if (ret < 0 || prepare_attempt(r, c, e) < 0)
        return -1;
    return attempt_save(r->folder, &r->attempt, true, NULL, e);
}

/* Become the attempt after these, unless another process just did: then *exists
 * is set, and nothing has changed. */
static int follow(struct run *r, const struct run_conf *c,
                  const struct attempt_list *before, bool *exists,
                  struct err *e)
{
    attempt_self(&r->attempt, &r->mem, before->last ? before->last + 1 : 2);
    if (store_make_own(r->folder, e) < 0 || prepare_attempt(r, c, e) < 0)
        return -1;
    if (attempt_save(r->folder, &r->attempt, true, exists, e) < 0)
        return -1;
    if (*exists) {
        unlock_attempt(r);
        return 0;
    }
    r->began = true;
    for (size_t i = 0; i < before->n; i++)
        attempt_unlock(r->folder, &before->item[i]);
    return 0;
}

/* Where there are no links, the file of an attempt is empty for a moment. */
static int load_attempts(const struct run *r, struct arena *mem,
                         struct attempt_list *list, struct err *e)
{
    for (int tries = 0; tries < 100; tries++) {
        if (attempts_load(list, mem, r->folder, PATH_NO_LINKS, e) < 0)
            return -1;
        if (list->last == (list->n ? list->item[list->n - 1].number : 0))
            break;
        usleep(20000);
    }
    return 0;
}

/* Wait until no other process writes the run, and become its next attempt. */
static int take_over(struct run *r, const struct run_conf *c, struct err *e)
{
    for (bool exists = true; exists;) {
        struct attempt_list list;
        const struct attempt *last;

        if (load_attempts(r, &r->mem, &list, e) < 0)
            return -1;
        last = list.n ? &list.item[list.n - 1] : NULL;
        if (last && last->status == RUN_RUNNING && !c->steal &&
            attempt_await(r->folder, last, e) < 0)
            return err_wrap(e, "run %s", r->meta.name);
        if (last && c->may_resume && c->may_resume(c->arg, last->status, e) < 0)
            return -1;
        if (follow(r, c, &list, &exists, e) < 0)
            return -1;
    }
    return 0;
}

static int begin_again(struct run *r, const struct run_conf *c, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO_FREE char *word = xstrdup(c->resume), *attempt = NULL;
    int ret;

    if (runs_select(&runs, c->root, &word, 1, LOAD_NO_METRICS, e) < 0)
        return -1;
    if (runs.n != 1)
        return err_usage(e, "%zu runs are named %s; resume by id", runs.n,
                         c->resume);
    r->folder = xstrdup(runs.run[0].folder);
    if (meta_load(&r->meta, &r->mem, r->folder, PATH_NO_LINKS, e) < 0)
        return -1;
    meta_place(&r->meta, &r->mem, r->folder);
    if (!r->meta.name)
        r->meta.name = arena_strdup(&r->mem, runs.run[0].name);
    if (take_over(r, c, e) < 0)
        return -1;
    r->meta.status = RUN_RUNNING;
    r->meta.end_ms = 0;
    ret = new_run_folders(r->folder, e);
    attempt = attempt_path(r->folder, r->attempt.number);
    store_clear_temps(r->folder, attempt); /* those of earlier attempts */
    return ret;
}

/* The event file of this attempt, if one is wanted; the writer closes it. */
static int open_events(struct run *r, const struct run_conf *c,
                       struct tfevents **out, struct err *e)
{
    *out = c->tensorboard ? tfevents_create(c->tensorboard, r->meta.name,
                                            r->meta.id, r->attempt.start_ms, e)
                          : NULL;
    return *out || !c->tensorboard ? 0 : -1;
}

static void free_run(struct run *r)
{
    pthread_mutex_destroy(&r->lock);
    FREE(r->reason, r->place, r->folder);
    arena_clear(&r->mem);
    free(r);
}

/* Move a new run to its place when it is complete. */
static int appear(struct run *r, struct err *e)
{
    if (!r->place)
        return 0;
    if (staging_commit(r->folder, r->place, e) < 0)
        return -1;
    free(r->folder);
    r->folder = r->place;
    r->place = NULL;
    return 0;
}

/* Others may have renamed or deleted the run since. */
static void refresh(struct run *r)
{
    struct meta now;

    if (meta_load(&now, &r->mem, r->folder, PATH_NO_LINKS, ERR_IGNORED) == 0 &&
        !now.damage)
        r->meta = now;
}

static int save_end(struct run *r, enum run_status status, struct err *e)
{
    r->attempt.status = status;
    r->attempt.reason = r->reason;
    r->attempt.end_ms = r->attempt.beat_ms = clock_wall_ms();
    refresh(r);
    r->meta.status = run_status_mlflow(status);
    r->meta.end_ms = status == RUN_RUNNING ? 0 : r->attempt.end_ms;
    if (attempt_save(r->folder, &r->attempt, true, NULL, e) < 0)
        return -1;
    return meta_save(&r->meta, r->folder, true, e);
}

bool run_take_handed(struct run_conf *c)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *id, *root;
    bool taken = false;

    if (c->resume || c->id || c->parent)
        return false;
    pthread_mutex_lock(&lock);
    if (!id && getenv("GTRACK_RESUME")) {
        const char *store = getenv("GTRACK_ROOT");

        id = xstrdup(getenv("GTRACK_RESUME"));
        root = store ? xstrdup(store) : NULL;
        unsetenv("GTRACK_RESUME");
        taken = true;
    }
    pthread_mutex_unlock(&lock);
    if (!taken)
        return false;
    c->resume = id;
    if (root)
        c->root = root;
    return true;
}

int run_begin(struct run **out, const struct run_conf *c, struct err *e)
{
    struct run *r = xcalloc(1, sizeof *r);
    struct writer_conf conf = { .queue = &r->queue,
                                .may_write = may_write,
                                .arg = r };

    *out = NULL;
    r->held = -1;
    pthread_mutex_init(&r->lock, NULL);
    if ((c->resume ? begin_again(r, c, e) : begin_new(r, c, e)) < 0 ||
        meta_save(&r->meta, r->folder, true, e) < 0 || appear(r, e) < 0 ||
        open_events(r, c, &conf.events, e) < 0 || start_beats(r, e) < 0)
        goto fail;
    conf.run = r->folder;
    conf.name = r->meta.name;
    conf.flush_secs = c->flush_secs > 0 ? c->flush_secs : 1;
    conf.memory = c->memory;
    conf.attempt = r->attempt.number;
    if (writer_start(&r->writer, &conf, e) < 0)
        goto fail;
    if (!c->no_provenance)
        r->provenance = provenance_start(&r->queue, r->folder);
    *out = r;
    return 0;

fail:
    stop_beats(r);
    if (r->began)
        save_end(r, RUN_FAILED, ERR_IGNORED);
    unlock_attempt(r);
    if (!c->resume && r->folder)
        path_remove(r->folder, ERR_IGNORED);
    free_run(r);
    return -1;
}

const char *run_id(const struct run *r)
{
    return r->meta.id;
}

const char *run_name(const struct run *r)
{
    return r->meta.name;
}

const char *run_folder(const struct run *r)
{
    return r->folder;
}

/* Queue a parameter or a tag, without secrets. */
static void queue_text(struct run *r, enum key_kind kind, const char *key,
                       const char *value)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (value)
        secret_mask_named(&b, key, value);
    point_queue_text(&r->queue, kind, key, value ? b.s : NULL);
}

void run_param(struct run *r, const char *key, const char *value)
{
    queue_text(r, PARAM, key, value);
}

void run_paramf(struct run *r, const char *key, const char *fmt, ...)
{
    AUTO(buf_clear) struct buf value = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&value, fmt, ap);
    va_end(ap);
    run_param(r, key, value.s);
}

void run_tag(struct run *r, const char *key, const char *value)
{
    queue_text(r, TAG, key, value);
}

void run_metric(struct run *r, const char *key, int64_t step, double value)
{
    run_metrics_ago(r, step, 0, &(struct run_point){ key, value }, 1);
}

void run_metrics(struct run *r, int64_t step, const struct run_point *p,
                 int count)
{
    run_metrics_ago(r, step, 0, p, count);
}

void run_metrics_ago(struct run *r, int64_t step, double secs,
                     const struct run_point *p, int count)
{
    point_queue_points(&r->queue, step, (int64_t)(secs * 1000), p, count);
}

void run_rewind(struct run *r, int64_t step)
{
    point_queue_rewind(&r->queue, step);
}

int run_dataset(struct run *r, const struct run_dataset *d, struct err *e)
{
    return dataset_save(r->folder, r->meta.id, d, e);
}

int run_artifact(struct run *r, const char *name, const void *data, size_t n,
                 struct err *e)
{
    return store_artifact_write(r->folder, name, data, n, true, e);
}

char *run_artifact_path(struct run *r, const char *name)
{
    struct err e = { 0 };
    char *path = store_artifact(r->folder, name, &e);

    if (!path)
        log_warn("%s: %s", r->meta.name, e.text);
    return path;
}

int run_flush(struct run *r, struct err *e)
{
    return writer_flush(r->writer, e);
}

void run_lacks_output(struct run *r)
{
    r->lacks_output = true;
}

void run_reason(struct run *r, const char *reason)
{
    pthread_mutex_lock(&r->lock);
    free(r->reason);
    r->reason = xstrdup(reason);
    pthread_mutex_unlock(&r->lock);
}

void run_abandon(struct run *r, enum run_status status, const char *reason)
{
    if (reason)
        run_reason(r, reason);
    run_flush(r, ERR_IGNORED);
    pthread_mutex_lock(&r->lock); /* for good: no heartbeat follows */
    if (check(r, ERR_IGNORED) == 0)
        save_end(r, status, ERR_IGNORED);
    attempt_unlock(r->folder, &r->attempt);
}

int run_end(struct run *r, enum run_status status, struct err *e)
{
    int ret;

    if (!r)
        return 0;
    provenance_end(r->provenance);
    ret = writer_stop(r->writer, e);
    if (ret == 0)
        ret = save_sync_all(r->folder, e);
    if (ret == 0 && r->lacks_output)
        ret = err_set(e, ERR_SYSTEM, "%s: some of its output is lost",
                      r->meta.name);
    stop_beats(r);
    if (run_check(r, ret == 0 ? e : ERR_IGNORED) < 0 ||
        save_end(r, status, ret == 0 ? e : ERR_IGNORED) < 0)
        ret = -1;
    unlock_attempt(r);
    free_run(r);
    return ret;
}

/* ---- a run that several processes begin --------------------------------- */

static int create_file(const char *path, struct err *e)
{
    char line[34];

    store_new_id(line);
    memcpy(line + 32, "\n", 2);
    return save_create(path, line, e);
}

int claimed_run_id(const char *path, bool create, char **id, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    struct err why = { 0 };
    int ret = -1;

    /* where there are no links, the file of another process is empty for a
     * moment */
    for (int tries = 0; tries < 100; tries++) {
        ret = buf_read_unlinked(&text, path, 256, &why);
        if (ret < 0 && why.kind == ERR_MISSING && create) {
            why = (struct err){ 0 };
            ret = create_file(path, &why);
        }
        if (ret < 0)
            break;
        buf_trim(&text, strcspn(text.s, "\n"));
        if (store_is_id(text.s)) {
            *id = buf_detach(&text);
            return 0;
        }
        if (text.len)
            clock_pause(0.02);
    }
    if (ret == 0)
        return err_input(e, "%s does not hold the id of a run", path);
    *e = why;
    return -1;
}

int claimed_run_begin(struct run **run, const struct run_conf *c,
                      const char *id, bool *made, struct err *e)
{
    struct run_conf old = *c, fresh = *c;
    struct err why = { 0 };

    *made = false;
    old.resume = id;
    fresh.resume = NULL;
    fresh.id = id;
    if (run_begin(run, &old, e) == 0)
        return 0;
    if (e->kind != ERR_MISSING)
        return -1;
    *e = (struct err){ 0 };
    *made = run_begin(run, &fresh, &why) == 0;
    if (*made || run_begin(run, &old, e) == 0) /* another process made it */
        return 0;
    if (e->kind == ERR_MISSING)
        *e = why;
    return -1;
}
