#include "config.h"
#include "trainer/ranks/launch.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/random.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "trainer/ranks/hello.h"

/* Ports for rank 0, below those that Linux uses for outgoing connections. */
enum { PORT_FIRST = 20000, PORTS = 12000 };

/* ---- the environment ------------------------------------------------- */

/* A number that the launcher must have set, between low and high. */
static int env_int(const char *name, int low, int high, int *out, struct err *e)
{
    const char *value = str_env(name);
    int64_t n;

    if (!value)
        return err_usage(e, "the launcher did not set %s", name);
    if (!num_int(value, &n) || n < low || n > high)
        return err_usage(e, "%s expects a number from %d to %d, not '%s'", name,
                         low, high, value);
    *out = (int)n;
    return 0;
}

static int env_or_zero(const char *name)
{
    struct err e = { 0 };
    int n = 0;

    return str_env(name) && env_int(name, 0, 1 << 20, &n, &e) == 0 ? n : 0;
}

/* ---- the token -------------------------------------------------------- */

static int read_secret_file(const char *path, struct buf *out, struct err *e)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_open(e, "GTRAIN_TOKEN_FILE: cannot open %s", path);
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return err_usage(e,
                         "GTRAIN_TOKEN_FILE: others may read %s; make its mode "
                         "0600",
                         path);
    if (buf_read_file(out, path, 1 << 12, e) < 0)
        return err_wrap(e, "GTRAIN_TOKEN_FILE");
    buf_trim(out, strcspn(out->s, "\n"));
    return out->len ? 0 : err_usage(e, "GTRAIN_TOKEN_FILE: %s is empty", path);
}

/* Ranks of one machine share the files of the user, and so a secret. */
static void read_own_secret(struct buf *out)
{
    char *path = path_cache("gtrain", "token"), text[RANDOM_SECRET];
    struct err e = { 0 };

    if (path && random_secret_file(path, text, &e) == 0)
        buf_str(out, text);
    else if (path)
        log_warn("%s", e.text);
    free(path);
}

/* Derive the token from the job's id and a secret, if there is one. */
static int make_token(struct launch *l, const char *id, struct err *e)
{
    const char *secret = str_env("GTRAIN_TOKEN");
    const char *path = str_env("GTRAIN_TOKEN_FILE");
    AUTO(buf_clear) struct buf text = BUF_INIT;
    struct sha256 h;
    char sum[SHA256_TEXT];
    int ret = 0;

    if (secret)
        buf_str(&text, secret);
    else if (path)
        ret = read_secret_file(path, &text, e);
    else if (l->one_host)
        read_own_secret(&text);
    sha256_init(&h);
    sha256_add(&h, text.s, text.len);
    sha256_add(&h, id, strlen(id) + 1);
    sha256_text(&h, sum);
    l->guessable = text.len == 0;
    snprintf(l->token, sizeof l->token, "%s", sum);
    return ret;
}

/* ---- the launchers ---------------------------------------------------- */

/* gtrain --ranks: local_ranks_run() sets these. */
static int detect_own(struct launch *l, struct err *e)
{
    l->kind = LAUNCH_TCP;
    if (env_int("GTRAIN_SIZE", 1, 1 << 16, &l->size, e) < 0 ||
        env_int("GTRAIN_RANK", 0, l->size - 1, &l->rank, e) < 0 ||
        env_int("GTRAIN_PORT", 1, 65535, &l->port, e) < 0)
        return -1;
    l->local_rank = l->rank;
    l->local_size = l->size;
    if (l->rank == 0 && str_env("GTRAIN_LISTENER"))
        l->listener = env_or_zero("GTRAIN_LISTENER");
    l->one_host = l->shared_cores = true;
    snprintf(l->host, sizeof l->host, "127.0.0.1");
    return make_token(l, "own", e);
}

static int detect_torchrun(struct launch *l, struct err *e)
{
    const char *id = str_env("TORCHELASTIC_RUN_ID");
    const char *busy = str_env("TORCHELASTIC_USE_AGENT_STORE");
    const char *again = str_env("TORCHELASTIC_RESTART_COUNT");
    char job[128];

    l->kind = LAUNCH_TCP;
    if (env_int("WORLD_SIZE", 1, 1 << 16, &l->size, e) < 0 ||
        env_int("RANK", 0, l->size - 1, &l->rank, e) < 0)
        return -1;
    l->local_rank = env_or_zero("LOCAL_RANK");
    l->local_size = env_or_zero("LOCAL_WORLD_SIZE");
    if (l->size == 1) {
        l->kind = LAUNCH_ALONE;
        return 0;
    }
    if (!str_env("MASTER_ADDR"))
        return err_usage(e, "RANK is set, but MASTER_ADDR is not");
    snprintf(l->host, sizeof l->host, "%s", str_env("MASTER_ADDR"));
    if (env_int("MASTER_PORT", 1, 65535, &l->port, e) < 0)
        return -1;
    l->one_host = l->local_size == l->size;
    snprintf(job, sizeof job, "%s.%s", id ? id : "torchrun",
             again ? again : "0");
    if (busy && strcmp(busy, "True") == 0) {
        char text[sizeof job + 16];

        snprintf(text, sizeof text, "%s:%d", job, l->port);
        l->port = PORT_FIRST + (int)(hash_name32(text) % PORTS);
    }
    return make_token(l, job, e);
}

int launch_first_host(char *out, size_t size, const char *list, struct err *e)
{
    const size_t name = strcspn(list, "[,");
    size_t number = 0, rest = 0;
    int n;

    if (list[name] == '[') {
        number = strcspn(list + name + 1, "-,]");
        rest = strcspn(list + name + 1, "]");
        if (number == 0 || list[name + 1 + rest] != ']')
            return err_usage(e, "cannot parse the node list '%s'", list);
        rest += 2;
    }
    n = snprintf(out, size, "%.*s%.*s%.*s", (int)name, list, (int)number,
                 list + name + 1,
                 rest ? (int)strcspn(list + name + rest, ",") : 0,
                 list + name + rest);
    if (n <= 0 || (size_t)n >= size)
        return err_usage(e, "cannot parse the node list '%s'", list);
    return 0;
}

static int detect_slurm(struct launch *l, struct err *e)
{
    const char *list = str_env("SLURM_STEP_NODELIST");
    char id[128];
    int job, nodes;

    l->kind = LAUNCH_TCP;
    if (env_int("SLURM_STEP_NUM_TASKS", 1, 1 << 16, &l->size, e) < 0 ||
        env_int("SLURM_PROCID", 0, l->size - 1, &l->rank, e) < 0 ||
        env_int("SLURM_JOB_ID", 0, 1 << 30, &job, e) < 0)
        return -1;
    l->local_rank = env_or_zero("SLURM_LOCALID");
    if (l->size == 1) {
        l->kind = LAUNCH_ALONE;
        return 0;
    }
    if (launch_first_host(l->host, sizeof l->host, list ? list : "", e) < 0)
        return -1;
    l->port = PORT_FIRST + job % PORTS;
    nodes = env_or_zero("SLURM_STEP_NUM_NODES");
    l->one_host = nodes == 1;
    l->local_size = nodes > 0 ? (l->size + nodes - 1) / nodes : 1;
    snprintf(id, sizeof id, "slurm.%d.%s.%s", job,
             str_env("SLURM_STEP_ID") ? str_env("SLURM_STEP_ID") : "0",
             str_env("SLURM_RESTART_COUNT") ? str_env("SLURM_RESTART_COUNT")
                                            : "0");
    return make_token(l, id, e);
}

/* coll_mpi.c sets the rest; coll_open() fails in a build without MPI. */
static int detect_mpi(struct launch *l, struct err *e UNUSED)
{
    l->kind = LAUNCH_MPI;
    l->rank = env_or_zero(
        str_env("OMPI_COMM_WORLD_RANK") ? "OMPI_COMM_WORLD_RANK" : "PMIX_RANK");
    l->size = env_or_zero("OMPI_COMM_WORLD_SIZE");
    l->local_rank = env_or_zero("OMPI_COMM_WORLD_LOCAL_RANK");
    return 0;
}

/*
 * In the order in which they are tried: each launcher sets a variable of its
 * own.  A script under sbatch has SLURM_PROCID, too, but only srun sets the
 * number of tasks of the step.
 */
static const struct detection {
    enum launcher launcher;
    const char *variable;
    int (*detect)(struct launch *, struct err *);
} launchers[] = {
    { LAUNCHER_TCP, "GTRAIN_SIZE", detect_own },
    { LAUNCHER_MPI, "OMPI_COMM_WORLD_SIZE", detect_mpi },
#ifdef HAVE_MPI
    { LAUNCHER_MPI, "PMIX_RANK", detect_mpi },
#endif
    { LAUNCHER_TORCHRUN, "WORLD_SIZE", detect_torchrun },
    { LAUNCHER_SLURM, "SLURM_STEP_NUM_TASKS", detect_slurm },
};

int launch_detect(struct launch *l, enum launcher how, struct err *e)
{
    *l = (struct launch){
        .kind = LAUNCH_ALONE, .size = 1, .local_size = 1, .listener = -1
    };
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct detection *it = &launchers[i];

        if (how == LAUNCHER_AUTO ? str_env(it->variable) != NULL
                                 : how == it->launcher)
            return it->detect(l, e);
    }
    return 0;
}

void launch_mute(struct err *e)
{
    struct launch l;

    if (e->kind != ERR_USAGE || str_env("GTRAIN_REPORT") ||
        launch_detect(&l, LAUNCHER_AUTO, ERR_IGNORED) < 0 || l.rank == 0)
        return;
    log_debug("rank %d: %s", l.rank, e->text);
    e->text[0] = '\0';
}

/* ---- ranks of this machine ---------------------------------------------- */

/* Seconds until the remaining ranks are killed: when one has died, the others
 * notice within three seconds and exit by themselves; otherwise rank 0 may have
 * to write the end of the run. */
static const double GRACE = 8, GRACE_DEAD = 4;
/* Seconds after rank 0 has succeeded; the others have nothing left to do. */
static const double GRACE_DONE = 3;

/* ---- starting ranks -------------------------------------------------- */

/* Make a secret of the ranks, which inherit it, and listen on 127.0.0.1, on a
 * port that the kernel chooses. */
static int open_job(int *port, struct err *e)
{
    char token[RANDOM_SECRET];
    const int fd = random_secret(token, e) < 0
                       ? -1
                       : peer_socket_listen("127.0.0.1", 0, e);

    if (fd < 0)
        return -1;
    setenv("GTRAIN_TOKEN", token, 1);
    fcntl(fd, F_SETFD, 0); /* rank 0 inherits it */
    *port = (int)peer_socket_port(fd);
    return fd;
}

static void set_env(const char *name, long value)
{
    char text[32];

    snprintf(text, sizeof text, "%ld", value);
    setenv(name, text, 1);
}

static pid_t start_rank(char *const *argv, int rank, int n, int port,
                        int listener, int report)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0); /* the parent passes ^C of the terminal on, once */
    if (getppid() != parent)
        _exit(1);
    set_env("GTRAIN_RANK", rank);
    set_env("GTRAIN_SIZE", n);
    set_env("GTRAIN_PORT", port);
    set_env("GTRAIN_REPORT", dup(report)); /* stays open in exec */
    if (rank == 0)
        set_env("GTRAIN_LISTENER", listener);
    else
        close(listener);
    cores_place(rank, n);
    execv("/proc/self/exe", argv);
    _exit(127);
}

/* ---- errors of the ranks --------------------------------------------- */

void local_ranks_report(struct err *e)
{
    const char *fd_text = getenv("GTRAIN_REPORT");
    const char *rank = getenv("GTRAIN_RANK");
    char line[sizeof e->text + 32];
    int64_t fd;
    int n;

    if (!fd_text || !rank || !num_int(fd_text, &fd))
        return;
    n = snprintf(line, sizeof line, "%s %s\n", rank, e->text);
    if (n < (int)sizeof line && write((int)fd, line, (size_t)n) == n)
        e->text[0] = '\0';
}

/* How much the end of a rank explains: it was stopped, it lost another rank, or
 * it failed by itself. */
enum end_weight { END_NOTHING, END_STOPPED, END_LOST_RANK, END_OWN_FAILURE };

struct local_ranks {
    int n;
    struct rank_end {
        pid_t pid;
        bool ended; /* what follows is known */
        int status;
        enum end_weight weight;
        char *error; /* what it reported; NULL: nothing */
        int order;   /* of the reports: 1 was first; 0: none */
    } * end;
    int n_ended, n_reports;
    int pipe; /* the ranks report here */
    struct buf input;
};

/* Read the reports that have come, one per line. */
static void read_reports(struct local_ranks *k)
{
    char part[4096], *line, *end;
    ssize_t got;

    while ((got = read(k->pipe, part, sizeof part)) > 0)
        buf_add(&k->input, part, (size_t)got);
    for (line = k->input.s; (end = strchr(line, '\n')); line = end + 1) {
        const long r = strtol(line, &line, 10);

        *end = '\0';
        if (r >= 0 && r < k->n && !k->end[r].error && *line) {
            k->end[r].error = xstrdup(line + 1);
            k->end[r].order = ++k->n_reports;
        }
    }
    memmove(k->input.s, line, strlen(line) + 1);
    buf_trim(&k->input, strlen(k->input.s));
}

/* The kind of error with this exit status. */
static enum err_kind kind_of(int status)
{
    for (int k = ERR_SYSTEM; WIFEXITED(status) && k <= ERR_INTERRUPTED; k++)
        if (WEXITSTATUS(status) == err_status((enum err_kind)k))
            return (enum err_kind)k;
    return ERR_RANK;
}

/* A rank that lost another rank or was stopped explains less than one that
 * failed by itself; one that was killed here explains nothing. */
static enum end_weight weigh_end(int status, bool killing)
{
    const enum err_kind kind = kind_of(status);

    if (status == 0 || (killing && WIFSIGNALED(status)))
        return END_NOTHING;
    if (kind == ERR_STOPPED)
        return END_STOPPED;
    return kind == ERR_RANK && WIFEXITED(status) ? END_LOST_RANK
                                                 : END_OWN_FAILURE;
}

/* Did all ranks that reported an error report this one? */
static bool all_report(const struct local_ranks *k, const char *error)
{
    for (int r = 0; r < k->n; r++)
        if (k->end[r].error && strcmp(k->end[r].error, error) != 0)
            return false;
    return true;
}

static void describe_end(const struct local_ranks *k, int rank, struct err *e)
{
    const struct rank_end *end = &k->end[rank];
    const enum err_kind kind = kind_of(end->status);

    if (WIFSIGNALED(end->status))
        err_set(e, kind, "rank %d (pid %ld) died: %s", rank, (long)end->pid,
                strsignal(WTERMSIG(end->status)));
    else if (!end->error && kind == ERR_INTERRUPTED)
        err_set(e, kind, "interrupted, without a checkpoint");
    else if (!end->error)
        err_set(e, kind, "rank %d (pid %ld) exited with status %d", rank,
                (long)end->pid, WEXITSTATUS(end->status));
    else if (kind == ERR_RANK || kind == ERR_STOPPED ||
             all_report(k, end->error))
        err_set(e, kind, "%s", end->error);
    else
        err_set(e, kind, "rank %d: %s", rank, end->error);
}

/* If two errors have equal weight, the one of the lower rank counts, because
 * rank 0 writes for the others and knows why it failed; but where ranks lost
 * each other, the first report counts, because later ones may only mean that
 * the reporting rank has exited. */
static bool tells_more(const struct rank_end *a, const struct rank_end *than)
{
    if (a->weight != than->weight)
        return a->weight > than->weight;
    return a->weight == END_LOST_RANK && a->order > 0 &&
           (than->order == 0 || a->order < than->order);
}

/* Report the error that explains most. */
static int report_end(const struct local_ranks *k, struct err *e)
{
    int worst = 0;

    for (int r = 1; r < k->n; r++)
        if (tells_more(&k->end[r], &k->end[worst]))
            worst = r;
    if (k->end[worst].weight == END_NOTHING)
        return 0;
    describe_end(k, worst, e);
    return -1;
}

/* How long the other ranks may still run when a rank has ended like this. */
static double grace_after(int rank, const struct rank_end *end)
{
    if (end->weight >= END_LOST_RANK)
        return kind_of(end->status) == ERR_RANK ? GRACE_DEAD : GRACE;
    return rank == 0 && end->status == 0 ? GRACE_DONE : (double)INFINITY;
}

static void signal_all(const struct local_ranks *k, int sig)
{
    for (int r = 0; r < k->n; r++)
        if (k->end[r].pid > 0 && !k->end[r].ended)
            kill(k->end[r].pid, sig);
}

static void kill_all(const struct local_ranks *k)
{
    for (int r = 1; r < k->n && k->end[0].ended && k->end[0].status == 0; r++)
        if (!k->end[r].ended)
            log_warn("killing rank %d (pid %ld), which did not exit after the "
                     "last step",
                     r, (long)k->end[r].pid);
    signal_all(k, SIGKILL);
}

/* Wait until all ranks have ended.  When the first one has failed, the others
 * are killed if they do not end soon. */
static void wait_all(struct local_ranks *k)
{
    double kill_at = INFINITY;
    bool killed = false;

    while (k->n_ended < k->n) {
        const bool killing = clock_mono() > kill_at;
        int status, r = 0;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        const int sig = sig_caught();

        read_reports(k);
        if (sig) {
            sig_reset();
            signal_all(k, sig);
        }
        if (killing && !killed)
            kill_all(k);
        killed = killing;
        if (pid <= 0) {
            usleep(20000);
            continue;
        }
        while (r < k->n && (k->end[r].ended || k->end[r].pid != pid))
            r++;
        if (r == k->n)
            continue;
        k->end[r].ended = true;
        k->end[r].status = status;
        k->end[r].weight = weigh_end(status, killing);
        k->n_ended++;
        if (isinf(kill_at))
            kill_at = clock_mono() + grace_after(r, &k->end[r]);
    }
    read_reports(k);
}

static void free_ranks(struct local_ranks *k)
{
    for (int r = 0; r < k->n; r++)
        free(k->end[r].error);
    free(k->end);
    buf_clear(&k->input);
}

int local_ranks_run(char *const *argv, int n, struct err *e)
{
    struct local_ranks k = { .n = n };
    int port, report[2], ret = 0, listener;

    if (access("/proc/self/exe", X_OK) < 0)
        return err_sys(e, "cannot start the ranks, since /proc/self/exe is "
                          "missing; mount /proc, or start each rank yourself, "
                          "as gtrain(1) says");
    listener = open_job(&port, e);
    if (listener < 0)
        return -1;
    if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0) {
        close(listener);
        return err_sys(e, "cannot create a pipe");
    }
    k.pipe = report[0];
    k.end = xcalloc((size_t)n, sizeof *k.end);
    buf_room(&k.input, 1);
    sig_hold(); /* until sig_watch(), here and in each rank */
    for (int r = 0; r < n && ret == 0; r++) {
        k.end[r].pid = start_rank(argv, r, n, port, listener, report[1]);
        if (k.end[r].pid < 0)
            ret = err_sys(e, "cannot start rank %d", r);
    }
    sig_watch();
    close(listener);
    close(report[1]);
    if (ret < 0) {
        signal_all(&k, SIGKILL);
    } else {
        wait_all(&k);
        ret = report_end(&k, e);
    }
    close(report[0]);
    free_ranks(&k);
    return ret;
}
