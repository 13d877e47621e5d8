#include "config.h"
#include "store/write/provenance.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/secret.h"
#include "common/log.h"
#include "common/machine/limits.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/spawn.h"
#include "common/utf8.h"
#include "store/format/store.h"
#include "store/write/point_queue.h"

enum { DIFF_MAX = 1 << 20, DIFF_TAG = 7000, GIT_SECS = 5, PATIENCE_SECS = 2 };

struct provenance {
    pthread_t thread;
    struct point_queue *queue;
    const char *run;  /* its folder */
    atomic_bool stop; /* the run ends: start git no more */
};

/* A tag, unless there is nothing to say. */
static void add_tag(struct point_queue *q, const char *key, const char *value)
{
    if (value && *value)
        point_queue_text(q, TAG, key, value);
}

/* -- the machine ------------------------------------------------------- */

/* The value of a line "name : value" of a file under /proc, or "". */
static void proc_line(struct buf *out, const char *path, const char *name)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (buf_read_file(&b, path, 1 << 20, ERR_IGNORED) == 0) {
        const char *at = strncmp(b.s, name, strlen(name)) == 0 ? b.s : NULL;
        AUTO_FREE char *line = xasprintf("\n%s", name);

        if (!at && (at = strstr(b.s, line)))
            at++;
        at = at ? strpbrk(at, ":\n") : NULL;
        if (at && *at == ':') {
            at += 1 + strspn(at + 1, " \t");
            buf_add(out, at, strcspn(at, "\n"));
        }
    }
}

static void processor(struct point_queue *q)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    char text[NUM_TEXT];
    const double memory = limits_machine_memory("");

    proc_line(&b, "/proc/cpuinfo", "model name");
    if (b.len)
        buf_printf(&b, ", %ld threads", sysconf(_SC_NPROCESSORS_ONLN));
    add_tag(q, "gtrack.cpu", b.s);
    if (isfinite(memory))
        add_tag(q, "gtrack.memory", num_bytes(text, memory));
}

/* The kernel module lists the GPUs; no library has to be loaded. */
static void accelerators(struct point_queue *q)
{
    static const char gpus[] = "/proc/driver/nvidia/gpus";
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    AUTO(path_list_clear) struct path_list names = { 0 };
    AUTO(buf_clear) struct buf all = BUF_INIT, driver = BUF_INIT;

    if (path_list(&names, gpus, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *path =
            xasprintf("%s/%s/information", gpus, names.name[i]);

        if (all.len)
            buf_str(&all, "; ");
        proc_line(&all, path, "Model");
    }
    proc_line(&driver, "/proc/driver/nvidia/version", "NVRM version");
    add_tag(q, "gtrack.gpus", all.s);
    add_tag(q, "gtrack.driver", driver.s);
    add_tag(q, "gtrack.visible_gpus", visible);
}

static void machine(struct point_queue *q)
{
    AUTO(buf_clear) struct buf libraries = BUF_INIT;
    struct utsname u;

    if (uname(&u) == 0) {
        add_tag(q, "gtrack.host", u.nodename);
        add_tag(q, "gtrack.system", u.release);
    }
    processor(q);
    accelerators(q);
    usage_libraries(&libraries);
    add_tag(q, "gtrack.libraries", libraries.s);
}

static void slurm(struct point_queue *q)
{
    static const char *const names[] = {
        "job_id",        "job_name",      "job_partition", "job_account",
        "job_qos",       "job_nodelist",  "job_num_nodes", "job_user",
        "array_job_id",  "array_task_id", "cluster_name",  "ntasks",
        "cpus_per_task", "gpus",          "gpus_on_node",  "restart_count",
        "submit_host",   "submit_dir",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO_FREE char *tag = xasprintf("gtrack.slurm.%s", names[i]);
        char variable[64] = "SLURM_";
        size_t n = strlen(variable);

        for (const char *s = names[i]; *s && n < sizeof variable - 1; s++)
            variable[n++] =
                *s >= 'a' && *s <= 'z' ? (char)(*s - 'a' + 'A') : *s;
        variable[n] = '\0';
        add_tag(q, tag, getenv(variable));
    }
}

/* -- git --------------------------------------------------------------- */

bool provenance_git(struct buf *out, size_t max, double secs,
                    const char *const *argv)
{
    struct spawn s = { .out = out, .quiet = true, .max = max, .secs = secs };

    return spawn_run(argv, &s, ERR_IGNORED) == 0;
}

/* The output without the final newline; false if it fails. */
static bool git(struct provenance *c, struct buf *out, size_t max,
                const char *const *argv)
{
    bool good;

    buf_trim(out, 0);
    good = !atomic_load(&c->stop) && provenance_git(out, max, GIT_SECS, argv);
    while (out->len && out->s[out->len - 1] == '\n')
        buf_trim(out, out->len - 1);
    return good;
}

static void keep_diff(struct provenance *c, const struct buf *diff)
{
    AUTO(buf_clear) struct buf tag = BUF_INIT;

    store_artifact_write(c->run, "git.diff", diff->s, diff->len, true,
                         ERR_IGNORED);
    utf8_clean(&tag, diff->s, diff->len < DIFF_TAG ? diff->len : DIFF_TAG);
    if (diff->len > DIFF_TAG)
        buf_str(&tag, "\n... the rest is in the artifact git.diff\n");
    point_queue_text(c->queue, TAG, "mlflow.source.git.diff", tag.s);
}

bool provenance_has_filter(void)
{
    /* a filter of this command line, so that the list is never empty */
    static const char *const list[] = {
        PROVENANCE_GIT, "-c",           "filter.gtrack.clean=",
        "config",       "--show-scope", "--name-only",
        "--get-regexp", "^filter\\.",   NULL
    };
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_char(&b, '\n');
    return !provenance_git(&b, DIFF_MAX, GIT_SECS, list) ||
           strstr(b.s, "\nlocal") || strstr(b.s, "\nworktree");
}

static void source(struct provenance *c)
{
    static const char *const head[] = { PROVENANCE_GIT, "rev-parse", "HEAD",
                                        NULL };
    static const char *const branch[] = { PROVENANCE_GIT, "symbolic-ref",
                                          "--short",      "-q",
                                          "HEAD",         NULL };
    static const char *const remote[] = { PROVENANCE_GIT, "config", "--get",
                                          "remote.origin.url", NULL };
    static const char *const changes[] = { PROVENANCE_GIT,
                                           "--no-optional-locks",
                                           "diff",
                                           "--no-ext-diff",
                                           "--no-textconv",
                                           "--ignore-submodules=dirty",
                                           "--no-color",
                                           "HEAD",
                                           NULL };
    static const char *const status[] = {
        PROVENANCE_GIT, "--no-optional-locks",
        "status",       "--ignore-submodules=dirty",
        "--porcelain",  NULL
    };
    struct point_queue *q = c->queue;
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (!git(c, &b, 4096, head))
        return;
    add_tag(q, "mlflow.source.git.commit", b.s);
    if (git(c, &b, 4096, branch))
        add_tag(q, "mlflow.source.git.branch", b.s);
    if (git(c, &b, 4096, remote)) {
        AUTO(buf_clear) struct buf url = BUF_INIT;

        secret_mask(&url, b.s);
        add_tag(q, "mlflow.source.git.repoURL", url.s);
    }
    if (provenance_has_filter()) {
        log_warn("the changes since the commit are not recorded: git would "
                 "run the filters of this repository's configuration");
    } else {
        if (git(c, &b, DIFF_MAX, status))
            add_tag(q, "mlflow.source.git.dirty", b.len ? "true" : "false");
        if (git(c, &b, DIFF_MAX, changes) && b.len)
            keep_diff(c, &b);
    }
}

static void *find_out(void *arg)
{
    struct provenance *c = arg;

    machine(c->queue);
    slurm(c->queue);
    source(c);
    return NULL;
}

struct provenance *provenance_start(struct point_queue *q, const char *run)
{
    struct provenance *c = xcalloc(1, sizeof *c);

    c->queue = q;
    c->run = run;
    if (threads_start(&c->thread, find_out, c) == 0)
        return c;
    free(c);
    return NULL;
}

void provenance_end(struct provenance *c)
{
    const struct timespec until = clock_after(CLOCK_REALTIME, PATIENCE_SECS);

    if (!c)
        return;
    if (pthread_timedjoin_np(c->thread, NULL, &until) != 0) {
        atomic_store(&c->stop, true);
        pthread_join(c->thread, NULL);
    }
    free(c);
}
