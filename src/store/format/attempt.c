#include "config.h"
#include "store/format/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/num.h"
#include "common/path.h"
#include "common/format/yaml.h"
#include "store/format/store.h"

enum { LIST_MAX = 10000 };

/* The N of attempt.N.yaml, or 0. */
static int number_of(const char *file)
{
    char digits[9];
    int end = 0;
    int64_t n;

    if (sscanf(file, "attempt.%8[0-9].yaml%n", digits, &end) != 1 || end == 0 ||
        file[end] || !num_int(digits, &n))
        return 0;
    return (int)n;
}

static enum run_status status_of(const char *word)
{
    for (enum run_status s = RUN_RUNNING; word && s < RUN_STALE; s++)
        if (strcmp(run_status_word(s), word) == 0)
            return s;
    return RUN_RUNNING;
}

static int load_one(struct attempt *a, struct arena *mem, const char *path,
                    int number, enum path_links links, struct err *e)
{
    struct yaml y;

    *a = (struct attempt){ .number = number };
    if (yaml_load(&y, mem, path, links, e) < 0)
        return -1;
    a->status = status_of(yaml_get(&y, "state"));
    yaml_int(&y, "start_time", &a->start_ms);
    yaml_int(&y, "end_time", &a->end_ms);
    yaml_int(&y, "heartbeat", &a->beat_ms);
    yaml_int(&y, "interval_ms", &a->interval_ms);
    yaml_int(&y, "pid", &a->pid);
    yaml_int(&y, "pid_start", &a->pid_start);
    yaml_int(&y, "cpus", &a->cpus);
    yaml_int(&y, "gpus", &a->gpus);
    a->host = yaml_get(&y, "host");
    a->boot = yaml_get(&y, "boot_id");
    a->job = yaml_get(&y, "job");
    a->user = yaml_get(&y, "user");
    a->command = yaml_get(&y, "command");
    a->reason = yaml_get(&y, "reason");
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct attempt *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

int attempts_load(struct attempt_list *list, struct arena *mem, const char *run,
                  enum path_links links, struct err *e)
{
    char *folder = path_join(run, STORE_OWN);
    const bool refused = path_is_refused(folder, links);
    DIR *dir = refused ? NULL : opendir(folder);
    int ret = 0;

    *list = (struct attempt_list){ NULL, 0 };
    if (!dir && !refused && errno != ENOENT && errno != ENOTDIR)
        ret = err_sys(e, "cannot list %s", folder);
    for (int seen = 0; dir && seen < LIST_MAX && ret == 0; seen++) {
        const struct dirent *d = readdir(dir);
        const int number = d ? number_of(d->d_name) : 0;
        struct err why = { 0 };
        char *path;

        if (!d)
            break;
        if (number == 0)
            continue;
        list->item = arena_grow(mem, list->item, list->n, sizeof *list->item);
        path = path_join(folder, d->d_name);
        if (load_one(&list->item[list->n], mem, path, number, links, &why) == 0)
            list->n++;
        free(path);
        if (why.kind == ERR_SYSTEM) {
            *e = why;
            ret = -1;
        }
    }
    if (dir)
        closedir(dir);
    free(folder);
    if (list->n > 1)
        qsort(list->item, list->n, sizeof *list->item, by_number);
    return ret;
}

char *attempt_path(const char *run, int number)
{
    return xasprintf("%s/" STORE_OWN "/attempt.%d.yaml", run, number);
}

int attempt_save(const char *run, const struct attempt *a, struct err *e)
{
    char *path = attempt_path(run, a->number);
    struct buf b = BUF_INIT;
    int ret;

    yaml_put_int(&b, "attempt", a->number);
    yaml_put(&b, "state", run_status_word(a->status));
    if (a->reason)
        yaml_put(&b, "reason", a->reason);
    yaml_put_int(&b, "start_time", a->start_ms);
    if (a->end_ms)
        yaml_put_int(&b, "end_time", a->end_ms);
    yaml_put_int(&b, "heartbeat", a->beat_ms);
    yaml_put_int(&b, "interval_ms", a->interval_ms);
    yaml_put(&b, "host", a->host);
    yaml_put(&b, "boot_id", a->boot);
    yaml_put_int(&b, "pid", a->pid);
    yaml_put_int(&b, "pid_start", a->pid_start);
    yaml_put(&b, "job", a->job);
    yaml_put_int(&b, "cpus", a->cpus);
    yaml_put_int(&b, "gpus", a->gpus);
    yaml_put(&b, "user", a->user);
    yaml_put(&b, "command", a->command);
    ret = store_write(path, path, b.s, b.len, a->status != RUN_RUNNING, e);
    buf_clear(&b);
    free(path);
    return ret;
}

/* When the process was started, in clock ticks after boot; 0 if unknown, -1 if
 * it is a zombie. */
static int64_t start_of(int64_t pid)
{
    char *path = xasprintf("/proc/%lld/stat", (long long)pid);
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    int64_t ticks = 0;

    if (buf_read_file(&b, path, 65536, &e) == 0) {
        const char *at = strrchr(b.s, ')'); /* field 2, any bytes */

        if (at && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)) {
            ticks = -1;
            at = NULL;
        }
        for (int field = 2; at && field < 22; field++) {
            at = strchr(at, ' ');
            at = at ? at + 1 : NULL;
        }
        if (at)
            ticks = strtoll(at, NULL, 10);
    }
    buf_clear(&b);
    free(path);
    return ticks;
}

static const char *boot_id(struct arena *mem)
{
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    const char *id = "";

    if (buf_read_file(&b, "/proc/sys/kernel/random/boot_id", 4096, &e) == 0) {
        buf_trim(&b, strcspn(b.s, "\n"));
        id = arena_strdup(mem, b.s);
    }
    buf_clear(&b);
    return id;
}

/* The CPUs this process may use, which a batch system limits. */
static int usable_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void attempt_self(struct attempt *a, struct arena *mem, int number)
{
    const char *job = getenv("SLURM_JOB_ID");
    const struct passwd *p = getpwuid(geteuid());
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    *a = (struct attempt){
        .number = number,
        .status = RUN_RUNNING,
        .start_ms = clock_wall_ms(),
        .interval_ms = ATTEMPT_BEAT_MS,
        .pid = getpid(),
        .pid_start = start_of(getpid()),
        .cpus = usable_cpus(),
        .host = arena_strdup(mem, host),
        .boot = boot_id(mem),
        .job = job ? arena_strdup(mem, job) : NULL,
        .user = arena_strdup(mem, p ? p->pw_name : "unknown"),
    };
    a->beat_ms = a->start_ms;
}

/* Has the process certainly ended?  Only its own machine can tell. */
static bool is_gone(const struct attempt *a)
{
    char host[256] = "";
    struct arena mem = { 0 };
    bool gone = false;

    gethostname(host, sizeof host - 1);
    if (a->host && a->boot && a->pid > 0 && strcmp(host, a->host) == 0) {
        const char *boot = boot_id(&mem);

        if (*boot && *a->boot && strcmp(boot, a->boot) != 0)
            gone = true; /* the machine was restarted since */
        else if (kill((pid_t)a->pid, 0) < 0 && errno == ESRCH)
            gone = true;
        else if (a->pid_start)
            gone = start_of(a->pid) != a->pid_start;
    }
    arena_clear(&mem);
    return gone;
}

enum run_status attempt_status(const struct attempt *a, int64_t now_ms)
{
    if (a->status != RUN_RUNNING)
        return a->status;
    if (now_ms - a->beat_ms > 3 * a->interval_ms || is_gone(a))
        return RUN_STALE;
    return RUN_RUNNING;
}

double attempt_seconds(const struct attempt *a, int64_t now_ms)
{
    int64_t end = a->end_ms;

    if (end == 0)
        end = attempt_status(a, now_ms) == RUN_RUNNING ? now_ms : a->beat_ms;
    return end > a->start_ms ? (double)(end - a->start_ms) / 1000 : 0;
}
