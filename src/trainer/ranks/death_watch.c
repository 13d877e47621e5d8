#include "config.h"
#include "trainer/ranks/death_watch.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

/* The only message: the rank that the sender waits for or, if there is none,
 * the reason why the job has to end, or "" if the sender is done. */
struct notice {
    int32_t waits_for;
    char why[316];
};

enum { CONNECT_SECS = 1, ADMIT_SECS = 5 };

/* ---- the beginning ---------------------------------------------------- */

static void make_links(struct death_watch *w, int size)
{
    w->link = xcalloc((size_t)size, sizeof *w->link);
    w->waits_for = xcalloc((size_t)size, sizeof *w->waits_for);
    for (int r = 0; r < size; r++) {
        w->link[r] = (struct pollfd){ .fd = -1, .events = POLLIN };
        w->waits_for[r] = WAITS_FOR_NONE;
    }
}

/* A numeric address that other machines may reach; link-local ones need the
 * name of an interface there. */
static bool read_address(const struct ifaddrs *a, bool loopback,
                         char out[PEER_SOCKET_ADDRESS])
{
    const int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
    const socklen_t n = family == AF_INET ? sizeof(struct sockaddr_in)
                                          : sizeof(struct sockaddr_in6);

    return (family == AF_INET || family == AF_INET6) &&
           (a->ifa_flags & IFF_UP) &&
           ((a->ifa_flags & IFF_LOOPBACK) != 0) == loopback &&
           getnameinfo(a->ifa_addr, n, out, PEER_SOCKET_ADDRESS, NULL, 0,
                       NI_NUMERICHOST) == 0 &&
           !strchr(out, '%');
}

static void list_addresses(struct death_watch_place *at)
{
    const uint32_t most = sizeof at->address / sizeof at->address[0];
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) < 0)
        return;
    for (int loopback = 0; loopback < 2; loopback++)
        for (const struct ifaddrs *a = all; a && at->n < most; a = a->ifa_next)
            at->n += read_address(a, loopback, at->address[at->n]);
    freeifaddrs(all);
}

int death_watch_listen(struct death_watch *w, struct death_watch_place *at,
                       struct err *e)
{
    *at = (struct death_watch_place){ 0 };
    w->listener = peer_socket_listen(NULL, 0, e);
    if (w->listener < 0 || random_secret(at->token, e) < 0)
        return -1;
    memcpy(w->token, at->token, sizeof w->token);
    at->port = peer_socket_port(w->listener);
    list_addresses(at);
    return 0;
}

bool death_watch_connect(struct death_watch *w, const struct coll *c,
                         const struct death_watch_place *at)
{
    int fd = -1;

    make_links(w, c->size);
    for (uint32_t i = 0; i < at->n && fd < 0; i++)
        fd = peer_socket_connect(at->address[i], (int)at->port,
                                 clock_mono() + CONNECT_SECS, ERR_IGNORED);
    w->link[0].fd = fd;
    memcpy(w->token, at->token, sizeof w->token);
    return fd >= 0;
}

/* Close the connection unless it is from a rank that is still missing. */
static bool admit_rank(struct death_watch *w, const struct coll *c, int fd,
                       const struct hello *h)
{
    if (h->size != (uint32_t)c->size || h->rank == 0 || h->rank >= h->size ||
        w->link[h->rank].fd >= 0) {
        close(fd);
        return false;
    }
    w->link[h->rank].fd = fd;
    return true;
}

int death_watch_admit(struct death_watch *w, const struct coll *c,
                      int connected)
{
    const double until = clock_mono() + ADMIT_SECS;
    struct hello_reader reader = { .listener = w->listener,
                                   .token = w->token,
                                   .ranks = connected };
    struct hello h;
    int admitted = 0, fd;

    make_links(w, c->size);
    peer_socket_allow(c->size);
    while (admitted < connected && (fd = hello_next(&reader, until, &h)) >= 0)
        admitted += admit_rank(w, c, fd, &h);
    hello_close(&reader);
    if (w->listener >= 0)
        close(w->listener);
    return admitted;
}

void death_watch_confirm(struct death_watch *w, const struct coll *c)
{
    const struct hello mine = { .rank = (uint32_t)c->rank,
                                .size = (uint32_t)c->size };
    struct pollfd *zero = &w->link[0];
    char session[RANDOM_SECRET];

    if (zero->fd < 0 || hello_say(zero->fd, w->token, &mine, session,
                                  clock_mono() + ADMIT_SECS) == 0)
        return;
    close(zero->fd);
    zero->fd = -1;
}

/* ---- afterwards ------------------------------------------------------- */

static void send_notice(struct death_watch *w, const struct coll *c,
                        int waits_for, const char *why)
{
    struct notice notice = { .waits_for = waits_for };

    snprintf(notice.why, sizeof notice.why, "%s", why);
    for (int r = 0; r < c->size; r++)
        if (w->link[r].fd >= 0)
            peer_socket_move(w->link[r].fd, &notice, sizeof notice, true,
                             clock_mono());
}

static void note_report(struct death_watch *w, int r, int waits_for)
{
    if (w->reports++ == 0)
        w->reported_at = clock_mono();
    w->waits_for[r] = waits_for;
}

/* A rank sent something, or closed its end: -1 if the job has to end. */
static int receive_notice(struct death_watch *w, const struct coll *c, int r,
                          struct err *e)
{
    struct notice notice;
    const bool died = peer_socket_move(w->link[r].fd, &notice, sizeof notice,
                                       false, clock_mono() + CONNECT_SECS) < 0;

    if (!died && notice.waits_for >= WAITS_FOR_ALL &&
        notice.waits_for < c->size) {
        note_report(w, r, notice.waits_for);
        return 0;
    }
    close(w->link[r].fd);
    w->link[r].fd = -1;
    if (died)
        return err_set(e, ERR_RANK, "%s died", c->peer[r]);
    notice.why[sizeof notice.why - 1] = '\0';
    return notice.why[0] ? err_set(e, ERR_RANK, "%s", notice.why) : 0;
}

void death_watch_report(struct death_watch *w, const struct coll *c,
                        int waits_for)
{
    if (!w->link || w->waits_for[c->rank] != WAITS_FOR_NONE)
        return;
    note_report(w, c->rank, waits_for);
    if (c->rank > 0)
        send_notice(w, c, waits_for, "");
}

/* The first rank that has not reported, for one that waits for all. */
static int first_silent(const int *waits_for, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (waits_for[r] == WAITS_FOR_NONE)
            return r;
    return 0;
}

int death_watch_find(const int *waits_for, int ranks, int from)
{
    for (int i = 0; i < ranks && waits_for[from] != WAITS_FOR_NONE; i++)
        from = waits_for[from] == WAITS_FOR_ALL ? first_silent(waits_for, ranks)
                                                : waits_for[from];
    return from;
}

/* Name the rank that the others wait for, as soon as it is certain. */
static int judge(const struct death_watch *w, const struct coll *c,
                 struct err *e)
{
    const double since = w->reports ? clock_mono() - w->reported_at : 0;
    int silent = 0, from = 0;

    if (c->rank > 0 ? since <= c->timeout
                    : w->reports < c->size - 1 && since <= c->timeout / 2)
        return 0;
    while (c->rank == 0 && w->waits_for[from] == WAITS_FOR_NONE)
        from++;
    if (c->rank == 0)
        silent = death_watch_find(w->waits_for, c->size, from);
    return err_set(e, ERR_RANK, "%s did not respond for %.0f s",
                   c->peer[silent], c->timeout);
}

int death_watch_check(struct death_watch *w, const struct coll *c,
                      struct err *e)
{
    int ret = 0;

    if (!w->link)
        return 0;
    if (poll(w->link, (nfds_t)c->size, 0) > 0)
        for (int r = 0; r < c->size && ret == 0; r++)
            if (w->link[r].revents)
                ret = receive_notice(w, c, r, e);
    if (ret == 0 && w->reports > 0)
        ret = judge(w, c, e);
    if (ret < 0)
        death_watch_close(w, c, e->text);
    return ret;
}

void death_watch_close(struct death_watch *w, const struct coll *c,
                       const char *why)
{
    if (!w->link)
        return;
    send_notice(w, c, WAITS_FOR_NONE, why);
    for (int r = 0; r < c->size; r++)
        if (w->link[r].fd >= 0)
            close(w->link[r].fd);
    FREE(w->link, w->waits_for);
    w->link = NULL;
    w->waits_for = NULL;
}
