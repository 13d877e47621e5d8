/*
 * rendezvous - connect the ranks of a job over TCP
 *
 * Rank 0 listens.  Every other rank connects and sends the token of the job,
 * its rank, the size of the job and what all must agree on.  It receives the
 * address of each rank, or the reason why it is rejected.  Then each pair of
 * ranks connects, the higher to the lower.
 */
#include "config.h"
#include "trainer/ranks/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

enum { MAGIC = 0x47544e31, CONNECT_PAUSE_MS = 50, HELLO_SECS = 10 };

struct hello {
    uint32_t magic;
    uint32_t rank, size;
    uint32_t port; /* where this rank listens */
    uint32_t pid;
    char token[128];
    char agree[128];
    char host[64];
};

/* Rank 0 answers with the reason why it rejects a rank, of so many bytes; if it
 * is empty, the addresses of all ranks follow. */
enum { REASON_BYTES = 256 };

struct rank_address {
    char addr[64]; /* numeric */
    uint32_t port;
    uint32_t pid;
    char host[64];
};

/* ---- sockets --------------------------------------------------------- */

static int wait_for(int fd, short events, double until)
{
    struct pollfd p = { .fd = fd, .events = events };

    for (;;) {
        const double left = until - clock_mono();
        const int n = poll(&p, 1, left <= 0 ? 0 : (int)(left * 1000) + 1);

        if (n > 0)
            return 0;
        if (n == 0 && left <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (n < 0 && errno != EINTR)
            return -1;
    }
}

int rendezvous_move(int fd, void *data, size_t n, bool out, double until)
{
    char *at = data;

    while (n) {
        const ssize_t now =
            out ? send(fd, at, n, MSG_NOSIGNAL) : recv(fd, at, n, 0);

        if (now > 0) {
            at += now;
            n -= (size_t)now;
            continue;
        }
        if (now == 0) {
            errno = ECONNRESET;
            return -1;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return -1;
        if (wait_for(fd, out ? POLLOUT : POLLIN, until) < 0)
            return -1;
    }
    return 0;
}

static void set_socket_options(int fd)
{
    const int one = 1;

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

static uint32_t port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    char port[16];

    if (getsockname(fd, (struct sockaddr *)&a, &n) < 0 ||
        getnameinfo((struct sockaddr *)&a, n, NULL, 0, port, sizeof port,
                    NI_NUMERICSERV) != 0)
        return 0;
    return (uint32_t)strtoul(port, NULL, 10);
}

/* Listen on a port; 0 is any free one. */
static int listen_on(int port, struct err *e)
{
    const int one = 1;
    struct sockaddr_in6 a = { .sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_ANY_INIT };
    struct sockaddr_in b = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0, ok;

    if (fd >= 0) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        ok = bind(fd, (struct sockaddr *)&a, sizeof a);
    } else {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        ok = bind(fd, (struct sockaddr *)&b, sizeof b);
    }
    if (ok < 0 || listen(fd, 1024) < 0) {
        err_sys(e, "cannot listen on port %d", port);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

/* Try to connect once; *why is set on failure. */
static int connect_once(const char *host, int port, const char **why)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *all = NULL;
    char text[16];
    int fd = -1, bad;

    snprintf(text, sizeof text, "%d", port);
    bad = getaddrinfo(host, text, &hints, &all);
    if (bad != 0) {
        *why = gai_strerror(bad);
        return -1;
    }
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
            *why = strerror(errno);
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(all);
    if (fd >= 0)
        set_socket_options(fd);
    return fd;
}

/* Try to connect until it works: rank 0 may start later than this rank. */
static int connect_to(const char *host, int port, double until, struct err *e)
{
    for (;;) {
        const char *why = "";
        const int fd = connect_once(host, port, &why);

        if (fd >= 0)
            return fd;
        if (clock_mono() > until)
            return err_set(e, ERR_RANK, "cannot connect to %s:%d: %s", host,
                           port, why);
        poll(NULL, 0, CONNECT_PAUSE_MS);
    }
}

/* ---- rendezvous ------------------------------------------------------ */

static void own_hello(const struct coll *c, const struct coll_conf *conf,
                      int listener, struct hello *h)
{
    *h = (struct hello){ .magic = MAGIC,
                         .rank = (uint32_t)c->rank,
                         .size = (uint32_t)c->size,
                         .port = port_of(listener),
                         .pid = (uint32_t)getpid() };
    snprintf(h->token, sizeof h->token, "%s", conf->launch->token);
    snprintf(h->agree, sizeof h->agree, "%s", conf->agree ? conf->agree : "");
    gethostname(h->host, sizeof h->host - 1);
}

/* Why a rank that knows the token is rejected; "" if it is not. */
static void judge_rank(const struct coll *c, const struct hello *mine,
                       const struct hello *h, char reason[REASON_BYTES])
{
    memset(reason, 0, REASON_BYTES);
    if (h->size != mine->size)
        snprintf(reason, REASON_BYTES, "the job has %u ranks, not %u",
                 mine->size, h->size);
    else if (h->rank == 0 || h->rank >= h->size)
        snprintf(reason, REASON_BYTES, "there is no rank %u", h->rank);
    else if (c->peer[h->rank][0])
        snprintf(reason, REASON_BYTES, "%s has already joined",
                 c->peer[h->rank]);
    else if (memcmp(h->agree, mine->agree, sizeof h->agree) != 0)
        snprintf(reason, REASON_BYTES,
                 "rank %u has a different configuration than rank 0", h->rank);
}

static void admit_rank(struct coll *c, struct rank_address *address,
                       const struct hello *h, int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;

    *address = (struct rank_address){ .port = h->port, .pid = h->pid };
    snprintf(address->host, sizeof address->host, "%.63s", h->host);
    if (fd >= 0 && getpeername(fd, (struct sockaddr *)&a, &n) == 0)
        getnameinfo((struct sockaddr *)&a, n, address->addr,
                    sizeof address->addr, NULL, 0, NI_NUMERICHOST);
    snprintf(c->peer[h->rank], sizeof c->peer[0],
             "rank %u (host %.40s, pid %u)", h->rank, address->host,
             address->pid);
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

/* The socket of a rank of this job that has connected, and its hello; -1 if
 * something else has. */
static int accept_rank(int listener, const struct hello *mine, struct hello *h)
{
    const int fd = accept(listener, NULL, NULL);

    if (fd < 0)
        return -1;
    set_socket_options(fd);
    if (rendezvous_move(fd, h, sizeof *h, false, clock_mono() + HELLO_SECS) ==
            0 &&
        h->magic == MAGIC &&
        memcmp(h->token, mine->token, sizeof h->token) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Rank 0: wait until every rank has joined. */
static int receive_all(struct coll *c, int listener, const struct hello *mine,
                       struct rank_address *address, int *fd_of, double until,
                       struct err *e)
{
    char reason[REASON_BYTES] = "";
    int joined = 1;

    admit_rank(c, &address[0], mine, -1);
    while (joined < c->size) {
        struct hello h;
        int fd;

        if (wait_for(listener, POLLIN, until) < 0)
            return check_joined(c, joined, e);
        fd = accept_rank(listener, mine, &h);
        if (fd < 0)
            continue;
        judge_rank(c, mine, &h, reason);
        if (reason[0]) {
            log_warn("rejected a rank: %s", reason);
            rendezvous_move(fd, reason, sizeof reason, true,
                            clock_mono() + HELLO_SECS);
            close(fd);
            continue;
        }
        admit_rank(c, &address[h.rank], &h, fd);
        fd_of[h.rank] = fd;
        joined++;
    }
    memset(reason, 0, sizeof reason);
    for (int r = 1; r < c->size; r++)
        if (rendezvous_move(fd_of[r], reason, sizeof reason, true, until) < 0 ||
            rendezvous_move(fd_of[r], address,
                            (size_t)c->size * sizeof *address, true, until) < 0)
            return err_set(e, ERR_RANK, "%s disconnected during startup",
                           c->peer[r]);
    return 0;
}

static int join_job(struct coll *c, const struct coll_conf *conf,
                    struct hello *mine, struct rank_address *address,
                    int *fd_of, double until, struct err *e)
{
    const struct launch *l = conf->launch;
    char reason[REASON_BYTES];

    fd_of[0] = connect_to(l->host, l->port, until, e);
    if (fd_of[0] < 0)
        return err_wrap(e, "rank 0");
    if (rendezvous_move(fd_of[0], mine, sizeof *mine, true, until) < 0 ||
        rendezvous_move(fd_of[0], reason, sizeof reason, false, until) < 0)
        snprintf(reason, sizeof reason, "%s", strerror(errno));
    reason[sizeof reason - 1] = '\0';
    if (reason[0])
        return err_set(e, ERR_RANK, "rank 0 (%s:%d) rejected rank %d: %s",
                       l->host, l->port, c->rank, reason);
    if (rendezvous_move(fd_of[0], address, (size_t)c->size * sizeof *address,
                        false, until) < 0)
        return err_set(e, ERR_RANK, "rank 0 disconnected during startup");
    for (int r = 0; r < c->size; r++)
        snprintf(c->peer[r], sizeof c->peer[0], "rank %d (host %.40s, pid %u)",
                 r, address[r].host, address[r].pid);
    return 0;
}

/* Connect to the lower ranks except 0, then accept the higher ones. */
static int meet_others(struct coll *c, int listener, struct hello *mine,
                       const struct rank_address *address, int *fd_of,
                       double until, struct err *e)
{
    int missing = c->size - 1 - c->rank;

    for (int r = 1; r < c->rank; r++) {
        fd_of[r] = connect_to(address[r].addr, (int)address[r].port, until, e);
        if (fd_of[r] < 0)
            return err_wrap(e, "%s", c->peer[r]);
        if (rendezvous_move(fd_of[r], mine, sizeof *mine, true, until) < 0)
            return err_set(e, ERR_RANK, "%s disconnected during startup",
                           c->peer[r]);
    }
    while (c->rank > 0 && missing > 0) {
        struct hello h;
        int fd;

        if (wait_for(listener, POLLIN, until) < 0)
            return err_set(e, ERR_RANK,
                           "%d ranks did not connect to rank %d within %.0f s",
                           missing, c->rank, c->timeout);
        fd = accept_rank(listener, mine, &h);
        if (fd < 0)
            continue;
        if (h.rank <= (uint32_t)c->rank || h.rank >= (uint32_t)c->size ||
            fd_of[h.rank] >= 0) {
            close(fd);
            continue;
        }
        fd_of[h.rank] = fd;
        missing--;
    }
    return 0;
}

int rendezvous(struct coll *c, const struct coll_conf *conf, int *fd_of,
               struct err *e)
{
    const struct launch *l = conf->launch;
    const double until = clock_mono() + c->timeout;
    struct rank_address *address = xcalloc((size_t)c->size, sizeof *address);
    struct hello mine;
    int listener, ret = -1;

    for (int r = 0; r < c->size; r++)
        fd_of[r] = -1;
    listener = c->rank == 0 && l->listener >= 0
                   ? l->listener
                   : listen_on(c->rank == 0 ? l->port : 0, e);
    if (listener >= 0) {
        own_hello(c, conf, listener, &mine);
        ret = c->rank == 0
                  ? receive_all(c, listener, &mine, address, fd_of, until, e)
                  : join_job(c, conf, &mine, address, fd_of, until, e);
        if (ret == 0)
            ret = meet_others(c, listener, &mine, address, fd_of, until, e);
        close(listener);
    }
    free(address);
    return ret;
}
