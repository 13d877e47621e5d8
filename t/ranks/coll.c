/*
 * coll - collectives of ranks that are children of this process, over TCP, and
 * over MPI under mpirun
 *
 * The sums are of numbers whose order matters, so that the bits show whether it
 * is the order of the ranks.
 */
#include "config.h"
#include "t/lib/tap.h"
#include "trainer/ranks/coll.h"
#include "trainer/ranks/hello.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "trainer/ranks/launch.h"

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

/* What is wrong with the collectives of a rank; NULL for nothing. */
static const char *check_sums(struct coll *c)
{
    struct err e = { 0 };
    int64_t *bounds = xcalloc((size_t)c->size + 1, sizeof *bounds);
    float *x = xmalloc(N * sizeof *x), *in = xmalloc(N * sizeof *in);
    float *got = xmalloc(N * sizeof *got), *acc;
    double d[2] = { c->rank + 1.0, 0.1 };
    int64_t most = c->rank * 7 % 5;
    const char *bad = NULL;

    for (size_t i = 0; i < N; i++)
        x[i] = in[i] = value(c->rank, i);
    coll_sum(c, x, N);
    coll_bounds(c, N, PART, bounds);
    acc = got + bounds[c->rank];
    for (int64_t i = 0; i < bounds[c->rank + 1] - bounds[c->rank]; i++)
        acc[i] = 0.1f;
    coll_reduce(c, acc, in, bounds, false);
    coll_gather(c, got, bounds, sizeof *got);
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
    coll_bounds(c, 11, 4, bounds);
    if (!bad && (bounds[0] != 0 || bounds[c->size] != 11 ||
                 (c->size == 2 && bounds[1] != 4)))
        bad = "coll_bounds is wrong";
    free(bounds);
    free(x);
    free(in);
    free(got);
    return bad;
}

/*
 * Elements that a rank sends for a block of n: 2 n (N - 1) / N for a sum, and
 * half of that to reduce or gather it; so ddp sends 2 n (N - 1) / N per step,
 * and fsdp, which gathers twice, 3 n (N - 1) / N.
 */
static const char *check_bytes(struct coll *c)
{
    const int64_t n = 120000, part = n / c->size * (c->size - 1) * 4;
    int64_t *bounds = xcalloc((size_t)c->size + 1, sizeof *bounds);
    float *x = xcalloc((size_t)n, sizeof *x);
    struct err e = { 0 };
    uint64_t at[4];
    int ret;

    coll_bounds(c, n, 1, bounds);
    at[0] = c->sent;
    coll_sum(c, x, n);
    ret = coll_check(c, &e);
    at[1] = c->sent;
    coll_reduce(c, x + bounds[c->rank], x, bounds, true);
    ret = ret < 0 ? ret : coll_check(c, &e);
    at[2] = c->sent;
    coll_gather(c, x, bounds, sizeof *x);
    ret = ret < 0 ? ret : coll_check(c, &e);
    at[3] = c->sent;
    free(bounds);
    free(x);
    if (ret < 0)
        return "an exchange failed";
    if (at[1] - at[0] != 2 * (uint64_t)part ||
        at[2] - at[1] != (uint64_t)part || at[3] - at[2] != (uint64_t)part)
        return "the bytes sent differ from the formulas";
    return NULL;
}

struct test_rank {
    int size, rank, port, fd;
    const char *agree, *token;
};

static int open_rank(struct coll *c, const struct test_rank *j, struct err *e)
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

/* A rank that runs the sums; 0 if they are right. */
static int sums_rank(const struct test_rank *j)
{
    struct err e = { 0 };
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

/* Rank 1 dies; the others must name it, whether they wait for it or not.  They
 * may still be in the first barrier when it has left that. */
static int rank_with_death(const struct test_rank *j)
{
    struct err e = { 0 };
    struct coll c;
    int named;

    if (open_rank(&c, j, &e) < 0)
        return 1;
    if (coll_barrier(&c, &e) == 0 && j->rank == 1)
        raise(SIGKILL);
    named = (e.kind != ERR_NONE || coll_barrier(&c, &e) < 0) &&
            e.kind == ERR_RANK && strstr(e.text, "rank 1 (") &&
            strstr(e.text, "died");
    if (!named)
        diag("rank %d: '%s'", j->rank, e.text);
    coll_close(&c);
    return !named;
}

/* Start ranks; returns how many failed, less the `dead` that should. */
static int run_ranks(int size, int (*rank)(const struct test_rank *),
                     const char *other, int dead)
{
    int bad = 0, port;
    const int fd = listen_here(&port);

    fflush(stdout);
    for (int r = 0; r < size; r++) {
        const struct test_rank j = { size, r, port, fd, r ? other : "a", "t" };

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

/* 0: joined; 1: rejected with this text; 2: another error. */
static int try_to_join(const struct test_rank *j, const char *words)
{
    struct err e = { 0 };
    struct coll c;
    int ret;

    if (open_rank(&c, j, &e) < 0)
        return e.kind == ERR_RANK && strstr(e.text, words) ? 1 : 2;
    ret = coll_barrier(&c, &e) < 0 ? 2 : 0;
    coll_close(&c);
    return ret;
}

static pid_t start_joining(const struct test_rank *j, const char *words)
{
    const pid_t pid = fork();

    if (pid == 0)
        _exit(try_to_join(j, words));
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/* Start two processes of one rank; returns the one that has joined when the
 * other has been rejected. */
static pid_t join_twice(const struct test_rank *j, bool *rejected)
{
    const pid_t first = start_joining(j, "rank 0 rejected rank");
    const pid_t second = start_joining(j, "rank 0 rejected rank");
    int status;
    const pid_t ended = wait(&status);

    *rejected = (ended == first || ended == second) && WIFEXITED(status) &&
                WEXITSTATUS(status) == 1;
    return ended == first ? second : first;
}

/* Connect to 127.0.0.LAST; -1 if nobody listens there. */
static int connect_here(int last, int port)
{
    const struct sockaddr_in a = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(
                                       INADDR_LOOPBACK - 1 + (uint32_t)last) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A stranger who knows the protocol but not the token, and sends without end;
 * was the connection closed by rank 0? */
static bool flood(int port)
{
    const int fd = connect_here(1, port);
    char chunk[4096] = { 0 };
    const uint32_t magic = HELLO_MAGIC;
    size_t sent = 0;

    memcpy(chunk, &magic, sizeof magic);
    while (sent < 64 << 20) {
        const ssize_t n = send(fd, chunk, sizeof chunk, MSG_NOSIGNAL);

        if (n < 0)
            break;
        sent += (size_t)n;
        memset(chunk, 0, sizeof magic);
    }
    close(fd);
    return sent < 64 << 20;
}

/*
 * Connections to rank 0 of three ranks: more that send nothing than it keeps,
 * one that sends nonsense, one that sends half a hello and waits, one that
 * sends without end, one with another token, two that are both rank 1.
 */
static void test_strangers(void)
{
    enum { IDLE = HELLO_WAITING + 44 };
    const uint32_t magic = HELLO_MAGIC;
    int port, idle[IDLE];
    const int fd = listen_here(&port);
    struct test_rank j = { 3, 0, port, fd, "a", "t" };
    int nonsense;
    bool rejected;
    pid_t zero, one, two;

    fflush(stdout);
    zero = start_joining(&j, "");
    close(fd);
    for (int i = 0; i < IDLE; i++)
        idle[i] = connect_here(1, port);
    nonsense = connect_here(1, port);
    send(nonsense, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL);
    close(nonsense);
    send(idle[IDLE - 1], &magic, sizeof magic, MSG_NOSIGNAL);
    ok(flood(port), "rank 0 closes a connection that sends without end");
    j.rank = 1;
    j.token = "another job's";
    ok(wait_for(start_joining(&j, "has another token than rank 1")) == 1,
       "rank 0 closes a connection with the token of another job");
    j.token = "t";
    ok(wait_for(start_joining(&(struct test_rank){ 3, 0, port, -1, "a", "t" },
                              "another program listens on port")) == 1,
       "a second rank 0 says that the port is taken");
    one = join_twice(&j, &rejected);
    ok(rejected, "the second of two processes with rank 1 is rejected");
    j.rank = 2;
    two = start_joining(&j, "");
    ok(wait_for(one) == 0 && wait_for(two) == 0 && wait_for(zero) == 0,
       "a job begins in spite of strangers and of a rank that came twice");
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
}

/* A rank that does not fit ends the job on all ranks, by name. */
static void test_rejections(void)
{
    static const struct {
        struct test_rank rank;
        const char *why;
    } cases[] = {
        { { .size = 3, .rank = 1, .agree = "b" },
          "it has a different configuration than rank 0" },
        { { .size = 2, .rank = 1, .agree = "a" },
          "the job has 3 ranks, not 2" },
        { { .size = 9, .rank = 4, .agree = "a" },
          "the job has 3 ranks, not 9" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_rank odd = cases[i].rank;
        struct test_rank j = { 3, 0, 0, listen_here(&j.port), "a", "t" };
        char words[128];
        pid_t zero, two, one;
        bool rejected;

        snprintf(words, sizeof words, "): %s", cases[i].why);
        fflush(stdout);
        zero = start_joining(&j, words);
        close(j.fd);
        j.rank = 2;
        two = join_twice(&j, &rejected);
        odd.port = j.port;
        odd.token = "t";
        one = start_joining(&odd, words);
        ok(wait_for(one) == 1 && wait_for(zero) == 1,
           "a rank that is rejected, and rank 0, say why: %s", cases[i].why);
        ok(rejected && wait_for(two) == 1,
           "a rank that had joined says why the job ends: %s", cases[i].why);
    }
}

static void test_interface(void)
{
    int port, fd;
    struct test_rank j = { 2, 0, 0, -1, "a", "t" };
    pid_t zero;

    close(listen_here(&port));
    j.port = port;
    fflush(stdout);
    zero = start_joining(&j, "");
    while ((fd = connect_here(1, port)) < 0 &&
           waitpid(zero, NULL, WNOHANG) == 0)
        ;
    close(fd);
    ok(fd >= 0 && connect_here(2, port) < 0,
       "rank 0 listens on the address it was given, and on no other");
    j.rank = 1;
    ok(wait_for(start_joining(&j, "")) == 0 && wait_for(zero) == 0,
       "a rank joins at that address");
}

static void test_node_lists(void)
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
    struct err e = { 0 };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int ret = launch_first_host(out, sizeof out, cases[i].list, &e);

        ok(cases[i].want ? ret == 0 && strcmp(out, cases[i].want) == 0
                         : ret < 0,
           "the first host of '%s' is found, or is an error", cases[i].list);
    }
}

static void test_launchers(void)
{
    struct err e = { 0 };
    struct launch l;
    int port;

    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMIX_RANK");
    unsetenv("SLURM_STEP_NUM_TASKS");
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) == 0 && l.kind == LAUNCH_ALONE &&
           l.size == 1,
       "without a launcher the job is one process");
    setenv("WORLD_SIZE", "4", 1);
    setenv("RANK", "2", 1);
    setenv("LOCAL_RANK", "2", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) < 0 &&
           strstr(e.text, "MASTER_ADDR"),
       "torchrun without an address is an error: %s", e.text);
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("MASTER_PORT", "29500", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) == 0 && l.kind == LAUNCH_TCP &&
           l.rank == 2 && l.size == 4 && l.port == 29500,
       "the variables of torchrun are read");
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    setenv("TORCHELASTIC_RUN_ID", "abc", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) == 0 && l.port != 29500,
       "another port is used where torchrun listens on MASTER_PORT");
    port = l.port;
    setenv("TORCHELASTIC_RESTART_COUNT", "1", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) == 0 && l.port != port,
       "the port changes after a restart of torchrun");
    setenv("RANK", "4", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) < 0 && e.kind == ERR_USAGE,
       "rank 4 of 4 is an error: %s", e.text);
    unsetenv("WORLD_SIZE");
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) == 0 && l.kind == LAUNCH_ALONE,
       "a batch script under Slurm is one process");
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("SLURM_JOB_ID", "12345", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_STEP_NODELIST", "gpu[07-09]", 1);
    ok(launch_detect(&l, LAUNCHER_AUTO, &e) == 0 && l.kind == LAUNCH_TCP &&
           l.rank == 3 && l.port == 20345 && strcmp(l.host, "gpu07") == 0,
       "the variables of srun are read");
    ok(launch_detect(&l, LAUNCHER_NONE, &e) == 0 && l.kind == LAUNCH_ALONE,
       "the launcher none ignores the environment");
}

/* The token of a job under torchrun, with this secret or file of one. */
static bool has_token(const char *secret, const char *file, char out[128])
{
    struct err e = { 0 };
    struct launch l;

    setenv("WORLD_SIZE", "2", 1);
    setenv("RANK", "1", 1);
    setenv("GTRAIN_TOKEN", secret, 1);
    setenv("GTRAIN_TOKEN_FILE", file, 1);
    if (launch_detect(&l, LAUNCHER_TORCHRUN, &e) < 0) {
        diag("%s", e.text);
        return false;
    }
    memcpy(out, l.token, 128);
    return !l.guessable;
}

/* Ranks of one machine find a secret of their user without being told. */
static void test_own_secret(void)
{
    char folder[] = "/tmp/gtrain-XXXXXX", a[128], b[128];
    char path[sizeof folder + 32];
    struct stat st;

    if (!mkdtemp(folder))
        abort();
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("LOCAL_WORLD_SIZE", "2", 1);
    snprintf(path, sizeof path, "%s/gtrain/token", folder);
    ok(has_token("", "", a) && has_token("", "", b) && strcmp(a, b) == 0 &&
           stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
       "ranks of one machine share a secret that only their user can read");
    chmod(path, 0644);
    ok(!has_token("", "", b), "a secret that others could read is not used");
    unlink(path);
    ok(has_token("", "", b) && strcmp(a, b) != 0,
       "a secret that was removed is made anew");
    unlink(path);
    path[strlen(path) - strlen("/token")] = '\0';
    rmdir(path);
    rmdir(folder);
    unsetenv("LOCAL_WORLD_SIZE");
}

static void test_tokens(void)
{
    char name[] = "/tmp/gtrain-XXXXXX", a[128], b[128];
    const int fd = mkstemp(name);

    ok(write(fd, "secret\n", 7) == 7 && has_token("secret", "", a) &&
           has_token("", name, b) && strcmp(a, b) == 0,
       "the secret of a token comes from GTRAIN_TOKEN or a file");
    ok(has_token("another", "", b) && strcmp(a, b) != 0,
       "another secret gives another token");
    ok(!has_token("", "", b) && strcmp(a, b) != 0,
       "without a secret the token of several machines can be guessed");
    fchmod(fd, 0640);
    ok(!has_token("", name, b), "a file that others can read is an error");
    close(fd);
    unlink(name);
    test_own_secret();
    unsetenv("GTRAIN_TOKEN");
    unsetenv("GTRAIN_TOKEN_FILE");
    unsetenv("WORLD_SIZE");
}

/* Under mpirun: the same sums through MPI, reported by rank 0. */
static int under_mpi(void)
{
    struct launch l;
    struct err e = { 0 };
    struct coll c;
    const char *bad;
    int64_t failed;

    if (launch_detect(&l, LAUNCHER_AUTO, &e) < 0 ||
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
    const char *secret = getenv("GTRAIN_TOKEN");

    if (strcmp(getenv("GTRAIN_RANK"), "1") == 0)
        raise(SIGSTOP);
    return !secret || strspn(secret, "0123456789abcdef") != 32;
}

static void test_lingering(void)
{
    char name[] = "coll", *argv[] = { name, NULL };
    struct err e = { 0 };

    ok(local_ranks_run(argv, 2, &e) == 0,
       "ranks get a secret, and one that outlives rank 0 is not a failure");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
       "a rank that does not exit is killed");
}

int main(void)
{
    if (getenv("GTRAIN_RANK"))
        return lingering_rank();
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return under_mpi();
    test_node_lists();
    test_launchers();
    for (int size = 1; size <= 4; size++)
        ok(run_ranks(size, sums_rank, "a", 0) == 0,
           "%d ranks compute the same sums", size);
    ok(run_ranks(3, rank_with_death, "a", 1) == 0,
       "the other ranks name a rank that dies");
    test_strangers();
    test_rejections();
    test_interface();
    test_tokens();
    test_lingering();
    return done_testing();
}
