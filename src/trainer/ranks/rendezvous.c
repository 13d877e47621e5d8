/*
 * rendezvous - connect the ranks of a job over TCP
 *
 * Rank 0 listens.  Every other rank connects, proves that it knows the token,
 * and sends its rank, the size of the job and what all must agree on.  It
 * receives the proof of rank 0, a random text from which the token of this job
 * alone is derived, and the addresses of the ranks that it is linked to, or the
 * reason why the job ends.  Then each pair of linked ranks connects, the higher
 * to the lower.
 */
#include "config.h"
#include "trainer/ranks/coll.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "trainer/ranks/hello.h"

/* Rank 0 answers with this many bytes, the reason why a rank is rejected; if it
 * is empty, the addresses of the linked ranks follow, in their order. */
enum { REASON_BYTES = 320, GREET_PAUSE_MS = 20 };

struct rank_address {
    char addr[PEER_SOCKET_ADDRESS];
    uint32_t port;
    uint32_t pid;
    char host[64];
};

/* ---- listening -------------------------------------------------------- */

/* On which interface rank 0 listens: a machine may give its own name a loopback
 * address, which other machines cannot reach. */
static const char *choose_interface(const struct launch *l)
{
    const bool local = peer_socket_is_loopback(l->host);

    return local && !l->one_host && strncmp(l->host, "127.", 4) != 0 &&
                   strcmp(l->host, "localhost") != 0 &&
                   strcmp(l->host, "::1") != 0
               ? NULL
               : l->host;
}

/* Behind a translated address, rank 0 has to listen on all interfaces. */
static int listen_first(const struct launch *l, struct err *e)
{
    const char *host = choose_interface(l);
    int fd;

    if (l->listener >= 0)
        return l->listener;
    if (l->guessable)
        log_warn("the token of this job can be guessed; set GTRAIN_TOKEN to a "
                 "secret on all ranks");
    fd = peer_socket_listen(host, l->port, e);
    if (fd < 0 && e->sys == EADDRINUSE)
        return err_set(e, ERR_RANK,
                       "another program listens on port %d of %s, where rank 0 "
                       "would; end it, or start the job with another port",
                       l->port, l->host);
    if (fd < 0 && host && e->sys == EADDRNOTAVAIL) {
        log_warn("%s is not an address of this machine; rank 0 listens on all "
                 "interfaces",
                 host);
        *e = (struct err){ 0 };
        fd = peer_socket_listen(NULL, l->port, e);
    }
    return fd;
}

/* Other ranks listen on the interface by which they have reached rank 0. */
static int listen_beside(const struct launch *l, int zero, struct err *e)
{
    char own[PEER_SOCKET_ADDRESS];

    peer_socket_own(zero, own);
    return peer_socket_listen(
        *own && (l->one_host || !peer_socket_is_loopback(own)) ? own : NULL, 0,
        e);
}

/* ---- rendezvous ------------------------------------------------------ */

static void own_hello(const struct coll *c, const struct coll_conf *conf,
                      int listener, struct hello *h)
{
    *h = (struct hello){ .magic = HELLO_MAGIC,
                         .rank = (uint32_t)c->rank,
                         .size = (uint32_t)c->size,
                         .port = peer_socket_port(listener),
                         .pid = (uint32_t)getpid() };
    snprintf(h->agree, sizeof h->agree, "%s", conf->agree ? conf->agree : "");
    gethostname(h->host, sizeof h->host - 1);
}

/* Why a rank that knows the token is rejected; "" if it is not. */
static void judge_rank(const struct coll *c, const struct hello *mine,
                       const struct hello *h, char *reason, size_t room)
{
    *reason = '\0';
    if (h->size != mine->size)
        snprintf(reason, room, "the job has %u ranks, not %u", mine->size,
                 h->size);
    else if (h->rank == 0 || h->rank >= h->size)
        snprintf(reason, room, "there is no rank %u", h->rank);
    else if (c->peer[h->rank][0])
        snprintf(reason, room, "%s has already joined", c->peer[h->rank]);
    else if (memcmp(h->agree, mine->agree, sizeof h->agree) != 0)
        snprintf(reason, room, "it has a different configuration than rank 0");
}

static void describe_rank(char out[sizeof *((struct coll *)0)->peer],
                          uint32_t rank, const char *host, uint32_t pid)
{
    snprintf(out, sizeof *((struct coll *)0)->peer,
             "rank %u (host %.40s, pid %u)", rank, host, pid);
}

static void admit_rank(struct coll *c, struct rank_address *address,
                       const struct hello *h, int fd)
{
    *address = (struct rank_address){ .port = h->port, .pid = h->pid };
    snprintf(address->host, sizeof address->host, "%.63s", h->host);
    if (fd >= 0)
        peer_socket_peer(fd, address->addr);
    describe_rank(c->peer[h->rank], h->rank, address->host, address->pid);
}

static int check_joined(const struct coll *c, int joined, struct err *e)
{
    for (int r = 1; r < c->size; r++)
        if (!c->peer[r][0])
            return err_set(e, ERR_RANK,
                           "only %d of %d ranks joined within %.0f s; rank %d "
                           "is missing",
                           joined, c->size, c->timeout, r);
    return 0;
}

static void send_reason(int fd, const char *text)
{
    char reason[REASON_BYTES] = "";

    snprintf(reason, sizeof reason, "%s", text);
    peer_socket_move(fd, reason, sizeof reason, true, clock_mono() + 1);
}

/* Tell a rank why it is rejected and, since a job that lacks a rank cannot
 * begin, all that have joined. */
static int reject_rank(const struct coll *c, const struct hello *h, int fd,
                       const int *fd_of, const char *reason, struct err *e)
{
    char who[sizeof *c->peer];
    const bool joined = h->size == (uint32_t)c->size && h->rank > 0 &&
                        h->rank < h->size && c->peer[h->rank][0];

    describe_rank(who, h->rank, h->host, h->pid);
    err_set(e, ERR_RANK, "rank 0 rejected %s: %s", who, reason);
    send_reason(fd, e->text);
    close(fd);
    if (joined) {
        log_warn("%s", e->text);
        *e = (struct err){ 0 };
        return 0;
    }
    for (int r = 1; r < c->size; r++)
        if (fd_of[r] >= 0)
            send_reason(fd_of[r], e->text);
    return -1;
}

/* Rank 0: wait until every rank has joined. */
static int receive_all(struct coll *c, struct hello_reader *reader,
                       const struct hello *mine, struct rank_address *address,
                       int *fd_of, double until, struct err *e)
{
    char reason[REASON_BYTES] = "";
    int joined = 1, ret = 0;

    admit_rank(c, &address[0], mine, -1);
    while (ret == 0 && joined < c->size) {
        struct hello h;
        const int fd = hello_next(reader, until, &h);

        if (fd < 0) {
            ret = check_joined(c, joined, e);
            break;
        }
        h.host[sizeof h.host - 1] = '\0';
        judge_rank(c, mine, &h, reason, sizeof reason);
        if (reason[0]) {
            ret = reject_rank(c, &h, fd, fd_of, reason, e);
            continue;
        }
        admit_rank(c, &address[h.rank], &h, fd);
        fd_of[h.rank] = fd;
        joined++;
    }
    return ret;
}

/* Rank 0: the job begins. */
static int send_addresses(const struct coll *c,
                          const struct rank_address *address, int rank, int fd,
                          double until)
{
    const struct coll it = { .rank = rank, .size = c->size };
    AUTO_FREE struct rank_address *linked =
        xcalloc((size_t)c->size, sizeof *linked);
    char reason[REASON_BYTES] = "";
    size_t n = 0;

    for (int r = 0; r < c->size; r++)
        if (coll_is_linked(&it, r))
            linked[n++] = address[r];
    if (peer_socket_move(fd, reason, sizeof reason, true, until) < 0)
        return -1;
    return peer_socket_move(fd, linked, n * sizeof *linked, true, until);
}

/* Rank 0: wait for all ranks, and keep the sockets of those it is linked to. */
static int begin_job(struct coll *c, const char *token, int listener,
                     const struct hello *mine, struct rank_address *address,
                     int *fd_of, double until, struct err *e)
{
    char session[RANDOM_SECRET];
    struct hello_reader reader = { .listener = listener,
                                   .token = token,
                                   .session = session,
                                   .ranks = c->size };
    int ret = random_secret(session, e);

    if (ret == 0)
        ret = receive_all(c, &reader, mine, address, fd_of, until, e);
    hello_close(&reader);
    if (ret < 0)
        return -1;
    for (int r = 1; r < c->size; r++) {
        if (send_addresses(c, address, r, fd_of[r], until) < 0)
            return err_set(e, ERR_RANK, "%s disconnected during startup",
                           c->peer[r]);
        if (!coll_is_linked(c, r)) {
            close(fd_of[r]);
            fd_of[r] = -1;
        }
    }
    return 0;
}

/* Other ranks: receive the addresses of the ranks that this one is linked to.
 */
static int receive_addresses(struct coll *c, int zero,
                             struct rank_address *address, double until)
{
    for (int r = 0; r < c->size; r++)
        if (r == c->rank || !coll_is_linked(c, r))
            snprintf(c->peer[r], sizeof *c->peer, "rank %d", r);
        else if (peer_socket_move(zero, &address[r], sizeof *address, false,
                                  until) == 0)
            describe_rank(c->peer[r], (uint32_t)r, address[r].host,
                          address[r].pid);
        else
            return -1;
    return 0;
}

/* Where a rank listens that others connect to. */
struct greeted {
    const char *name, *host;
    int port;
};

static int greet_failed(const struct coll *c, const struct greeted *at, int why,
                        struct err *e)
{
    if (why == EACCES)
        return err_set(e, ERR_RANK,
                       "%s (%s:%d) has another token than rank %d; set "
                       "GTRAIN_TOKEN to the same secret on all ranks",
                       at->name, at->host, at->port, c->rank);
    if (why == EPROTO)
        return err_set(e, ERR_RANK,
                       "another program than %s of this job listens on port %d "
                       "of %s",
                       at->name, at->port, at->host);
    if (why == ETIMEDOUT)
        return err_set(e, ERR_RANK,
                       "%s (%s:%d) did not start the job within %.0f s",
                       at->name, at->host, at->port, c->timeout);
    return err_set(e, ERR_RANK,
                   "%s (%s:%d) closed the connection to rank %d; it has ended",
                   at->name, at->host, at->port, c->rank);
}

/* Say hello to a rank, connecting if *fd is -1.  A connection that is closed
 * before it is answered may have been one of too many: as long as somebody
 * listens, try again. */
static int greet_rank(struct coll *c, const struct greeted *at,
                      const char *token, const struct hello *mine, int *fd,
                      char session[RANDOM_SECRET], double until, struct err *e)
{
    double limit = until;

    for (;;) {
        int why;

        if (*fd < 0)
            *fd = peer_socket_connect(at->host, at->port, limit, e);
        if (*fd < 0)
            return limit < until ? greet_failed(c, at, ECONNRESET, e)
                                 : err_wrap(e, "%s", at->name);
        if (hello_say(*fd, token, mine, session, until) == 0)
            return 0;
        why = errno;
        close(*fd);
        *fd = -1;
        limit = fmin(until, clock_mono() + 1);
        poll(NULL, 0, GREET_PAUSE_MS);
        if ((why != ECONNRESET && why != EPIPE) || limit == until)
            return greet_failed(c, at, why, e);
    }
}

/* Other ranks: say hello to rank 0, and wait for its answer. */
static int join_job(struct coll *c, const struct launch *l, int *zero,
                    const struct hello *mine, char session[RANDOM_SECRET],
                    struct rank_address *address, double until, struct err *e)
{
    const struct greeted at = { "rank 0", l->host, l->port };
    char reason[REASON_BYTES];

    if (greet_rank(c, &at, l->token, mine, zero, session, until, e) < 0)
        return -1;
    if (peer_socket_move(*zero, reason, sizeof reason, false, until) < 0)
        return greet_failed(c, &at, errno, e);
    reason[sizeof reason - 1] = '\0';
    if (reason[0])
        return err_set(e, ERR_RANK, "%s", reason);
    if (receive_addresses(c, *zero, address, until) < 0)
        return err_set(e, ERR_RANK, "rank 0 disconnected during startup");
    return 0;
}

/* The linked ranks from `from` up to `to`. */
static int count_linked(const struct coll *c, int from, int to)
{
    int n = 0;

    for (int r = from; r < to; r++)
        n += coll_is_linked(c, r);
    return n;
}

/* Connect to the lower ranks except 0, then accept the higher ones. */
static int meet_others(struct coll *c, const char *token, int listener,
                       const struct hello *mine,
                       const struct rank_address *address, int *fd_of,
                       double until, struct err *e)
{
    int missing = count_linked(c, c->rank + 1, c->size);
    struct hello_reader reader = { .listener = listener,
                                   .token = token,
                                   .ranks = missing };
    char session[RANDOM_SECRET];

    if (!coll_is_linked(c, 0)) {
        close(fd_of[0]);
        fd_of[0] = -1;
    }
    for (int r = 1; r < c->rank; r++) {
        if (!coll_is_linked(c, r))
            continue;
        if (greet_rank(c,
                       &(struct greeted){ c->peer[r], address[r].addr,
                                          (int)address[r].port },
                       token, mine, &fd_of[r], session, until, e) < 0)
            return -1;
    }
    while (missing > 0) {
        struct hello h;
        const int fd = hello_next(&reader, until, &h);

        if (fd < 0)
            break;
        if (h.rank <= (uint32_t)c->rank || h.rank >= (uint32_t)c->size ||
            !coll_is_linked(c, (int)h.rank) || fd_of[h.rank] >= 0) {
            close(fd);
            continue;
        }
        fd_of[h.rank] = fd;
        missing--;
    }
    hello_close(&reader);
    return missing == 0
               ? 0
               : err_set(e, ERR_RANK,
                         "%d ranks did not connect to rank %d within %.0f s",
                         missing, c->rank, c->timeout);
}

/* The socket on which this rank listens.  Ranks above 0 connect to rank 0
 * first. */
static int open_listener(const struct coll *c, const struct launch *l,
                         int *fd_of, double until, struct err *e)
{
    if (c->rank == 0)
        return listen_first(l, e);
    fd_of[0] = peer_socket_connect(l->host, l->port, until, e);
    if (fd_of[0] < 0)
        return err_wrap(e, "rank 0");
    return listen_beside(l, fd_of[0], e);
}

int rendezvous(struct coll *c, const struct coll_conf *conf, int *fd_of,
               struct err *e)
{
    const double until = clock_mono() + c->timeout;
    AUTO_FREE struct rank_address *address =
        xcalloc((size_t)c->size, sizeof *address);
    const struct launch *l = conf->launch;
    char session[RANDOM_SECRET], token[HELLO_TOKEN];
    struct hello mine;
    int listener, ret = -1;

    peer_socket_allow(c->size);
    for (int r = 0; r < c->size; r++)
        fd_of[r] = -1;
    listener = open_listener(c, l, fd_of, until, e);
    if (listener >= 0) {
        own_hello(c, conf, listener, &mine);
        ret = c->rank == 0 ? begin_job(c, l->token, listener, &mine, address,
                                       fd_of, until, e)
                           : join_job(c, l, &fd_of[0], &mine, session, address,
                                      until, e);
        if (ret == 0 && c->rank > 0) {
            memcpy(token, l->token, sizeof token);
            hello_derive_token(token, session);
            ret = meet_others(c, token, listener, &mine, address, fd_of, until,
                              e);
        }
        close(listener);
    }
    return ret;
}
