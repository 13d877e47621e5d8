/*
 * libgtrack - the functions of gtrack.h, for other programs
 */
#include "config.h"
#include "store/lib/gtrack.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/machine/limits.h"
#include "common/machine/nvml.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/read/runs.h"
#include "store/write/edit.h"
#include "store/write/run.h"

/*
 * monitor - record what a program uses of the machine
 *
 * At regular intervals a thread reads the processor time and memory of this
 * process, what it has read from and written to disks, the traffic of the
 * machine's network, and the GPUs, by NVML.  The metrics are named as in
 * gtrain: system/cpu_util, system/rss_bytes, system/gpu_util; and
 * system/1/gpu_util for the second GPU.  The first reading is taken after the
 * first interval, so that a short run has none.
 */
enum { MOST_GPUS = 16 };

struct monitor {
    struct run *run;
    const atomic_llong *step;
    double every;
    double wall, cpu; /* at the last reading */
    struct nvml *gpu[MOST_GPUS];
    int n_gpus;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under the lock */
};

/* ---- readings --------------------------------------------------------- */

/* The bytes that all interfaces except lo have received and sent. */
static void read_network(double *received, double *sent)
{
    char line[512], name[64];
    AUTO(path_fclose) FILE *fp = fopen("/proc/net/dev", "re");
    double in, out;

    *received = *sent = fp ? 0 : (double)NAN;
    while (fp && fgets(line, sizeof line, fp)) {
        if (sscanf(line, " %63[^:]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", name,
                   &in, &out) != 3 ||
            strcmp(name, "lo") == 0)
            continue;
        *received += in;
        *sent += out;
    }
}

static void record_value(const struct monitor *m, int gpu, const char *name,
                         double value)
{
    char key[64], number[16] = "";

    if (isnan(value))
        return;
    if (gpu > 0)
        snprintf(number, sizeof number, "%d/", gpu);
    snprintf(key, sizeof key, "system/%s%s", number, name);
    run_metric(m->run, key, atomic_load(m->step), value);
}

static void read_process(struct monitor *m)
{
    const double wall = clock_mono(), cpu = usage_cpu_seconds();
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double resident, reserved, in, out;

    record_value(m, 0, "cpu_util",
                 100 * (cpu - m->cpu) / (wall - m->wall) / cores);
    m->wall = wall;
    m->cpu = cpu;
    usage_memory(&resident, &reserved);
    record_value(m, 0, "rss_bytes", resident);
    usage_disk(&in, &out);
    record_value(m, 0, "disk_read_bytes", in);
    record_value(m, 0, "disk_written_bytes", out);
    read_network(&in, &out);
    record_value(m, 0, "net_received_bytes", in);
    record_value(m, 0, "net_sent_bytes", out);
}

static void read_gpu(const struct monitor *m, int gpu)
{
    double value[NVML_VALUES];

    for (int i = 0; i < NVML_VALUES; i++)
        value[i] = (double)NAN;
    nvml_read(m->gpu[gpu], value);
    for (int i = 0; i < NVML_VALUES; i++)
        record_value(m, gpu, nvml_names[i], value[i]);
}

/* ---- the thread ------------------------------------------------------- */

/* GPUs are opened here, as NVML may take a second to start. */
static void *run_monitor(void *arg)
{
    struct monitor *m = arg;
    bool opened = false;

    while (!clock_wait(&m->lock, &m->wake, &m->stop, m->every)) {
        while (!opened && m->n_gpus < MOST_GPUS &&
               (m->gpu[m->n_gpus] = nvml_open(NULL, (unsigned)m->n_gpus)))
            m->n_gpus++;
        opened = true;
        read_process(m);
        for (int i = 0; i < m->n_gpus; i++)
            read_gpu(m, i);
    }
    return NULL;
}

static void free_monitor(struct monitor *m)
{
    for (int i = 0; i < m->n_gpus; i++)
        nvml_close(m->gpu[i]);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* The metrics are logged at *step.  NULL if no thread can be started. */
static struct monitor *monitor_start(struct run *run, double every,
                                     const atomic_llong *step)
{
    struct monitor *m = xcalloc(1, sizeof *m);

    m->run = run;
    m->step = step;
    m->every = every;
    m->wall = clock_mono();
    m->cpu = usage_cpu_seconds();
    pthread_mutex_init(&m->lock, NULL);
    clock_cond(&m->wake);
    if (pthread_create(&m->thread, NULL, run_monitor, m) == 0)
        return m;
    free_monitor(m);
    return NULL;
}

static void monitor_stop(struct monitor *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    free_monitor(m);
}

struct gtrack {
    struct run *run;
    struct runs before; /* the run as it was when it was resumed */
    int64_t last_step;
    int forks;         /* how many forks there were before, see count_fork() */
    atomic_llong step; /* that was logged last */
    struct monitor *monitor;
    pthread_mutex_t lock;
    struct gtrack_keys *keys; /* all that gtrack_keys() made; guarded by it */
};

struct gtrack_keys {
    struct gtrack_keys *next;
    struct gtrack *owner;
    int count;
    atomic_flag warned; /* of rows that are not recorded */
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

/* Load a run without the metrics of which all points are retracted. */
static int load_before(struct runs *runs, const struct run_conf *c,
                       struct err *e)
{
    AUTO_FREE char *word = xstrdup(c->resume);
    const int ret = runs_select(runs, c->root, &word, 1, 0, e);
    struct run_info *run = runs->run;
    size_t n = 0;

    for (size_t i = 0; ret == 0 && i < run->n_metrics; i++)
        if (run->metrics[i].count > 0)
            run->metrics[n++] = run->metrics[i];
    if (ret == 0)
        run->n_metrics = n;
    return ret;
}

/* Begin the run that is asked for, or the one that was prepared for this
 * program. */
static struct gtrack *begin(struct run_conf *c, double system_every,
                            char why[GTRACK_WHY])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct err e = { 0 };
    struct runs before = { 0 };
    struct run *run;
    struct gtrack *g;

    pthread_once(&once, watch_forks);
    log_setup(program_invocation_short_name, LOG_WARN);
    run_take_handed(c);
    if ((c->resume && load_before(&before, c, &e) < 0) ||
        run_begin(&run, c, &e) < 0) {
        runs_free(&before);
        say_why(why, &e);
        return NULL;
    }
    g = xcalloc(1, sizeof *g);
    g->run = run;
    g->before = before;
    g->last_step = before.n ? run_info_last_step(before.run) : -1;
    g->forks = atomic_load(&forks);
    pthread_mutex_init(&g->lock, NULL);
    atomic_store(&g->step, g->last_step < 0 ? 0 : g->last_step);
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
            .steal = c.flags & GTRACK_STEAL,
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

static const char *had_pair(const struct pair *pairs, size_t n, int i,
                            const char **text)
{
    if (i < 0 || (size_t)i >= n)
        return NULL;
    *text = pairs[i].value;
    return pairs[i].key;
}

const char *gtrack_had_param(const struct gtrack *g, int i, const char **text)
{
    return g && g->before.n > 0 ? had_pair(g->before.run[0].params,
                                           g->before.run[0].n_params, i, text)
                                : NULL;
}

const char *gtrack_had_tag(const struct gtrack *g, int i, const char **text)
{
    return g && g->before.n > 0 ? had_pair(g->before.run[0].tags,
                                           g->before.run[0].n_tags, i, text)
                                : NULL;
}

const char *gtrack_had_metric(const struct gtrack *g, int i, double *last)
{
    const struct run_info *run = g && g->before.n > 0 ? g->before.run : NULL;

    if (!run || i < 0 || (size_t)i >= run->n_metrics)
        return NULL;
    *last = run->metrics[i].last;
    return run->metrics[i].key;
}

/* Let the run be as it was after a step. */
static void forget_later(struct run_info *run, int64_t step)
{
    const struct series_part part = { INT64_MIN, step, 1 };
    size_t n = 0;

    for (size_t i = 0; i < run->n_metrics; i++) {
        struct metric_sum m = run->metrics[i];
        AUTO(series_free) struct series s = { 0 };

        if (m.last_step > step &&
            series_load_part(&s, run, m.key, &part, LOAD_MAY_LACK,
                             ERR_IGNORED) == 0 &&
            s.n > 0) {
            m.last_step = s.step[s.n - 1];
            m.last = s.value[s.n - 1];
        }
        if (m.last_step <= step)
            run->metrics[n++] = m;
    }
    run->n_metrics = n;
}

void gtrack_rewind(struct gtrack *g, int64_t step)
{
    if (!own_run(g))
        return;
    if (g->before.n > 0)
        forget_later(&g->before.run[0], step);
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
    if (!k)
        return;
    if (fabs(row[0]) < 0x1p53)
        gtrack_metrics(k->owner, (int64_t)row[0], k->key, row + 1, k->count);
    else if (!atomic_flag_test_and_set(&k->warned))
        log_warn("rows with the step %g are not recorded: a double has no "
                 "exact step from 2^53 on; use gtrack_metrics()",
                 row[0]);
}

int gtrack_dataset(struct gtrack *g, const struct gtrack_dataset *dataset,
                   char why[GTRACK_WHY])
{
    struct gtrack_dataset d = { 0 };
    struct err e = { 0 };

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
    struct err e = { 0 };

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
    return g ? run_artifact_path(g->run, name) : NULL;
}

int gtrack_artifact_folder(struct gtrack *g, const char *name,
                           char why[GTRACK_WHY])
{
    struct err e = { 0 };
    const char *run = run_folder(g->run);
    AUTO_FREE char *path = xasprintf("%s/artifacts/%s", run, name);
    struct path_pin pin;
    int fd = path_pin(&pin, path, run, &e);

    if (fd == 0)
        fd = fcntl(pin.fd, F_DUPFD_CLOEXEC, 0);
    path_unpin(&pin, &e);
    return fd < 0 ? say_why(why, &e) : fd;
}

int gtrack_flush(struct gtrack *g, char why[GTRACK_WHY])
{
    struct err e = { 0 };

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
    struct err e = { 0 };
    int ret;

    if (!g)
        return 0;
    if (!own_run(g))
        return say_forked(g, why);
    monitor_stop(g->monitor);
    ret = run_end(g->run, (enum run_status)status, &e);
    free_keys(g->keys);
    runs_free(&g->before);
    pthread_mutex_destroy(&g->lock);
    free(g);
    return ret < 0 ? say_why(why, &e) : 0;
}

static void end_run(int status, void *run)
{
    char why[GTRACK_WHY], reason[32];

    if (status != 0) {
        snprintf(reason, sizeof reason, "exit status %d", status);
        gtrack_reason(run, reason);
    }
    if (gtrack_end(run, status == 0 ? GTRACK_FINISHED : GTRACK_FAILED, why) < 0)
        log_error("%s", why);
}

void gtrack_end_at_exit(struct gtrack *g)
{
    if (own_run(g))
        on_exit(end_run, g);
}
