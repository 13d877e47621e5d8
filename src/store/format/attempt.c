#include "config.h"
#include "store/format/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/save.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/random.h"
#include "common/sig.h"
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

/* The arguments as a line for a shell; of an older file, the line itself. */
static const char *command_of(const struct yaml *y, struct arena *mem)
{
    const char *line = yaml_get(y, "command");
    AUTO(buf_clear) struct buf b = BUF_INIT;

    for (size_t i = 0; i < y->n; i++)
        if (y->pair[i].value &&
            strncmp(y->pair[i].key, "arguments[", 10) == 0) {
            buf_str(&b, b.len ? " " : "");
            buf_shell_short(&b, y->pair[i].value);
        }
    if (b.len)
        line = arena_strdup(mem, b.s);
    return line;
}

static void put_command(struct buf *out, const char *line)
{
    AUTO(buf_clear) struct buf words = BUF_INIT;
    const int n = line ? buf_shell_split(&words, line) : -1;

    if (n >= 0)
        yaml_put_list(out, "arguments", words.s, n);
    else
        yaml_put(out, "command", line);
}

static int load_one(struct attempt *a, struct arena *mem, const char *path,
                    int number, enum path_links links, struct err *e)
{
    struct yaml y;

    *a = (struct attempt){ .number = number };
    if (yaml_load(&y, mem, path, links, true, e) < 0)
        return -1;
    a->status = run_status_find(yaml_get(&y, "state"), RUN_STOPPED);
    if (a->status == 0)
        a->status = RUN_RUNNING;
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
    a->pids = yaml_get(&y, "pid_namespace");
    a->lock = yaml_get(&y, "lock");
    a->job = yaml_get(&y, "job");
    a->user = yaml_get(&y, "user");
    a->command = command_of(&y, mem);
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
    AUTO_FREE char *folder = path_join(run, STORE_OWN);
    AUTO(path_list_clear) struct path_list names = { 0 };
    int ret = 0;

    *list = (struct attempt_list){ NULL, 0, 0 };
    if (!path_is_refused(folder, links))
        ret = err_allow(path_list_most(&names, folder, LIST_MAX, e),
                        ERR_MISSING, e);
    for (size_t i = 0; i < names.n && ret == 0; i++) {
        const int number = number_of(names.name[i]);
        struct err why = { 0 };

        if (number == 0)
            continue;
        list->last = number > list->last ? number : list->last;
        list->item = arena_grow(mem, list->item, list->n, sizeof *list->item);
        if (load_one(&list->item[list->n], mem, path_listed(&names, i), number,
                     links, &why) == 0)
            list->n++;
        if (why.kind == ERR_SYSTEM) {
            *e = why;
            ret = -1;
        }
    }
    SORT(list->item, list->n, by_number);
    return ret;
}

char *attempt_path(const char *run, int number)
{
    return xasprintf("%s/" STORE_OWN "/attempt.%d.yaml", run, number);
}

int attempt_save(const char *run, const struct attempt *a, bool sync,
                 bool *exists, struct err *e)
{
    AUTO_FREE char *path = attempt_path(run, a->number);
    struct path_pin pin;
    AUTO(buf_clear) struct buf b = BUF_INIT;
    int ret = path_pin(&pin, path, run, e);

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
    if (a->pids)
        yaml_put(&b, "pid_namespace", a->pids);
    if (a->lock)
        yaml_put(&b, "lock", a->lock);
    yaml_put(&b, "job", a->job);
    yaml_put_int(&b, "cpus", a->cpus);
    yaml_put_int(&b, "gpus", a->gpus);
    yaml_put(&b, "user", a->user);
    put_command(&b, a->command);
    if (sync) /* it is more than a heartbeat */
        store_touch(run);
    if (ret == 0)
        ret = store_write(pin.name, pin.name, b.s, b.len, sync, exists, e);
    path_unpin(&pin, e);
    if (sync)
        store_touch(run);
    return ret;
}

int attempt_check(const char *run, int number, struct err *e)
{
    AUTO_FREE char *next = attempt_path(run, number + 1);
    AUTO(arena_clear) struct arena mem = { 0 };
    struct attempt_list list;
    struct stat st;
    int ret = 0;

    if (stat(next, &st) == 0) {
        const struct attempt *a = NULL;

        if (attempts_load(&list, &mem, run, PATH_NO_LINKS, ERR_IGNORED) == 0 &&
            list.n)
            a = &list.item[list.n - 1];
        ret = err_set(e, ERR_BUSY,
                      "the run is now written by process %lld on %s (attempt "
                      "%d); this process writes nothing more",
                      a ? (long long)a->pid : 0,
                      a && a->host ? a->host : "another machine",
                      a ? a->number : number + 1);
    }
    return ret;
}

/* ---- the lock --------------------------------------------------------- */

/* A name that comes with the data must be one that attempt_lock() makes. */
static char *lock_path(const char *run, const struct attempt *a)
{
    if (!a->lock || strncmp(a->lock, "lock.", 5) != 0 || strchr(a->lock, '/'))
        return NULL;
    return xasprintf("%s/" STORE_OWN "/%s", run, a->lock);
}

int attempt_lock(const char *run, struct attempt *a, struct arena *mem,
                 struct err *e)
{
    char word[RANDOM_WORD], *path;
    struct path_pin pin;
    int fd;

    random_word(word);
    a->lock = arena_printf(mem, "lock.%s", word);
    path = lock_path(run, a);
    fd = path_pin(&pin, path, run, e);
    if (fd == 0) {
        fd = open(pin.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0)
            err_sys(e, "cannot create %s", path);
    }
    if (fd >= 0 && filelock_get(fd) != FILELOCK_OURS) {
        unlink(pin.name);
        close(fd);
        fd = -1;
        a->lock = NULL;
    }
    path_unpin(&pin, e);
    free(path);
    return fd;
}

void attempt_unlock(const char *run, const struct attempt *a)
{
    AUTO_FREE char *path = lock_path(run, a);

    if (path)
        unlink(path);
}

static enum filelock look_at_lock(const char *run, const struct attempt *a)
{
    AUTO_FREE char *path = lock_path(run, a);
    const int fd =
        path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    const enum filelock state = fd >= 0 ? filelock_look(fd) : FILELOCK_NONE;

    if (fd >= 0)
        close(fd);
    return state;
}

/* ---- this process ----------------------------------------------------- */

/* When the process was started, in clock ticks after boot; 0 if unknown, -1 if
 * it is a zombie. */
static int64_t start_of(int64_t pid)
{
    AUTO_FREE char *path = xasprintf("/proc/%lld/stat", (long long)pid);
    AUTO(buf_clear) struct buf b = BUF_INIT;
    int64_t ticks = 0;

    if (buf_read_file(&b, path, 65536, ERR_IGNORED) == 0) {
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
    return ticks;
}

const char *attempt_boot_id(struct arena *mem)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    const char *id = "";

    if (buf_read_file(&b, "/proc/sys/kernel/random/boot_id", 4096,
                      ERR_IGNORED) == 0) {
        buf_trim(&b, strcspn(b.s, "\n"));
        id = arena_strdup(mem, b.s);
    }
    return id;
}

/* In which a process number means something; "" if unknown. */
static const char *pid_namespace(struct arena *mem)
{
    char name[64];
    const ssize_t n = readlink("/proc/self/ns/pid", name, sizeof name - 1);

    return n > 0 ? arena_strndup(mem, name, (size_t)n) : "";
}

/* The CPUs this process may use, which a batch system limits. */
static int usable_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void attempt_other(struct attempt *a, struct arena *mem, int number,
                   int64_t pid)
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
        .pid = pid,
        .pid_start = start_of(pid),
        .cpus = usable_cpus(),
        .host = arena_strdup(mem, host),
        .boot = attempt_boot_id(mem),
        .pids = pid_namespace(mem),
        .job = job ? arena_strdup(mem, job) : NULL,
        .user = arena_strdup(mem, p ? p->pw_name : "unknown"),
    };
    a->beat_ms = a->start_ms;
}

void attempt_self(struct attempt *a, struct arena *mem, int number)
{
    attempt_other(a, mem, number, getpid());
}

/* ---- is it alive? ----------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return a && *a && strcmp(a, b) == 0;
}

bool attempt_is_self(const struct attempt *a)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const bool here = is_same(a->boot, attempt_boot_id(&mem)) &&
                      is_same(a->pids, pid_namespace(&mem));

    return here && a->pid == getpid() && a->pid_start == start_of(getpid());
}

/* What the number of a process tells on its own machine. */
static enum attempt_life life_of_process(const struct attempt *a,
                                         bool same_numbers)
{
    const int64_t start = a->pid > 0 ? start_of(a->pid) : 0;

    if (a->pid <= 0)
        return ATTEMPT_UNKNOWN;
    if (a->pid_start && start == a->pid_start)
        return ATTEMPT_HERE;
    if (!same_numbers)
        return ATTEMPT_UNKNOWN;
    if (start && a->pid_start)
        return ATTEMPT_GONE; /* another process has the number, or a zombie */
    return kill((pid_t)a->pid, 0) < 0 && errno == ESRCH ? ATTEMPT_GONE
                                                        : ATTEMPT_HERE;
}

/*
 * A process that forks leaves the lock to its children, so what its number
 * tells comes first.  A lock that is free tells something only to the kernel
 * that gave it: not every network file system passes locks on.
 */
enum attempt_life attempt_life(const char *run, const struct attempt *a)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const bool here = is_same(a->boot, attempt_boot_id(&mem));
    enum attempt_life life = ATTEMPT_UNKNOWN;

    if (here)
        life = life_of_process(a, is_same(a->pids, pid_namespace(&mem)));
    if (life == ATTEMPT_UNKNOWN) {
        const enum filelock lock = look_at_lock(run, a);

        if (lock == FILELOCK_HELD)
            life = here ? ATTEMPT_HERE : ATTEMPT_ALIVE;
        else if (lock == FILELOCK_OURS && here)
            life = ATTEMPT_GONE;
    }
    return life;
}

int64_t attempt_beat_ms(const char *run, const struct attempt *a)
{
    AUTO_FREE char *path = attempt_path(run, a->number);
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st = { 0 };

    if (fd >= 0) { /* open, so that NFS asks its server */
        fstat(fd, &st);
        close(fd);
    }
    return st.st_mtim.tv_sec * 1000LL + st.st_mtim.tv_nsec / 1000000;
}

enum run_status attempt_status(const char *run, const struct attempt *a,
                               int64_t now_ms)
{
    const int64_t most = 3 * a->interval_ms;
    enum attempt_life life;

    if (a->status != RUN_RUNNING)
        return a->status;
    life = attempt_life(run, a);
    return life == ATTEMPT_GONE || (a->pid == 0 && now_ms - a->beat_ms > most &&
                                    now_ms - attempt_beat_ms(run, a) > most)
               ? RUN_STALE
               : RUN_RUNNING;
}

double attempt_seconds(const char *run, const struct attempt *a, int64_t now_ms)
{
    int64_t end = a->end_ms;

    if (end == 0)
        end =
            attempt_status(run, a, now_ms) == RUN_RUNNING ? now_ms : a->beat_ms;
    return end > a->start_ms ? (double)(end - a->start_ms) / 1000 : 0;
}

/* ---- waiting ---------------------------------------------------------- */

static int say_busy(const struct attempt *a, struct err *e)
{
    if (a->pid == 0)
        return err_set(e, ERR_BUSY,
                       "it is open for commands that write it; end it first");
    return err_set(e, ERR_BUSY,
                   "it is being written by process %lld on %s; only one "
                   "process may write a run",
                   (long long)a->pid, a->host ? a->host : "another machine");
}

int attempt_await(const char *run, const struct attempt *a, struct err *e)
{
    enum { LEASE = 4 }; /* a server keeps the locks of a machine that is gone */
    AUTO_FREE char *path = attempt_path(run, a->number);
    enum attempt_life life = attempt_life(run, a);
    const double secs = (double)a->interval_ms * 3 / 1000 *
                        (life == ATTEMPT_ALIVE ? LEASE : 1),
                 until = clock_mono() + secs;
    AUTO(arena_clear) struct arena mem = { 0 };
    struct attempt now = *a;
    const int64_t was = attempt_beat_ms(run, a);
    int64_t beat;
    bool moved = false;

    if (life != ATTEMPT_GONE && life != ATTEMPT_HERE && a->pid > 0)
        log_info("waiting up to %.0f s to see whether process %lld on %s still "
                 "writes the run",
                 secs, (long long)a->pid,
                 a->host ? a->host : "another machine");
    while (life != ATTEMPT_GONE && life != ATTEMPT_HERE && a->pid > 0 &&
           !moved && now.status == RUN_RUNNING && clock_mono() < until &&
           !sig_caught()) {
        usleep(secs < 1 ? 10000 : 250000);
        beat = attempt_beat_ms(run, a); /* or earlier: a clock was set back */
        moved = was && beat && beat != was;
        if (moved && load_one(&now, &mem, path, a->number, PATH_NO_LINKS,
                              ERR_IGNORED) < 0)
            now.status = RUN_RUNNING;
        life = attempt_life(run, a);
    }
    if (life == ATTEMPT_GONE || now.status != RUN_RUNNING)
        return 0;
    if (sig_caught())
        return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
    if (life == ATTEMPT_UNKNOWN && a->pid > 0 && !moved)
        return 0;
    return say_busy(a, e);
}
