#include "config.h"
#include "trainer/ranks/launch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/random.h"
#include "common/sha256.h"

/* Ports for rank 0, below those that Linux uses for outgoing connections. */
enum { PORT_FIRST = 20000, PORTS = 12000 };

/* ---- the environment ------------------------------------------------- */

/* A number that the launcher must have set, between low and high. */
static int env_int(const char *name, int low, int high, int *out, struct err *e)
{
    const char *value = str_env(name);
    int64_t n;

    if (!value)
        return err_set(e, ERR_USAGE, "the launcher did not set %s", name);
    if (!num_int(value, &n) || n < low || n > high)
        return err_set(e, ERR_USAGE,
                       "%s expects a number from %d to %d, not '%s'", name, low,
                       high, value);
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
        return err_set(e, ERR_USAGE,
                       "GTRAIN_TOKEN_FILE: others may read %s; make its mode "
                       "0600",
                       path);
    if (buf_read_file(out, path, 1 << 12, e) < 0)
        return err_wrap(e, "GTRAIN_TOKEN_FILE");
    buf_trim(out, strcspn(out->s, "\n"));
    return out->len
               ? 0
               : err_set(e, ERR_USAGE, "GTRAIN_TOKEN_FILE: %s is empty", path);
}

/* Ranks of one machine share the files of the user, and so a secret. */
static void read_own_secret(struct buf *out)
{
    char *folder = path_cache("gtrain"), text[RANDOM_SECRET];
    char *path = folder ? path_join(folder, "token") : NULL;
    struct err e = { 0 };

    if (path && random_secret_file(path, text, &e) == 0)
        buf_str(out, text);
    else if (path)
        log_warn("%s", e.text);
    FREE(path, folder);
}

/* Derive the token from the job's id and a secret, if there is one. */
static int make_token(struct launch *l, const char *id, struct err *e)
{
    const char *secret = str_env("GTRAIN_TOKEN");
    const char *path = str_env("GTRAIN_TOKEN_FILE");
    struct buf text = BUF_INIT;
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
    buf_clear(&text);
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
        return err_set(e, ERR_USAGE, "RANK is set, but MASTER_ADDR is not");
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
            return err_set(e, ERR_USAGE, "cannot parse the node list '%s'",
                           list);
        rest += 2;
    }
    n = snprintf(out, size, "%.*s%.*s%.*s", (int)name, list, (int)number,
                 list + name + 1,
                 rest ? (int)strcspn(list + name + rest, ",") : 0,
                 list + name + rest);
    if (n <= 0 || (size_t)n >= size)
        return err_set(e, ERR_USAGE, "cannot parse the node list '%s'", list);
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
static int detect_mpi(struct launch *l, struct err *e)
{
    (void)e;
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
