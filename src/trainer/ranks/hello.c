#include "config.h"
#include "trainer/ranks/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

void hello_derive_token(char token[HELLO_TOKEN], const char *session)
{
    unsigned char mac[SHA256_BYTES];

    sha256_hmac(token, strlen(token), session, strlen(session), mac);
    for (size_t i = 0; i < sizeof mac; i++)
        snprintf(token + 2 * i, 3, "%02x", mac[i]);
}

/* ---- what proves that the token is known ------------------------------ */

static int make_nonce(unsigned char out[HELLO_NONCE])
{
    return getrandom(out, HELLO_NONCE, 0) == HELLO_NONCE ? 0 : -1;
}

/* What each end appends to its answer.  It stands at the offset `own` of all
 * that was said, and counts as zeros there, as does what has not been said yet.
 */
static void make_mac(const struct hello_talk *t, size_t own, const char *token,
                     unsigned char mac[SHA256_BYTES])
{
    struct hello_talk part = *t;

    memset((char *)&part + own, 0, SHA256_BYTES);
    sha256_hmac(token, strlen(token), &part, sizeof part, mac);
}

enum {
    OF_HELLO = offsetof(struct hello_talk, hello.mac),
    OF_ANSWER = offsetof(struct hello_talk, answer.mac)
};

/* Compare in a time that does not depend on how many bytes match. */
static bool is_mac(const unsigned char *a, const unsigned char *b)
{
    unsigned char differ = 0;

    for (size_t i = 0; i < SHA256_BYTES; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

/* ---- who connects ----------------------------------------------------- */

int hello_say(int fd, const char *token, const struct hello *mine,
              char session[RANDOM_SECRET], double until)
{
    struct hello_talk t = { .hello = *mine };
    unsigned char mac[SHA256_BYTES];

    t.hello.magic = HELLO_MAGIC;
    if (make_nonce(t.hello.nonce) < 0 ||
        peer_socket_move(fd, &t.challenge, sizeof t.challenge, false, until) <
            0)
        return -1;
    if (t.challenge.magic != HELLO_MAGIC) {
        errno = EPROTO;
        return -1;
    }
    make_mac(&t, OF_HELLO, token, t.hello.mac);
    if (peer_socket_move(fd, &t.hello, sizeof t.hello, true, until) < 0 ||
        peer_socket_move(fd, &t.answer, sizeof t.answer, false, until) < 0)
        return -1;
    make_mac(&t, OF_ANSWER, token, mac);
    if (t.answer.magic == HELLO_MAGIC && is_mac(mac, t.answer.mac)) {
        snprintf(session, RANDOM_SECRET, "%.*s", RANDOM_SECRET - 1,
                 t.answer.session);
        return 0;
    }
    errno = t.answer.magic == 0 ? EACCES : EPROTO;
    return -1;
}

/* ---- who listens ------------------------------------------------------ */

/* How many connections may wait. */
static int room_of(const struct hello_reader *r)
{
    return r->ranks + HELLO_WAITING;
}

static void remove_waiting(struct hello_reader *r, int i)
{
    struct hello_waiting *at = &r->waiting[i];

    r->n--;
    memmove(at, at + 1, (size_t)(r->n - i) * sizeof *at);
}

static void drop_waiting(struct hello_reader *r, int i)
{
    close(r->waiting[i].fd);
    remove_waiting(r, i);
}

/* Add a connection, and challenge it: its buffer is empty and has room. */
static void add_waiting(struct hello_reader *r, int fd)
{
    struct hello_waiting w = { .fd = fd, .until = clock_mono() + HELLO_SECS };
    struct hello_challenge *c = &w.talk.challenge;

    c->magic = HELLO_MAGIC;
    if (make_nonce(c->nonce) < 0 ||
        send(fd, c, sizeof *c, MSG_NOSIGNAL) != (ssize_t)sizeof *c) {
        close(fd);
        return;
    }
    if (r->n == room_of(r))
        drop_waiting(r, 0);
    r->waiting[r->n++] = w;
}

/* Accept some that have connected, before those that wait are read again.  If
 * there are too many, the oldest is closed: a rank answers at once, and tries
 * again if that was too late. */
static void accept_some(struct hello_reader *r)
{
    for (int i = 0; i < HELLO_WAITING / 4; i++) {
        const int fd = peer_socket_accept(r->listener);

        if (fd >= 0)
            add_waiting(r, fd);
        else if ((errno == EMFILE || errno == ENFILE) && r->n > 0)
            drop_waiting(r, 0);
        else
            return;
    }
}

/* Answer the hello of a connection: is it from a rank that has the token? */
static bool answer_hello(const struct hello_reader *r, struct hello_waiting *w)
{
    struct hello_talk *t = &w->talk;
    unsigned char mac[SHA256_BYTES];
    bool known;

    make_mac(t, OF_HELLO, r->token, mac);
    known = is_mac(mac, t->hello.mac);
    if (known) {
        t->answer.magic = HELLO_MAGIC;
        if (r->session)
            snprintf(t->answer.session, sizeof t->answer.session, "%s",
                     r->session);
        make_mac(t, OF_ANSWER, r->token, t->answer.mac);
    }
    return send(w->fd, &t->answer, sizeof t->answer, MSG_NOSIGNAL) ==
               (ssize_t)sizeof t->answer &&
           known;
}

/* Read what has come from connection i: 1 if it is a rank, 0 if not yet, -1 if
 * it never will be. */
static int read_some(struct hello_reader *r, int i)
{
    struct hello_waiting *w = &r->waiting[i];
    struct hello *h = &w->talk.hello;

    while (w->got < sizeof *h) {
        const ssize_t n =
            recv(w->fd, (char *)h + w->got, sizeof *h - w->got, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return clock_mono() > w->until ? -1 : 0;
        if (n <= 0)
            return -1;
        w->got += (size_t)n;
        if (w->got >= sizeof h->magic && h->magic != HELLO_MAGIC)
            return -1;
    }
    return answer_hello(r, w) ? 1 : -1;
}

/* Wait for a connection, or for data on one, or until one has waited too
 * long. */
static int wait_for_any(const struct hello_reader *r, double until)
{
    struct pollfd *p = r->poll;
    const double now = clock_mono();

    if (now > until) {
        errno = ETIMEDOUT;
        return -1;
    }
    p[0] = (struct pollfd){ .fd = r->listener, .events = POLLIN };
    for (int i = 0; i < r->n; i++) {
        p[1 + i] = (struct pollfd){ .fd = r->waiting[i].fd, .events = POLLIN };
        until = fmin(until, r->waiting[i].until);
    }
    if (poll(p, 1 + (nfds_t)r->n, (int)(fmax(0, until - now) * 1000) + 1) < 0 &&
        errno != EINTR)
        return -1;
    return 0;
}

int hello_next(struct hello_reader *r, double until, struct hello *out)
{
    if (!r->waiting) {
        r->waiting = xcalloc((size_t)room_of(r), sizeof *r->waiting);
        r->poll = xcalloc((size_t)room_of(r) + 1, sizeof *r->poll);
    }
    for (;;) {
        accept_some(r);
        for (int i = r->n - 1; i >= 0; i--) {
            const int ret = read_some(r, i);

            if (ret < 0)
                drop_waiting(r, i);
            if (ret > 0) {
                const int fd = r->waiting[i].fd;

                *out = r->waiting[i].talk.hello;
                remove_waiting(r, i);
                return fd;
            }
        }
        if (wait_for_any(r, until) < 0)
            return -1;
    }
}

void hello_close(struct hello_reader *r)
{
    while (r->n > 0)
        drop_waiting(r, r->n - 1);
    FREE(r->waiting, r->poll);
    r->waiting = NULL;
    r->poll = NULL;
}

enum {
    CONNECT_PAUSE_MS = 50,
    OTHER_FILES = 768 /* strangers that connect, and files of the program */
};

void peer_socket_allow(int size)
{
    const rlim_t need = (rlim_t)size + OTHER_FILES;
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= need)
        return;
    l.rlim_cur = l.rlim_max < need ? l.rlim_max : need;
    setrlimit(RLIMIT_NOFILE, &l);
}

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

int peer_socket_move(int fd, void *data, size_t n, bool out, double until)
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

static void set_options(int fd)
{
    const int one = 1;

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

/* ---- addresses -------------------------------------------------------- */

typedef int name_fn(int, struct sockaddr *, socklen_t *);

static void describe_end(int fd, name_fn *name, char *host, size_t host_room,
                         char *port, size_t port_room)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;

    if (name(fd, (struct sockaddr *)&a, &n) < 0 ||
        getnameinfo((struct sockaddr *)&a, n, host, (socklen_t)host_room, port,
                    (socklen_t)port_room, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        (host ? host : port)[0] = '\0';
}

uint32_t peer_socket_port(int fd)
{
    char port[16];

    describe_end(fd, getsockname, NULL, 0, port, sizeof port);
    return (uint32_t)strtoul(port, NULL, 10);
}

void peer_socket_peer(int fd, char out[PEER_SOCKET_ADDRESS])
{
    describe_end(fd, getpeername, out, PEER_SOCKET_ADDRESS, NULL, 0);
}

void peer_socket_own(int fd, char out[PEER_SOCKET_ADDRESS])
{
    describe_end(fd, getsockname, out, PEER_SOCKET_ADDRESS, NULL, 0);
}

/* All addresses of a host or, without one, of all interfaces; NULL, with *why
 * set, if there is none. */
static struct addrinfo *find_addresses(const char *host, int port,
                                       const char **why)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                                    .ai_flags = host ? 0 : AI_PASSIVE };
    struct addrinfo *all = NULL;
    char text[16];
    int bad;

    snprintf(text, sizeof text, "%d", port);
    bad = getaddrinfo(host, text, &hints, &all);
    if (bad == 0)
        return all;
    *why = gai_strerror(bad);
    return NULL;
}

static bool address_is_loopback(const struct sockaddr *a)
{
    const struct sockaddr_in *four =
        (const struct sockaddr_in *)(const void *)a;
    const struct sockaddr_in6 *six =
        (const struct sockaddr_in6 *)(const void *)a;

    if (a->sa_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

bool peer_socket_is_loopback(const char *host)
{
    const char *why;
    struct addrinfo *all = find_addresses(host, 0, &why);
    bool loopback = all != NULL;

    for (const struct addrinfo *a = all; a; a = a->ai_next)
        loopback = loopback && address_is_loopback(a->ai_addr);
    if (all)
        freeaddrinfo(all);
    return loopback;
}

/* ---- listening and connecting ----------------------------------------- */

/* Without IPV6_V6ONLY, a socket on all interfaces accepts IPv4, too; so IPv6 is
 * tried first for all interfaces, and IPv4 first for a host that has both. */
static int listen_at(const struct addrinfo *a)
{
    const int one = 1, off = 0;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, 1024) < 0) {
        const int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

int peer_socket_listen(const char *host, int port, struct err *e)
{
    const char *why = "";
    struct addrinfo *all = find_addresses(host, port, &why);
    int fd = -1;

    for (int pass = 0; pass < 2 && fd < 0; pass++)
        for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
            if ((a->ai_family == (host ? AF_INET : AF_INET6)) == (pass == 0))
                fd = listen_at(a);
    if (fd < 0 && all)
        err_sys(e, "cannot listen on port %d of %s", port,
                host ? host : "all interfaces");
    else if (fd < 0)
        err_set(e, ERR_RANK, "cannot listen on port %d of %s: %s", port,
                host ? host : "all interfaces", why);
    if (all)
        freeaddrinfo(all);
    return fd;
}

int peer_socket_accept(int listener)
{
    const int fd = accept(listener, NULL, NULL);

    if (fd >= 0)
        set_options(fd);
    return fd;
}

/* A machine that drops packets does not answer for minutes. */
static void limit_connect(int fd, double until)
{
    const double left = fmax(until - clock_mono(), 0.1);
    const struct timeval limit = { .tv_sec = (time_t)left,
                                   .tv_usec =
                                       (suseconds_t)(fmod(left, 1) * 1e6) };

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* Try to connect once; *why is set on failure. */
static int connect_once(const char *host, int port, double until,
                        const char **why)
{
    struct addrinfo *all = find_addresses(host, port, why);
    int fd = -1;

    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        limit_connect(fd, until);
        if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
            *why = strerror(errno == EINPROGRESS ? ETIMEDOUT : errno);
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
    }
    if (all)
        freeaddrinfo(all);
    if (fd >= 0)
        set_options(fd);
    return fd;
}

int peer_socket_connect(const char *host, int port, double until, struct err *e)
{
    for (;;) {
        const char *why = "";
        const int fd = connect_once(host, port, until, &why);

        if (fd >= 0)
            return fd;
        if (clock_mono() > until)
            return err_set(e, ERR_RANK, "cannot connect to %s:%d: %s", host,
                           port, why);
        clock_pause(CONNECT_PAUSE_MS * 1e-3);
    }
}
