/*
 * coll_mpi - ranks that mpirun or srun with PMIx started
 *
 * Once it is open, only the thread of coll.c calls MPI, so
 * MPI_THREAD_SERIALIZED is enough.  When a rank dies, the launcher ends the
 * others after a second or two.  Until then, death_watch.c tells them which one
 * it was; a call of Open MPI may block meanwhile.  A rank that hangs is noticed
 * by the timeout of those that wait for it; death_watch.c finds which it is.
 */
#include "config.h"
#include "trainer/ranks/coll.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "trainer/ranks/death_watch.h"

enum { PIECE = 1 << 30 };

struct mpi {
    MPI_Request *request;
    int *with; /* the other rank of each request; -1: all ranks */
    int room, room_with;
    struct err failed; /* the first failure of a call */
    struct death_watch watch;
    int waits_for;    /* the rank that does not answer, or WAITS_FOR_NONE */
    struct err death; /* valid once `dead` is set */
    bool dead;
};

static int mpi_fail(struct coll *c, const char *what, int code, struct err *e)
{
    struct mpi *m = c->state;
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;

    MPI_Error_string(code, text, &n);
    err_set(e, ERR_RANK, "%s: %.300s", what, text);
    m->failed = *e;
    return -1;
}

/* The message by which ranks introduce themselves. */
struct introduction {
    char name[96], agree[128];
};

static void introduce(const struct coll *c, const char *agree,
                      struct introduction *me)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    *me = (struct introduction){ 0 };
    snprintf(me->name, sizeof me->name, "rank %d (host %.40s, pid %ld)",
             c->rank, host, (long)getpid());
    snprintf(me->agree, sizeof me->agree, "%s", agree ? agree : "");
}

/* Exchange names, and check that all ranks agree. */
static int meet_others(struct coll *c, const char *agree, struct err *e)
{
    struct introduction me, *all = xcalloc((size_t)c->size, sizeof *all);
    int ret = 0;

    introduce(c, agree, &me);
    MPI_Allgather(&me, (int)sizeof me, MPI_BYTE, all, (int)sizeof me, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int r = 0; r < c->size; r++) {
        const struct introduction *it = &all[r];

        snprintf(c->peer[r], sizeof c->peer[0], "%.95s", it->name);
        if (strcmp(it->agree, all[0].agree) != 0)
            ret = err_set(e, ERR_RANK,
                          "%s has a different configuration than rank 0",
                          c->peer[r]);
    }
    free(all);
    return ret;
}

/* Let rank 0 and the others watch each other. */
static void begin_watch(struct coll *c)
{
    struct mpi *m = c->state;
    struct death_watch_place at = { 0 };
    struct err e = { 0 };
    int connected = 0, all = 0, watched;

    if (c->rank == 0 && death_watch_listen(&m->watch, &at, &e) < 0)
        log_warn("%s", e.text);
    MPI_Bcast(&at, (int)sizeof at, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (c->rank > 0)
        connected = death_watch_connect(&m->watch, c, &at);
    MPI_Reduce(&connected, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (c->rank > 0) {
        death_watch_confirm(&m->watch, c);
        return;
    }
    watched = death_watch_admit(&m->watch, c, all);
    if (watched < c->size - 1)
        log_warn("%d of %d ranks cannot connect to rank 0 over TCP; if one of "
                 "them dies, no error will name it",
                 c->size - 1 - watched, c->size);
}

static int mpi_open(struct coll *c, const struct coll_conf *conf, struct err *e)
{
    struct mpi *m;
    MPI_Comm local;
    int given, ready;

    MPI_Initialized(&ready);
    if (!ready && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given) !=
                      MPI_SUCCESS)
        return err_set(e, ERR_RANK, "cannot initialise MPI");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank,
                        MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &c->local_rank);
    MPI_Comm_size(local, &c->local_size);
    MPI_Comm_free(&local);
    c->state = m = xcalloc(1, sizeof *m);
    m->waits_for = WAITS_FOR_NONE;
    c->peer = xcalloc((size_t)c->size, sizeof *c->peer);
    if (meet_others(c, conf->agree, e) < 0) {
        c->type->close(c);
        return -1;
    }
    if (c->size > 1)
        begin_watch(c);
    return 0;
}

static int mpi_watch(struct coll *c, struct err *e)
{
    struct mpi *m = c->state;
    const int waits_for = __atomic_load_n(&m->waits_for, __ATOMIC_ACQUIRE);

    if (waits_for != WAITS_FOR_NONE)
        death_watch_report(&m->watch, c, waits_for);
    if (death_watch_check(&m->watch, c, e) == 0)
        return 0;
    m->death = *e;
    __atomic_store_n(&m->dead, true, __ATOMIC_RELEASE);
    return -1;
}

/* Has mpi_watch() found a dead rank? */
static bool is_over(const struct mpi *m, struct err *e)
{
    if (!__atomic_load_n(&m->dead, __ATOMIC_ACQUIRE))
        return false;
    *e = m->death;
    return true;
}

/* The rank of the first of n requests that is not done. */
static int find_silent(const struct mpi *m, int n)
{
    for (int i = 0, done; i < n; i++)
        if (MPI_Test(&m->request[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
            !done)
            return m->with[i];
    return WAITS_FOR_ALL;
}

/* The error for a rank that is not watched and does not answer. */
static int no_answer(struct coll *c, int with, struct err *e)
{
    struct mpi *m = c->state;

    if (with < 0)
        err_set(e, ERR_RANK, "a rank did not respond to %s for %.0f s",
                c->peer[c->rank], c->timeout);
    else
        err_set(e, ERR_RANK, "%s did not respond for %.0f s", c->peer[with],
                c->timeout);
    m->failed = *e;
    return -1;
}

/* Wait for the requests, without keeping the core busy for long. */
static int finish_requests(struct coll *c, int n, struct err *e)
{
    struct mpi *m = c->state;
    const double start = clock_mono();

    for (int idle = 0;; idle++) {
        int done = 0;
        const int code = MPI_Testall(n, m->request, &done, MPI_STATUSES_IGNORE);

        if (code != MPI_SUCCESS)
            return mpi_fail(c, "a rank died or exited", code, e);
        if (done)
            return 0;
        if (is_over(m, e))
            return -1;
        if (clock_mono() - start > 3 * c->timeout)
            return no_answer(c, find_silent(m, n), e);
        if (clock_mono() - start > c->timeout && m->waits_for == WAITS_FOR_NONE)
            __atomic_store_n(&m->waits_for, find_silent(m, n),
                             __ATOMIC_RELEASE);
        if (idle > 200)
            clock_pause(5e-5);
    }
}

static MPI_Request *next_request(struct mpi *m, int *n, int with)
{
    GROW(m->request, *n, m->room);
    GROW(m->with, *n, m->room_with);
    m->with[*n] = with;
    return &m->request[(*n)++];
}

/* Counts are int: a larger part is sent in pieces. */
static void begin_part(const struct coll_part *p, struct mpi *m, int *n)
{
    for (size_t at = 0; at < p->recv_bytes; at += PIECE) {
        const size_t now = p->recv_bytes - at;

        MPI_Irecv((char *)p->recv + at, now < PIECE ? (int)now : PIECE,
                  MPI_BYTE, p->rank, 0, MPI_COMM_WORLD,
                  next_request(m, n, p->rank));
    }
    for (size_t at = 0; at < p->send_bytes; at += PIECE) {
        const size_t now = p->send_bytes - at;

        MPI_Isend((const char *)p->send + at, now < PIECE ? (int)now : PIECE,
                  MPI_BYTE, p->rank, 0, MPI_COMM_WORLD,
                  next_request(m, n, p->rank));
    }
}

static int mpi_exchange(struct coll *c, const struct coll_part *part, int n,
                        struct err *e)
{
    struct mpi *m = c->state;
    int requests = 0;

    for (int i = 0; i < n; i++) {
        if (part[i].rank == c->rank)
            continue;
        begin_part(&part[i], m, &requests);
        c->sent += part[i].send_bytes;
        c->messages += part[i].send_bytes > 0;
        c->received += part[i].recv_bytes;
    }
    return finish_requests(c, requests, e);
}

static int mpi_sum(struct coll *c, float *x, size_t n, struct err *e)
{
    struct mpi *m = c->state;
    const uint64_t moved =
        2 * n * sizeof *x / (uint64_t)c->size * (uint64_t)(c->size - 1);

    for (size_t at = 0; at < n; at += PIECE / sizeof *x) {
        const size_t left = n - at, most = PIECE / sizeof *x;
        int request = 0;
        const int code = MPI_Iallreduce(
            MPI_IN_PLACE, x + at, left < most ? (int)left : (int)most,
            MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, next_request(m, &request, -1));

        if (code != MPI_SUCCESS)
            return mpi_fail(c, "sum failed", code, e);
        if (finish_requests(c, request, e) < 0)
            return -1;
    }
    c->sent += moved;
    c->received += moved;
    return 0;
}

/* After a failure MPI cannot be finalized, and MPI_Abort() ends the process
 * before main() can report the error. */
static void mpi_close(struct coll *c)
{
    struct mpi *m = c->state;
    int over;

    if (!m)
        return;
    is_over(m, &m->failed);
    death_watch_close(&m->watch, c, m->failed.text);
    MPI_Finalized(&over);
    if (m->failed.kind != ERR_NONE) {
        log_error("%s", m->failed.text);
        MPI_Abort(MPI_COMM_WORLD, err_status(ERR_RANK));
    } else if (!over)
        MPI_Finalize();
    FREE(m->request, m->with, m);
    c->state = NULL;
}

const struct coll_type coll_mpi = {
    .name = "mpi",
    .open = mpi_open,
    .close = mpi_close,
    .exchange = mpi_exchange,
    .sum = mpi_sum,
    .watch = mpi_watch,
    .watch_always = true,
    .grace = 0.2,
};
