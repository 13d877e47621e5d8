#include "config.h"
#include "trainer/ranks/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/sig.h"

/* Seconds until the ranks that are left are killed: when one has died, the
 * others know within three and end by themselves; else rank 0 may have to
 * write the end of the run. */
static const double GRACE = 8, GRACE_DEAD = 4;
/* The same once rank 0 has ended well: the others have nothing left to do. */
static const double GRACE_DONE = 3;

/* Ports to meet at, below those that Linux gives to outgoing connections. */
enum { PORT_FIRST = 20000, PORTS = 12000 };

/* ---- the environment -------------------------------------------------- */

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* A number the launcher must have left, between low and high. */
static int env_int(const char *name, int low, int high, int *out, struct err *e)
{
    const char *value = env(name);
    int64_t n;

    if (!value)
        return err_set(e, ERR_USAGE, "the launcher did not set %s", name);
    if (!num_int(value, &n) || n < low || n > high)
        return err_set(e, ERR_USAGE, "%s=%s: want %d to %d", name, value, low,
                       high);
    *out = (int)n;
    return 0;
}

static int or_zero(const char *name)
{
    struct err e = ERR_INIT;
    int n = 0;

    return env(name) && env_int(name, 0, 1 << 20, &n, &e) == 0 ? n : 0;
}

/* gtrain --ranks: local_ranks_run() below leaves these. */
static int detect_own(struct launch *l, struct err *e)
{
    l->kind = LAUNCH_TCP;
    if (env_int("GTRAIN_SIZE", 1, 1 << 16, &l->size, e) < 0 ||
        env_int("GTRAIN_RANK", 0, l->size - 1, &l->rank, e) < 0 ||
        env_int("GTRAIN_PORT", 1, 65535, &l->port, e) < 0)
        return -1;
    l->local_rank = l->rank;
    l->local_size = l->size;
    if (l->rank == 0 && env("GTRAIN_LISTENER"))
        l->listener = or_zero("GTRAIN_LISTENER");
    snprintf(l->host, sizeof l->host, "127.0.0.1");
    snprintf(l->token, sizeof l->token, "%s",
             env("GTRAIN_TOKEN") ? env("GTRAIN_TOKEN") : "");
    return 0;
}

static int detect_torchrun(struct launch *l, struct err *e)
{
    const char *id = env("TORCHELASTIC_RUN_ID");
    const char *busy = env("TORCHELASTIC_USE_AGENT_STORE");
    const char *again = env("TORCHELASTIC_RESTART_COUNT");

    l->kind = LAUNCH_TCP;
    if (env_int("WORLD_SIZE", 1, 1 << 16, &l->size, e) < 0 ||
        env_int("RANK", 0, l->size - 1, &l->rank, e) < 0)
        return -1;
    l->local_rank = or_zero("LOCAL_RANK");
    l->local_size = or_zero("LOCAL_WORLD_SIZE");
    if (l->size == 1) {
        l->kind = LAUNCH_ALONE;
        return 0;
    }
    if (!env("MASTER_ADDR"))
        return err_set(e, ERR_USAGE, "RANK is set but MASTER_ADDR is not");
    snprintf(l->host, sizeof l->host, "%s", env("MASTER_ADDR"));
    if (env_int("MASTER_PORT", 1, 65535, &l->port, e) < 0)
        return -1;
    snprintf(l->token, sizeof l->token, "%s.%s", id ? id : "torchrun",
             again ? again : "0");
    if (busy && strcmp(busy, "True") == 0) {
        char text[sizeof l->token + 16];

        snprintf(text, sizeof text, "%s:%d", l->token, l->port);
        l->port = PORT_FIRST + (int)(hash_name32(text) % PORTS);
    }
    return 0;
}

int launch_first_host(char *out, size_t room, const char *list, struct err *e)
{
    const size_t name = strcspn(list, "[,");
    size_t number = 0, rest = 0;
    int n;

    if (list[name] == '[') {
        number = strcspn(list + name + 1, "-,]");
        rest = strcspn(list + name + 1, "]");
        if (number == 0 || list[name + 1 + rest] != ']')
            return err_set(e, ERR_USAGE, "cannot read the node list '%s'",
                           list);
        rest += 2;
    }
    n = snprintf(out, room, "%.*s%.*s%.*s", (int)name, list, (int)number,
                 list + name + 1,
                 rest ? (int)strcspn(list + name + rest, ",") : 0,
                 list + name + rest);
    if (n <= 0 || (size_t)n >= room)
        return err_set(e, ERR_USAGE, "cannot read the node list '%s'", list);
    return 0;
}

static int detect_slurm(struct launch *l, struct err *e)
{
    const char *list = env("SLURM_STEP_NODELIST");
    int job;

    l->kind = LAUNCH_TCP;
    if (env_int("SLURM_STEP_NUM_TASKS", 1, 1 << 16, &l->size, e) < 0 ||
        env_int("SLURM_PROCID", 0, l->size - 1, &l->rank, e) < 0 ||
        env_int("SLURM_JOB_ID", 0, 1 << 30, &job, e) < 0)
        return -1;
    l->local_rank = or_zero("SLURM_LOCALID");
    if (l->size == 1) {
        l->kind = LAUNCH_ALONE;
        return 0;
    }
    if (launch_first_host(l->host, sizeof l->host, list ? list : "", e) < 0)
        return -1;
    l->port = PORT_FIRST + job % PORTS;
    snprintf(l->token, sizeof l->token, "slurm.%d.%s.%s", job,
             env("SLURM_STEP_ID") ? env("SLURM_STEP_ID") : "0",
             env("SLURM_RESTART_COUNT") ? env("SLURM_RESTART_COUNT") : "0");
    return 0;
}

/* coll_mpi fills in the rest; a build without it says so. */
static int detect_mpi(struct launch *l, struct err *e)
{
    (void)e;
    l->kind = LAUNCH_MPI;
    l->rank = or_zero(env("OMPI_COMM_WORLD_RANK") ? "OMPI_COMM_WORLD_RANK"
                                                  : "PMIX_RANK");
    l->size = or_zero("OMPI_COMM_WORLD_SIZE");
    l->local_rank = or_zero("OMPI_COMM_WORLD_LOCAL_RANK");
    return 0;
}

static int detect_none(struct launch *l, struct err *e)
{
    (void)l;
    (void)e;
    return 0;
}

/*
 * In the order they are tried: a launcher's own variable tells.  A script
 * under sbatch sees SLURM_PROCID too, but only srun sets the number of tasks
 * of the step.
 */
static const struct launcher {
    const char *name, *sign;
    int (*detect)(struct launch *, struct err *);
} launchers[] = {
    { "tcp", "GTRAIN_SIZE", detect_own },
    { "mpi", "OMPI_COMM_WORLD_SIZE", detect_mpi },
#ifdef HAVE_MPI
    { "mpi", "PMIX_RANK", detect_mpi },
#endif
    { "torchrun", "WORLD_SIZE", detect_torchrun },
    { "slurm", "SLURM_STEP_NUM_TASKS", detect_slurm },
    { "none", NULL, detect_none },
};

int launch_detect(struct launch *l, const char *how, struct err *e)
{
    const bool automatic = !how || strcmp(how, "auto") == 0;

    *l = (struct launch){
        .kind = LAUNCH_ALONE, .size = 1, .local_size = 1, .listener = -1
    };
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *it = &launchers[i];

        if (automatic ? !it->sign || env(it->sign) : strcmp(how, it->name) == 0)
            return it->detect(l, e);
    }
    return err_set(e, ERR_USAGE,
                   "no launcher '%s'; there are auto, none, tcp, mpi, "
                   "torchrun, slurm",
                   how);
}

/* ---- ranks of our own -------------------------------------------------- */

/* A socket on 127.0.0.1, on a port that the kernel chose. */
static int open_listener(int *port, struct err *e)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        listen(fd, 1024) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
        err_sys(e, "cannot listen on 127.0.0.1");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(a.sin_port);
    return fd;
}

static void set_number(const char *name, long value)
{
    char text[32];

    snprintf(text, sizeof text, "%ld", value);
    setenv(name, text, 1);
}

static pid_t start_rank(char **argv, int rank, int n, int port, int listener,
                        int say)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    char token[64];

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0); /* a terminal's ^C comes through us, once */
    if (getppid() != parent)
        _exit(1);
    snprintf(token, sizeof token, "own.%ld.%d", (long)parent, port);
    set_number("GTRAIN_RANK", rank);
    set_number("GTRAIN_SIZE", n);
    set_number("GTRAIN_PORT", port);
    setenv("GTRAIN_TOKEN", token, 1);
    set_number("GTRAIN_SAY", dup(say)); /* open beyond exec */
    if (rank == 0)
        set_number("GTRAIN_LISTENER", listener);
    else
        close(listener);
    execv("/proc/self/exe", argv);
    _exit(127);
}

static void tell_all(const pid_t *pid, int n, int sig)
{
    for (int r = 0; r < n; r++)
        if (pid[r] > 0)
            kill(pid[r], sig);
}

/* ---- why they ended ---------------------------------------------------- */

void local_ranks_report(struct err *e)
{
    char line[sizeof e->text + 32];
    int fd, n;

    if (!env("GTRAIN_SAY"))
        return;
    fd = or_zero("GTRAIN_SAY");
    n = snprintf(line, sizeof line, "%d %s\n", or_zero("GTRAIN_RANK"), e->text);
    if (n < (int)sizeof line && write(fd, line, (size_t)n) == n)
        e->text[0] = '\0';
}

void launch_mute(struct err *e)
{
    struct launch l;
    struct err unknown = ERR_INIT;

    if (e->kind != ERR_USAGE || env("GTRAIN_SAY") ||
        launch_detect(&l, "auto", &unknown) < 0 || l.rank == 0)
        return;
    log_debug("rank %d: %s", l.rank, e->text);
    e->text[0] = '\0';
}

/* How much the end of a rank tells of why the job ended: it was stopped, or
 * lost another rank, or failed by itself. */
enum weight { NOTHING, STOPPED, LOST, OWN };

/* Ranks that run, and what became of those that ran. */
struct ranks {
    int n;
    pid_t *pid; /* 0: gone */
    struct end {
        pid_t pid;
        int status;
        enum weight weight;
        char *why; /* its own words; NULL: none */
        int turn;  /* they came as the first, the second, ...; 0: none */
    } * end;
    int gone, heard;
    int says; /* where they write why */
    struct buf said;
};

/* Words that have come, each a line. */
static void listen_to(struct ranks *k)
{
    char part[4096], *line, *end;
    ssize_t got;

    while ((got = read(k->says, part, sizeof part)) > 0)
        buf_add(&k->said, part, (size_t)got);
    for (line = k->said.s; (end = strchr(line, '\n')); line = end + 1) {
        const long r = strtol(line, &line, 10);

        *end = '\0';
        if (r >= 0 && r < k->n && !k->end[r].why && *line) {
            k->end[r].why = xstrdup(line + 1);
            k->end[r].turn = ++k->heard;
        }
    }
    memmove(k->said.s, line, strlen(line) + 1);
    buf_trim(&k->said, strlen(k->said.s));
}

/* The kind of error that ends a program with this status. */
static enum err_kind kind_of(int status)
{
    static const enum err_kind kinds[] = {
        ERR_SYSTEM,    ERR_USAGE,   ERR_MISSING,     ERR_REMOTE,
        ERR_NONFINITE, ERR_STOPPED, ERR_INTERRUPTED,
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (WIFEXITED(status) && WEXITSTATUS(status) == err_status(kinds[i]))
            return kinds[i];
    return ERR_RANK;
}

/* That others died or that a signal came is what the rest says, too; whom we
 * have killed says nothing. */
static enum weight weigh(int status, bool killing)
{
    const enum err_kind kind = kind_of(status);

    if (status == 0 || (killing && WIFSIGNALED(status)))
        return NOTHING;
    if (kind == ERR_STOPPED)
        return STOPPED;
    return kind == ERR_RANK && WIFEXITED(status) ? LOST : OWN;
}

/* All that said something said the same. */
static bool agreed(const struct ranks *k, const char *why)
{
    for (int r = 0; r < k->n; r++)
        if (k->end[r].why && strcmp(k->end[r].why, why) != 0)
            return false;
    return true;
}

static void name_end(const struct ranks *k, int rank, struct err *e)
{
    const struct end *end = &k->end[rank];
    const enum err_kind kind = kind_of(end->status);

    if (WIFSIGNALED(end->status))
        err_set(e, kind, "rank %d (pid %ld) died: %s", rank, (long)end->pid,
                strsignal(WTERMSIG(end->status)));
    else if (!end->why && kind == ERR_INTERRUPTED)
        err_set(e, kind, "interrupted, without a checkpoint");
    else if (!end->why)
        err_set(e, kind, "rank %d (pid %ld) ended with status %d", rank,
                (long)end->pid, WEXITSTATUS(end->status));
    else if (kind == ERR_RANK || kind == ERR_STOPPED || agreed(k, end->why))
        err_set(e, kind, "%s", end->why);
    else
        err_set(e, kind, "rank %d: %s", rank, end->why);
}

/* Of equal weight are the first rank's words, who writes for the others and
 * knows why it could not; but where ranks lost each other, the first words:
 * whoever speaks after them only saw that rank go. */
static bool tells_more(const struct end *a, const struct end *than)
{
    if (a->weight != than->weight)
        return a->weight > than->weight;
    return a->weight == LOST && a->turn > 0 &&
           (than->turn == 0 || a->turn < than->turn);
}

/* One rank's words stand for all. */
static int conclude(const struct ranks *k, struct err *e)
{
    int worst = 0;

    for (int r = 1; r < k->n; r++)
        if (tells_more(&k->end[r], &k->end[worst]))
            worst = r;
    if (k->end[worst].weight == NOTHING)
        return 0;
    name_end(k, worst, e);
    return -1;
}

/* How long the others still have when a rank has ended like this. */
static double grace_after(int rank, const struct end *end)
{
    if (end->weight >= LOST)
        return kind_of(end->status) == ERR_RANK ? GRACE_DEAD : GRACE;
    return rank == 0 && end->status == 0 ? GRACE_DONE : (double)INFINITY;
}

static void kill_all(const struct ranks *k)
{
    for (int r = 0; r < k->n; r++)
        if (k->pid[r] > 0 && k->end[0].pid && k->end[0].status == 0)
            log_warn("rank %d (pid %ld) did not end after the last step, and "
                     "is killed",
                     r, (long)k->pid[r]);
    tell_all(k->pid, k->n, SIGKILL);
}

/* Wait until all are gone.  The first that fails has the others killed if they
 * do not end soon. */
static void wait_all(struct ranks *k)
{
    double kill_at = INFINITY;
    bool killed = false;

    while (k->gone < k->n) {
        const bool killing = clock_mono() > kill_at;
        int status, r = 0;
        const pid_t gone = waitpid(-1, &status, WNOHANG);
        const int sig = sig_caught();

        listen_to(k);
        if (sig) {
            sig_reset();
            tell_all(k->pid, k->n, sig);
        }
        if (killing && !killed)
            kill_all(k);
        killed = killing;
        if (gone <= 0) {
            usleep(20000);
            continue;
        }
        while (r < k->n && k->pid[r] != gone)
            r++;
        if (r == k->n)
            continue;
        k->pid[r] = 0;
        k->end[r].pid = gone;
        k->end[r].status = status;
        k->end[r].weight = weigh(status, killing);
        k->gone++;
        if (isinf(kill_at))
            kill_at = clock_mono() + grace_after(r, &k->end[r]);
    }
    listen_to(k);
}

static void ranks_clear(struct ranks *k)
{
    for (int r = 0; r < k->n; r++)
        free(k->end[r].why);
    free(k->end);
    free(k->pid);
    buf_clear(&k->said);
}

int local_ranks_run(char **argv, int n, struct err *e)
{
    struct ranks k = { .n = n };
    int port, say[2], ret = 0;
    const int listener = open_listener(&port, e);

    if (listener < 0)
        return -1;
    if (pipe2(say, O_CLOEXEC | O_NONBLOCK) < 0) {
        close(listener);
        return err_sys(e, "cannot make a pipe");
    }
    k.says = say[0];
    k.pid = xcalloc((size_t)n, sizeof *k.pid);
    k.end = xcalloc((size_t)n, sizeof *k.end);
    buf_room(&k.said, 1);
    sig_hold(); /* what comes now waits for sig_watch(), of each rank too */
    for (int r = 0; r < n && ret == 0; r++) {
        k.pid[r] = start_rank(argv, r, n, port, listener, say[1]);
        if (k.pid[r] < 0)
            ret = err_sys(e, "cannot start rank %d", r);
    }
    sig_watch();
    close(listener);
    close(say[1]);
    if (ret < 0) {
        tell_all(k.pid, n, SIGKILL);
    } else {
        wait_all(&k);
        ret = conclude(&k, e);
    }
    close(say[0]);
    ranks_clear(&k);
    return ret;
}
