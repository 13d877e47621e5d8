/*
 * libgtrack - the functions of gtrack.h, for other programs
 */
#include "config.h"
#include "store/lib/gtrack.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "store/lib/monitor.h"
#include "store/read/runs.h"
#include "store/write/edit.h"
#include "store/write/run.h"

struct gtrack {
    struct run *run;
    int64_t last_step;
    int forks; /* how many forks there were before, see count_fork() */
    atomic_llong step; /* that was logged last */
    struct monitor *monitor;
    pthread_mutex_t lock;
    struct gtrack_keys *keys; /* all that gtrack_keys() made; guarded by it */
};

struct gtrack_keys {
    struct gtrack_keys *next;
    struct gtrack *owner;
    int count;
    const char *key[];
};

/* How many forks are between this process and the first that opened a run: the
 * thread that writes a run exists only in the process that began it. */
static atomic_int forks;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* The run, if this process may write it. */
static struct run *own_run(const struct gtrack *g)
{
    return g && g->forks == atomic_load(&forks) ? g->run : NULL;
}

static int say_why(char why[GTRACK_WHY], const struct err *e)
{
    snprintf(why, GTRACK_WHY, "%s", e->text);
    return -1;
}

static int say_forked(const struct gtrack *g, char why[GTRACK_WHY])
{
    snprintf(why, GTRACK_WHY,
             "run %s belongs to the process that this one was forked from; "
             "begin another run here",
             run_name(g->run));
    return -1;
}

/* The metrics of the machine count their own steps, and one of which all points
 * are retracted has none. */
static int find_last_step(int64_t *step, const struct run_conf *c,
                          struct err *e)
{
    struct runs runs = RUNS_INIT;
    char *word = xstrdup(c->resume);
    const int ret = runs_select(&runs, c->root, &word, 1, 0, e);

    *step = -1;
    for (size_t i = 0; ret == 0 && i < runs.run[0].n_metrics; i++) {
        const struct metric_sum *m = &runs.run[0].metrics[i];

        if (m->count > 0 && strncmp(m->key, "system/", 7) != 0 &&
            m->last_step > *step)
            *step = m->last_step;
    }
    runs_free(&runs);
    free(word);
    return ret;
}

/* Begin the run that is asked for, or the one that was prepared for this
 * program. */
static struct gtrack *begin(struct run_conf *c, double system_every,
                            char why[GTRACK_WHY])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct err e = ERR_INIT;
    int64_t last_step = -1;
    struct run *run;
    struct gtrack *g;

    pthread_once(&once, watch_forks);
    log_setup(program_invocation_short_name, LOG_WARN);
    run_take_handed(c);
    if ((c->resume && find_last_step(&last_step, c, &e) < 0) ||
        run_begin(&run, c, &e) < 0) {
        say_why(why, &e);
        return NULL;
    }
    g = xcalloc(1, sizeof *g);
    g->run = run;
    g->last_step = last_step;
    g->forks = atomic_load(&forks);
    pthread_mutex_init(&g->lock, NULL);
    atomic_store(&g->step, last_step < 0 ? 0 : last_step);
    if (system_every > 0)
        g->monitor = monitor_start(run, system_every, &g->step);
    return g;
}

struct gtrack *gtrack_open(const char *root, const char *experiment,
                           const char *name, char why[GTRACK_WHY])
{
    struct run_conf c = { .root = root,
                          .experiment = experiment,
                          .name = name };

    return begin(&c, 0, why);
}

struct gtrack *gtrack_resume(const char *root, const char *run, int64_t step,
                             char why[GTRACK_WHY])
{
    struct run_conf c = { .root = root, .resume = run };
    struct gtrack *g = begin(&c, 0, why);

    if (g) {
        g->last_step = step;
        run_rewind(g->run, step);
    }
    return g;
}

/* Copy a struct of the caller's, which may be older, and shorter, than ours; or
 * newer, and then what is not known here has to be 0. */
static int copy_struct(void *to, size_t n, const void *from, size_t from_n,
                       char why[GTRACK_WHY])
{
    const char *more = from;

    memcpy(to, from, from_n < n ? from_n : n);
    for (size_t i = n; i < from_n; i++)
        if (more[i]) {
            snprintf(
                why, GTRACK_WHY,
                "this program needs a newer libgtrack than " PACKAGE_VERSION);
            return -1;
        }
    return 0;
}

struct gtrack *gtrack_begin(const struct gtrack_conf *conf,
                            char why[GTRACK_WHY])
{
    struct gtrack_conf c = { 0 };

    if (copy_struct(&c, sizeof c, conf, conf->size, why) < 0)
        return NULL;
    if (!c.root) {
        snprintf(why, GTRACK_WHY, "gtrack_begin() needs the folder of a store");
        return NULL;
    }
    return begin(
        &(struct run_conf){
            .root = c.root,
            .experiment = c.experiment,
            .name = c.name,
            .id = c.id,
            .parent = c.parent,
            .resume = c.resume,
            .command = c.command,
            .no_provenance = c.flags & GTRACK_NO_CAPTURE,
        },
        c.system_every, why);
}

const char *gtrack_id(const struct gtrack *g)
{
    return g ? run_id(g->run) : "";
}

const char *gtrack_name(const struct gtrack *g)
{
    return g ? run_name(g->run) : "";
}

const char *gtrack_folder(const struct gtrack *g)
{
    return g ? run_folder(g->run) : "";
}

int64_t gtrack_last_step(const struct gtrack *g)
{
    return g ? g->last_step : -1;
}

void gtrack_rewind(struct gtrack *g, int64_t step)
{
    if (own_run(g))
        run_rewind(g->run, step);
}

void gtrack_param(struct gtrack *g, const char *key, const char *value)
{
    if (own_run(g))
        run_param(g->run, key, value);
}

void gtrack_tag(struct gtrack *g, const char *key, const char *value)
{
    if (own_run(g))
        run_tag(g->run, key, value);
}

/* The monitor only needs to know roughly where the program is. */
static void note_step(struct gtrack *g, int64_t step)
{
    atomic_store_explicit(&g->step, step, memory_order_relaxed);
}

void gtrack_metric(struct gtrack *g, const char *key, int64_t step,
                   double value)
{
    if (!own_run(g))
        return;
    note_step(g, step);
    run_metric(g->run, key, step, value);
}

void gtrack_metrics(struct gtrack *g, int64_t step, const char *const *keys,
                    const double *values, int count)
{
    enum { BATCH = 64 };
    struct run_point p[BATCH];

    for (int from = 0; own_run(g) && from < count; from += BATCH) {
        const int n = count - from < BATCH ? count - from : BATCH;

        for (int i = 0; i < n; i++)
            p[i] = (struct run_point){ keys[from + i], values[from + i] };
        note_step(g, step);
        run_metrics(g->run, step, p, n);
    }
}

struct gtrack_keys *gtrack_keys(struct gtrack *g, const char *const *keys,
                                int count)
{
    struct gtrack_keys *k;

    if (!own_run(g))
        return NULL;
    k = xcalloc(1, sizeof *k + (size_t)count * sizeof k->key[0]);
    k->owner = g;
    k->count = count;
    for (int i = 0; i < count; i++)
        k->key[i] = xstrdup(keys[i]);
    pthread_mutex_lock(&g->lock);
    k->next = g->keys;
    g->keys = k;
    pthread_mutex_unlock(&g->lock);
    return k;
}

/* The keys do not change, so that several threads may log rows of them. */
void gtrack_row(struct gtrack_keys *k, const double *row)
{
    if (k)
        gtrack_metrics(k->owner, (int64_t)row[0], k->key, row + 1, k->count);
}

int gtrack_dataset(struct gtrack *g, const struct gtrack_dataset *dataset,
                   char why[GTRACK_WHY])
{
    struct gtrack_dataset d = { 0 };
    struct err e = ERR_INIT;

    if (!g)
        return 0;
    if (!own_run(g))
        return say_forked(g, why);
    if (copy_struct(&d, sizeof d, dataset, dataset->size, why) < 0)
        return -1;
    if (run_dataset(g->run,
                    &(struct run_dataset){ .name = d.name,
                                           .digest = d.digest,
                                           .source = d.source,
                                           .source_type = d.source_type,
                                           .schema = d.schema,
                                           .profile = d.profile,
                                           .context = d.context },
                    &e) < 0)
        return say_why(why, &e);
    return 0;
}

int gtrack_rename(struct gtrack *g, const char *name, char why[GTRACK_WHY])
{
    struct err e = ERR_INIT;

    if (!g)
        return 0;
    if (!own_run(g))
        return say_forked(g, why);
    if (edit_name(&(struct run_info){ .folder = run_folder(g->run),
                                      .name = run_name(g->run) },
                  name, &e) < 0)
        return say_why(why, &e);
    return 0;
}

char *gtrack_artifact(struct gtrack *g, const char *name)
{
    return g ? run_artifact(g->run, name) : NULL;
}

int gtrack_flush(struct gtrack *g, char why[GTRACK_WHY])
{
    struct err e = ERR_INIT;

    if (g && !own_run(g))
        return say_forked(g, why);
    if (g && run_flush(g->run, &e) < 0)
        return say_why(why, &e);
    return 0;
}

void gtrack_reason(struct gtrack *g, const char *reason)
{
    if (own_run(g))
        run_reason(g->run, reason);
}

static void free_keys(struct gtrack_keys *k)
{
    while (k) {
        struct gtrack_keys *next = k->next;

        for (int i = 0; i < k->count; i++)
            free((char *)(uintptr_t)k->key[i]);
        free(k);
        k = next;
    }
}

/* In a forked process nothing is freed: the threads that use it are missing. */
int gtrack_end(struct gtrack *g, enum gtrack_status status,
               char why[GTRACK_WHY])
{
    struct err e = ERR_INIT;
    int ret;

    if (!g)
        return 0;
    if (!own_run(g))
        return say_forked(g, why);
    monitor_stop(g->monitor);
    ret = run_end(g->run, (enum run_status)status, &e);
    free_keys(g->keys);
    pthread_mutex_destroy(&g->lock);
    free(g);
    return ret < 0 ? say_why(why, &e) : 0;
}
