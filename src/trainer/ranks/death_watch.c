#include "config.h"
#include "trainer/ranks/death_watch.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

/* Ranks send nothing but notices: the reason why the job has to end, or "". */
enum { NOTICE_BYTES = 320, CONNECT_SECS = 1, ADMIT_SECS = 5 };

static const uint32_t WELCOME = HELLO_MAGIC;

/* ---- the beginning ---------------------------------------------------- */

static struct pollfd *make_links(int size)
{
    struct pollfd *link = xcalloc((size_t)size, sizeof *link);

    for (int r = 0; r < size; r++)
        link[r] = (struct pollfd){ .fd = -1, .events = POLLIN };
    return link;
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
    if (w->listener < 0 || hello_make_token(at->token, e) < 0)
        return -1;
    memcpy(w->token, at->token, sizeof w->token);
    at->port = peer_socket_port(w->listener);
    list_addresses(at);
    return 0;
}

bool death_watch_connect(struct death_watch *w, const struct coll *c,
                         const struct death_watch_place *at)
{
    struct hello mine = { .magic = HELLO_MAGIC,
                          .rank = (uint32_t)c->rank,
                          .size = (uint32_t)c->size };
    struct err ignored = ERR_INIT;
    int fd = -1;

    w->link = make_links(c->size);
    for (uint32_t i = 0; i < at->n && fd < 0; i++)
        fd = peer_socket_connect(at->address[i], (int)at->port,
                                 clock_mono() + CONNECT_SECS, &ignored);
    w->link[0].fd = fd;
    memcpy(mine.token, at->token, sizeof mine.token);
    return fd >= 0 && peer_socket_move(fd, &mine, sizeof mine, true,
                                       clock_mono() + CONNECT_SECS) == 0;
}

/* What is not a rank that still waits for a welcome is closed. */
static bool admit_rank(struct death_watch *w, const struct coll *c, int fd,
                       const struct hello *h)
{
    uint32_t welcome = WELCOME;

    if (h->size != (uint32_t)c->size || h->rank == 0 || h->rank >= h->size ||
        w->link[h->rank].fd >= 0 ||
        peer_socket_move(fd, &welcome, sizeof welcome, true,
                         clock_mono() + CONNECT_SECS) < 0) {
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

    w->link = make_links(c->size);
    peer_socket_allow(c->size);
    while (admitted < connected && (fd = hello_next(&reader, until, &h)) >= 0)
        admitted += admit_rank(w, c, fd, &h);
    hello_close(&reader);
    if (w->listener >= 0)
        close(w->listener);
    return admitted;
}

void death_watch_confirm(struct death_watch *w)
{
    struct pollfd *zero = &w->link[0];
    uint32_t welcome = 0;

    if (zero->fd < 0 ||
        (peer_socket_move(zero->fd, &welcome, sizeof welcome, false,
                          clock_mono() + ADMIT_SECS) == 0 &&
         welcome == WELCOME))
        return;
    close(zero->fd);
    zero->fd = -1;
}

/* ---- afterwards ------------------------------------------------------- */

static void send_notice(struct death_watch *w, const struct coll *c,
                        const char *why)
{
    char notice[NOTICE_BYTES] = "";

    snprintf(notice, sizeof notice, "%s", why);
    for (int r = 0; r < c->size; r++)
        if (w->link[r].fd >= 0)
            peer_socket_move(w->link[r].fd, notice, sizeof notice, true,
                             clock_mono());
}

static void close_links(struct death_watch *w, const struct coll *c)
{
    for (int r = 0; r < c->size; r++)
        if (w->link[r].fd >= 0)
            close(w->link[r].fd);
    free(w->link);
    w->link = NULL;
}

/* A rank sent something, or closed its end: 0 if it is done. */
static int receive_notice(struct death_watch *w, const struct coll *c, int r,
                          struct err *e)
{
    char notice[NOTICE_BYTES];
    const bool died = peer_socket_move(w->link[r].fd, notice, sizeof notice,
                                       false, clock_mono() + CONNECT_SECS) < 0;

    notice[sizeof notice - 1] = '\0';
    close(w->link[r].fd);
    w->link[r].fd = -1;
    if (died)
        return err_set(e, ERR_RANK, "%s died", c->peer[r]);
    return notice[0] ? err_set(e, ERR_RANK, "%s", notice) : 0;
}

int death_watch_check(struct death_watch *w, const struct coll *c,
                      struct err *e)
{
    if (poll(w->link, (nfds_t)c->size, 0) <= 0)
        return 0;
    for (int r = 0; r < c->size; r++)
        if (w->link[r].revents && receive_notice(w, c, r, e) < 0) {
            death_watch_close(w, c, e->text);
            return -1;
        }
    return 0;
}

void death_watch_close(struct death_watch *w, const struct coll *c,
                       const char *why)
{
    if (!w->link)
        return;
    send_notice(w, c, why);
    close_links(w, c);
}
