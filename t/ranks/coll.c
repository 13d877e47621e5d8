/*
 * coll - ranks, as processes of this one, that talk over TCP or MPI
 *
 * The sums use numbers whose order matters, so that "in the order of the
 * ranks" is seen in the bits.
 */
#include "config.h"
#include "t/lib/tap.h"
#include "trainer/ranks/coll.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

enum { N = 3000007, PART = 70001 };

/* Element i of rank r: values that do not add exactly. */
static float value(int r, size_t i)
{
    return (float)sin((double)i * 0.37 + r) * (float)(1 + r * 1000);
}

static int listen_here(int *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        abort();
    *port = ntohs(a.sin_port);
    return fd;
}

/* What is wrong with the collectives of one rank, or NULL. */
static const char *check_sums(struct coll *c)
{
    struct err e = ERR_INIT;
    int64_t *cut = xcalloc((size_t)c->size + 1, sizeof *cut);
    float *x = xmalloc(N * sizeof *x), *in = xmalloc(N * sizeof *in);
    float *got = xmalloc(N * sizeof *got), *acc;
    double d[2] = { c->rank + 1.0, 0.1 };
    int64_t most = c->rank * 7 % 5;
    const char *bad = NULL;

    for (size_t i = 0; i < N; i++)
        x[i] = in[i] = value(c->rank, i);
    coll_sum(c, x, N);
    coll_bounds(c, N, PART, cut);
    acc = got + cut[c->rank];
    for (int64_t i = 0; i < cut[c->rank + 1] - cut[c->rank]; i++)
        acc[i] = 0.1f;
    coll_reduce(c, acc, in, cut, false);
    coll_gather(c, got, cut, sizeof *got);
    if (coll_check(c, &e) < 0)
        bad = "an exchange failed";
    for (size_t i = 0; !bad && i < N; i++) {
        float sum = 0.0f, more = 0.1f;

        for (int r = 0; r < c->size; r++) {
            sum += value(r, i);
            more += value(r, i);
        }
        if (x[i] != sum)
            bad = "coll_sum is not in the order of the ranks";
        if (got[i] != more)
            bad = "coll_reduce or coll_gather is wrong";
    }
    memset(x, 0, 100);
    if (c->rank == c->size - 1)
        memset(x, 0x5a, 100);
    coll_bcast(c, x, 100, c->size - 1);
    if (coll_sum_f64(c, d, 2, &e) < 0 || coll_max(c, &most, &e) < 0)
        bad = "a small sum failed";
    if (!bad && ((char *)x)[99] != 0x5a)
        bad = "coll_bcast is wrong";
    if (!bad && (int)d[0] != c->size * (c->size + 1) / 2)
        bad = "coll_sum_f64 is wrong";
    for (int r = 0; r < c->size; r++)
        if (r * 7 % 5 > most)
            bad = "coll_max is wrong";
    coll_bounds(c, 11, 4, cut);
    if (!bad &&
        (cut[0] != 0 || cut[c->size] != 11 || (c->size == 2 && cut[1] != 4)))
        bad = "coll_bounds does not share everything";
    free(cut);
    free(x);
    free(in);
    free(got);
    return bad;
}

/*
 * What a rank sends, in elements of a block of n: a sum 2 n (N - 1) / N, and
 * sharing out or gathering half of that; so ddp sends 2 n (N - 1) / N a step
 * and fsdp, which gathers twice, 3 n (N - 1) / N.
 */
static const char *check_bytes(struct coll *c)
{
    const int64_t n = 120000, part = n / c->size * (c->size - 1) * 4;
    int64_t *cut = xcalloc((size_t)c->size + 1, sizeof *cut);
    float *x = xcalloc((size_t)n, sizeof *x);
    struct err e = ERR_INIT;
    uint64_t at[4];
    int ret;

    coll_bounds(c, n, 1, cut);
    at[0] = c->sent;
    coll_sum(c, x, n);
    ret = coll_check(c, &e);
    at[1] = c->sent;
    coll_reduce(c, x + cut[c->rank], x, cut, true);
    ret = ret < 0 ? ret : coll_check(c, &e);
    at[2] = c->sent;
    coll_gather(c, x, cut, sizeof *x);
    ret = ret < 0 ? ret : coll_check(c, &e);
    at[3] = c->sent;
    free(cut);
    free(x);
    if (ret < 0)
        return "an exchange failed";
    if (at[1] - at[0] != 2 * (uint64_t)part ||
        at[2] - at[1] != (uint64_t)part || at[3] - at[2] != (uint64_t)part)
        return "more or less was sent than the formulas say";
    return NULL;
}

struct job {
    int size, rank, port, fd;
    const char *agree, *token;
};

static int open_rank(struct coll *c, const struct job *j, struct err *e)
{
    struct launch l = { .kind = LAUNCH_TCP,
                        .rank = j->rank,
                        .size = j->size,
                        .local_rank = j->rank,
                        .local_size = j->size,
                        .port = j->port,
                        .listener = j->rank == 0 ? j->fd : -1 };
    struct coll_conf conf = { .launch = &l, .timeout = 20, .agree = j->agree };

    snprintf(l.host, sizeof l.host, "127.0.0.1");
    snprintf(l.token, sizeof l.token, "%s", j->token);
    return coll_open(c, &conf, e);
}

/* A rank that runs the sums; 0 when all is well. */
static int sums_rank(const struct job *j)
{
    struct err e = ERR_INIT;
    struct coll c;
    const char *bad;

    if (open_rank(&c, j, &e) < 0) {
        diag("rank %d: %s", j->rank, e.text);
        return 1;
    }
    bad = check_sums(&c);
    if (!bad)
        bad = check_bytes(&c);
    if (bad)
        diag("rank %d: %s", j->rank, bad);
    coll_close(&c);
    return bad != NULL;
}

/* Rank 1 dies; the others must name it, whether they wait for it or not. */
static int widow_rank(const struct job *j)
{
    struct err e = ERR_INIT;
    struct coll c;
    int named;

    if (open_rank(&c, j, &e) < 0 || coll_barrier(&c, &e) < 0)
        return 1;
    if (j->rank == 1)
        raise(SIGKILL);
    named = coll_barrier(&c, &e) < 0 && e.kind == ERR_RANK &&
            strstr(e.text, "rank 1 (") && strstr(e.text, "died");
    if (!named)
        diag("rank %d: '%s'", j->rank, e.text);
    coll_close(&c);
    return !named;
}

/* How many of the ranks ended with something other than they should. */
static int run(int size, int (*rank)(const struct job *), const char *other,
               int dead)
{
    int bad = 0, port;
    const int fd = listen_here(&port);

    fflush(stdout);
    for (int r = 0; r < size; r++) {
        const struct job j = { size, r, port, fd, r ? other : "a", "t" };

        if (fork() == 0) {
            const int ret = rank(&j);

            fflush(stdout);
            _exit(ret);
        }
    }
    close(fd);
    for (int r = 0; r < size; r++) {
        int status;

        wait(&status);
        bad += status != 0;
    }
    return bad - dead;
}

/* 0: taken in; 1: turned away, with these words; 2: something else. */
static int turned_away(const struct job *j, const char *words)
{
    struct err e = ERR_INIT;
    struct coll c;
    int ret;

    if (open_rank(&c, j, &e) < 0)
        return e.kind == ERR_RANK && strstr(e.text, words) ? 1 : 2;
    ret = coll_barrier(&c, &e) < 0 ? 2 : 0;
    coll_close(&c);
    return ret;
}

static pid_t begin(const struct job *j, const char *words)
{
    const pid_t pid = fork();

    if (pid == 0)
        _exit(turned_away(j, words));
    return pid;
}

static int end(pid_t pid)
{
    int status;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/*
 * Rank 0 of three ranks meets a stranger who talks nonsense, one with another
 * token, one with another configuration, two that both say they are rank 1.
 */
static void strangers(void)
{
    int port, status;
    const int fd = listen_here(&port);
    struct job j = { 3, 0, port, fd, "a", "t" };
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int nonsense;
    pid_t zero, first, second, third, refused;

    fflush(stdout);
    zero = begin(&j, "");
    close(fd);
    nonsense = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(nonsense, (struct sockaddr *)&a, sizeof a) == 0)
        send(nonsense, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL);
    close(nonsense);
    j.rank = 1;
    j.token = "another job's";
    ok(end(begin(&j, "did not take rank 1 in")) == 1,
       "a rank of another job is dropped");
    j.token = "t";
    j.agree = "b";
    ok(end(begin(&j, "another configuration")) == 1,
       "another configuration is refused");
    j.size = 2;
    ok(end(begin(&j, "3 ranks, not 2")) == 1,
       "another number of ranks is refused");
    j.size = 3;
    j.agree = "a";
    ok(end(begin(&(struct job){ 3, 0, port, -1, "a", "t" }, "")) == 2,
       "a second rank 0 cannot listen");
    first = begin(&j, "rank 1 (host");
    second = begin(&j, "rank 1 (host");
    refused = wait(&status);
    ok((refused == first || refused == second) && WIFEXITED(status) &&
           WEXITSTATUS(status) == 1,
       "the second of two ranks 1 is refused");
    j.rank = 2;
    third = begin(&j, "");
    ok(end(refused == first ? second : first) == 0 && end(third) == 0 &&
           end(zero) == 0,
       "and the job goes on");
}

static void node_lists(void)
{
    static const struct {
        const char *list, *want;
    } cases[] = {
        { "gpu003", "gpu003" },
        { "gpu003,gpu004", "gpu003" },
        { "gpu[003-006,9],login1", "gpu003" },
        { "n[1,4]-ib", "n1-ib" },
        { "a[7]", "a7" },
        { "", NULL },
        { "a[", NULL },
        { "a[]", NULL },
    };
    char out[64];
    struct err e = ERR_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int ret = launch_first_host(out, sizeof out, cases[i].list, &e);

        ok(cases[i].want ? ret == 0 && strcmp(out, cases[i].want) == 0
                         : ret < 0,
           "first host of '%s'", cases[i].list);
    }
}

static void launchers(void)
{
    struct err e = ERR_INIT;
    struct launch l;
    int port;

    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMIX_RANK");
    unsetenv("SLURM_STEP_NUM_TASKS");
    ok(launch_detect(&l, "auto", &e) == 0 && l.kind == LAUNCH_ALONE &&
           l.size == 1,
       "nothing set: one process");
    setenv("WORLD_SIZE", "4", 1);
    setenv("RANK", "2", 1);
    setenv("LOCAL_RANK", "2", 1);
    ok(launch_detect(&l, "auto", &e) < 0 && strstr(e.text, "MASTER_ADDR"),
       "torchrun without an address: %s", e.text);
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("MASTER_PORT", "29500", 1);
    ok(launch_detect(&l, "auto", &e) == 0 && l.kind == LAUNCH_TCP &&
           l.rank == 2 && l.size == 4 && l.port == 29500,
       "torchrun's variables");
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    setenv("TORCHELASTIC_RUN_ID", "abc", 1);
    ok(launch_detect(&l, "auto", &e) == 0 && l.port != 29500,
       "a port of our own where torchrun listens on its");
    port = l.port;
    setenv("TORCHELASTIC_RESTART_COUNT", "1", 1);
    ok(launch_detect(&l, "auto", &e) == 0 && l.port != port,
       "another one after a restart");
    setenv("RANK", "4", 1);
    ok(launch_detect(&l, "auto", &e) < 0 && e.kind == ERR_USAGE,
       "rank 4 of 4 cannot be: %s", e.text);
    unsetenv("WORLD_SIZE");
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    ok(launch_detect(&l, "auto", &e) == 0 && l.kind == LAUNCH_ALONE,
       "a batch script under Slurm is one process");
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("SLURM_JOB_ID", "12345", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_STEP_NODELIST", "gpu[07-09]", 1);
    ok(launch_detect(&l, "auto", &e) == 0 && l.kind == LAUNCH_TCP &&
           l.rank == 3 && l.port == 20345 && strcmp(l.host, "gpu07") == 0,
       "srun's variables");
    ok(launch_detect(&l, "nonesuch", &e) < 0, "%s", e.text);
}

/* Under mpirun: the same sums through MPI, reported by rank 0. */
static int under_mpi(void)
{
    struct launch l;
    struct err e = ERR_INIT;
    struct coll c;
    const char *bad;
    int64_t failed;

    if (launch_detect(&l, "auto", &e) < 0 ||
        coll_open(&c, &(struct coll_conf){ .launch = &l, .timeout = 20 }, &e) <
            0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    bad = check_sums(&c);
    if (!bad)
        bad = check_bytes(&c);
    failed = bad != NULL;
    coll_max(&c, &failed, &e);
    if (c.rank == 0)
        printf("%s\n", failed ? bad ? bad : "another rank failed" : "well");
    coll_close(&c);
    return failed != 0;
}

/* One of two ranks of local_ranks_run(), which are this program: the second
 * does not end by itself. */
static int lingering_rank(void)
{
    if (strcmp(getenv("GTRAIN_RANK"), "1") == 0)
        raise(SIGSTOP);
    return 0;
}

static void lingering(void)
{
    char name[] = "coll", *argv[] = { name, NULL };
    struct err e = ERR_INIT;

    ok(local_ranks_run(argv, 2, &e) == 0,
       "a rank that lingers when rank 0 has ended well is no failure");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
       "and does not stay behind");
}

int main(void)
{
    if (getenv("GTRAIN_RANK"))
        return lingering_rank();
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return under_mpi();
    node_lists();
    launchers();
    for (int size = 1; size <= 4; size++)
        ok(run(size, sums_rank, "a", 0) == 0, "%d ranks sum alike", size);
    ok(run(3, widow_rank, "a", 1) == 0, "a rank that dies is named");
    strangers();
    lingering();
    return done_testing();
}
