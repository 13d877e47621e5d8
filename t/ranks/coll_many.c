/*
 * coll_many - collectives of more ranks than are linked directly, over TCP
 *
 * The ranks are children of this process.  Those of a job that fails as a whole
 * end with status 0 if they were told why.
 */
#include "config.h"
#include "t/lib/tap.h"
#include "trainer/ranks/coll.h"

#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

enum { N = 4001, LAST = 5 }; /* elements; the part of the last rank */

struct job_rank {
    int rank, size, port, listener;
    bool native, bf16;
    double timeout;
};

typedef int rank_fn(struct coll *);

/* ---- ranks ------------------------------------------------------------ */

static int listen_here(int *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 256) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        abort();
    *port = ntohs(a.sin_port);
    return fd;
}

static int run_rank(const struct job_rank *j, rank_fn *rank)
{
    struct launch l = { .kind = LAUNCH_TCP,
                        .host = "127.0.0.1",
                        .token = "t",
                        .rank = j->rank,
                        .size = j->size,
                        .port = j->port,
                        .listener = j->rank == 0 ? j->listener : -1 };
    const struct coll_conf conf = { .launch = &l,
                                    .timeout = j->timeout,
                                    .native = j->native,
                                    .bf16 = j->bf16 };
    struct err e = { 0 };
    struct coll c;
    int ret;

    if (coll_open(&c, &conf, &e) < 0) {
        diag("rank %d: %s", j->rank, e.text);
        return 1;
    }
    ret = rank(&c);
    coll_close(&c);
    return ret;
}

/* How many of the ranks fail.  Rank 3 is not counted; with a short timeout, it
 * may have stopped, and is killed when all others have ended. */
static int run_ranks(struct job_rank j, rank_fn *rank)
{
    const int size = j.size;
    pid_t *pid = xcalloc((size_t)size, sizeof *pid);
    int bad = 0;

    j.listener = listen_here(&j.port);
    fflush(stdout);
    for (j.rank = 0; j.rank < size; j.rank++)
        if ((pid[j.rank] = fork()) == 0) {
            const int ret = run_rank(&j, rank);

            fflush(stdout);
            _exit(ret);
        }
    close(j.listener);
    for (int r = 0; r < size; r++) {
        int status;

        if (r == 3)
            continue;
        waitpid(pid[r], &status, 0);
        bad += status != 0;
    }
    if (waitpid(pid[3], NULL, WNOHANG) == 0 && j.timeout < 10)
        kill(pid[3], SIGKILL);
    waitpid(pid[3], NULL, 0);
    free(pid);
    return bad;
}

static int run_job(int size, bool native, double timeout, rank_fn *rank)
{
    return run_ranks(
        (struct job_rank){ .size = size, .native = native, .timeout = timeout },
        rank);
}

/* ---- sums ------------------------------------------------------------- */

static float value(int r, int64_t i)
{
    return (float)sin((double)i * 0.37 + r) * (float)(1 + r * 100);
}

/* Some ranks have nothing, and the last one little. */
static int64_t *uneven_bounds(const struct coll *c)
{
    int64_t *bounds = xcalloc((size_t)c->size + 1, sizeof *bounds);

    for (int r = 0; r < c->size; r++)
        bounds[r] = (N - LAST) / ((c->size + 1) / 2) * ((r + 1) / 2);
    bounds[c->size - 1] = N - LAST;
    bounds[c->size] = N;
    return bounds;
}

static bool is_close(float got, float want, bool exactly)
{
    return exactly ? got == want : fabsf(got - want) < 0.05f;
}

static const char *check_floats(struct coll *c, const int64_t *bounds)
{
    float x[N], in[N], all[N];
    float *acc = all + bounds[c->rank];
    struct err e = { 0 };

    for (int64_t i = 0; i < N; i++)
        x[i] = in[i] = value(c->rank, i);
    for (int64_t i = bounds[c->rank]; i < bounds[c->rank + 1]; i++)
        all[i] = 0.5f;
    coll_sum(c, x, N);
    coll_reduce(c, acc, in, bounds, false);
    coll_gather(c, all, bounds, sizeof *all);
    if (coll_check(c, &e) < 0)
        return "an exchange failed";
    for (int64_t i = 0; i < N; i++) {
        float sum = 0.0f, more = 0.5f;

        for (int r = 0; r < c->size; r++) {
            sum += value(r, i);
            more += value(r, i);
        }
        if (!is_close(x[i], sum, !c->native))
            return "coll_sum is wrong";
        if (!is_close(all[i], more, !c->native))
            return "coll_reduce or coll_gather is wrong";
    }
    return NULL;
}

static const char *check_collect(struct coll *c, const int64_t *bounds)
{
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    struct err e = { 0 };
    float mine[N], all[N];

    for (int64_t i = 0; i < own; i++)
        mine[i] = value(0, bounds[c->rank] + i);
    coll_collect(c, c->rank == 0 ? all : NULL, mine, bounds, sizeof *all);
    if (coll_check(c, &e) < 0)
        return "coll_collect failed";
    for (int64_t i = 0; i < N && c->rank == 0; i++)
        if (all[i] != value(0, i))
            return "coll_collect is wrong";
    return NULL;
}

static const char *check_small(struct coll *c)
{
    const int root = c->size - 2;
    int64_t most = c->rank * 7 % c->size;
    double d[2] = { c->rank + 1, c->rank == 4 };
    int sent = c->rank == root ? 77 : 0, other;
    struct err e = { 0 };

    coll_bcast(c, &sent, sizeof sent, root);
    if (coll_sum_f64(c, d, 2, &e) < 0 || coll_max(c, &most, &e) < 0)
        return "a small sum failed";
    if (d[0] != c->size * (c->size + 1) / 2 || d[1] != 1)
        return "coll_sum_f64 is wrong";
    if (sent != 77)
        return "coll_bcast is wrong";
    for (int r = 0; r < c->size; r++)
        if (r * 7 % c->size > most)
            return "coll_max is wrong";
    sent += c->rank == 5 || c->rank == c->size - 1;
    if (coll_compare(c, &sent, sizeof sent, &other, &e) < 0 || other != 5)
        return "coll_compare is wrong";
    return NULL;
}

static int sums_rank(struct coll *c)
{
    int64_t *bounds = uneven_bounds(c);
    const char *bad = check_floats(c, bounds);

    if (!bad)
        bad = check_collect(c, bounds);
    if (!bad)
        bad = check_small(c);
    if (bad)
        diag("rank %d of %d: %s", c->rank, c->size, bad);
    free(bounds);
    return bad != NULL;
}

/* ---- costs ------------------------------------------------------------ */

static int log_of(int n)
{
    int k = 0;

    while (1 << k < n)
        k++;
    return k;
}

/* A sum of n floats sends 2 n (N - 1) / N of them if it need not be in order,
 * and its messages and the sockets grow like log N. */
static int costs_rank(struct coll *c)
{
    const int64_t n = 64 * c->size;
    float *x = xcalloc((size_t)n, sizeof *x);
    const uint64_t want = 2 * 64 * 4 * ((uint64_t)c->size - 1);
    const uint64_t log = (uint64_t)log_of(c->size);
    struct err e = { 0 };
    int links = 0, bad = 0;

    for (int r = 0; r < c->size; r++)
        links += coll_is_linked(c, r);
    coll_sum(c, x, n);
    if (coll_check(c, &e) < 0 || c->sent != want || c->messages > 4 * log ||
        links > 2 * (int)log) {
        diag("sent %llu of %llu bytes, %llu messages, %d links",
             (unsigned long long)c->sent, (unsigned long long)want,
             (unsigned long long)c->messages, links);
        bad = 1;
    }
    free(x);
    return bad;
}

/* Numbers whose sum would be far less exact if it were rounded each time that
 * something is added. */
static float small_value(int r, int64_t i)
{
    return (float)(1 + 0.37 * sin((double)(i * 31 + r)));
}

static const char *check_rounded(struct coll *c, const int64_t *bounds)
{
    const float part = (float)(log_of(c->size) + 2) / 512.0f;
    float x[N], in[N], all[N];
    int other;
    struct err e = { 0 };

    for (int64_t i = 0; i < N; i++)
        x[i] = in[i] = small_value(c->rank, i);
    for (int64_t i = bounds[c->rank]; i < bounds[c->rank + 1]; i++)
        all[i] = 0.5f;
    coll_sum(c, x, N);
    coll_reduce(c, all + bounds[c->rank], in, bounds, false);
    coll_gather(c, all, bounds, sizeof *all);
    if (coll_check(c, &e) < 0 || coll_compare(c, x, sizeof x, &other, &e) < 0)
        return "an exchange failed";
    if (other)
        return "ranks have other sums";
    for (int64_t i = 0; i < N; i++) {
        float sum = 0.0f;

        for (int r = 0; r < c->size; r++)
            sum += small_value(r, i);
        if (fabsf(x[i] - sum) > part * sum)
            return "coll_sum is wrong";
        if (fabsf(all[i] - sum - 0.5f) > part * sum)
            return "coll_reduce is wrong";
    }
    return NULL;
}

/* A sum sends half of what costs_rank() expects of one in fp32. */
static int rounded_rank(struct coll *c)
{
    int64_t *bounds = uneven_bounds(c);
    float *x = xcalloc((size_t)c->size, 64 * sizeof *x);
    const char *bad = check_rounded(c, bounds);
    const uint64_t before = c->sent;
    struct err e = { 0 };

    coll_sum(c, x, (int64_t)c->size * 64);
    if (!bad && coll_check(c, &e) < 0)
        bad = "an exchange failed";
    if (!bad && c->sent - before != 2 * 64 * 2 * ((uint64_t)c->size - 1))
        bad = "a sum sends another number of bytes";
    if (bad)
        diag("rank %d of %d: %s", c->rank, c->size, bad);
    free(bounds);
    free(x);
    return bad != NULL;
}

/* ---- failures --------------------------------------------------------- */

static int is_told(struct coll *c, const char *end)
{
    struct err e = { 0 };
    int told = 0;

    for (int i = 0; i < 100 && !told; i++)
        told = coll_barrier(c, &e) < 0;
    told = told && e.kind == ERR_RANK && strstr(e.text, "rank 3 (") &&
           strstr(e.text, end);
    if (!told)
        diag("rank %d: '%s'", c->rank, e.text);
    return told;
}

static int fail_as(struct coll *c, int sig, const char *end)
{
    struct err e = { 0 };

    if (c->rank == 3 && coll_barrier(c, &e) == 0)
        raise(sig);
    return !is_told(c, end);
}

static int rank_with_death(struct coll *c)
{
    return fail_as(c, SIGKILL, "died");
}

static int rank_with_stop(struct coll *c)
{
    return fail_as(c, SIGSTOP, "did not respond for");
}

int main(void)
{
    static const int sizes[] = { COLL_DIRECT + 1, 24, 33, 64 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ok(run_job(sizes[i], false, 60, sums_rank) == 0,
           "%d ranks compute the same sums, in the order of the ranks",
           sizes[i]);
        ok(run_job(sizes[i], true, 60, sums_rank) == 0,
           "%d ranks compute the same sums up to rounding", sizes[i]);
        ok(run_job(sizes[i], true, 60, costs_rank) == 0,
           "the messages of %d ranks grow like the logarithm", sizes[i]);
    }
    for (int size = 4; size <= 36; size = size * 3 / 2)
        ok(run_ranks(
               (struct job_rank){
                   .size = size, .native = true, .bf16 = true, .timeout = 60 },
               rounded_rank) == 0,
           "%d ranks compute sums in bf16, of half the bytes", size);
    ok(run_job(40, false, 60, rank_with_death) == 0,
       "all of 40 ranks name the one that died");
    ok(run_job(40, false, 3, rank_with_stop) == 0,
       "all of 40 ranks name the one that does not respond");
    return done_testing();
}
