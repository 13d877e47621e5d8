/*
 * coll_tcp - exchanges between ranks over TCP
 *
 * After the rendezvous every rank has one socket to each other rank.  An
 * exchange sends each rank one frame, a header and the data; all sockets are
 * served by one poll() loop, so no order of sends and receives can block.  A
 * frame of kind GOODBYE has the reason why a rank leaves, or nothing when it
 * is done; end of file without one means that the rank died.
 */
#include "config.h"
#include "trainer/ranks/coll.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "trainer/ranks/peer_socket.h"
#include "trainer/ranks/rendezvous.h"

enum { MAGIC = 0x47544632 };

enum frame_kind { FRAME_DATA = 1, FRAME_GOODBYE };

struct frame {
    uint32_t magic, kind;
    uint64_t number; /* of the exchange */
    uint64_t bytes;
};

struct tcp_link {
    int fd; /* -1 for the own rank */
    struct frame out, in;
    size_t sent, got; /* of header and data together */
    bool left;        /* it said goodbye without a reason */
};

struct tcp {
    struct tcp_link *link;
    struct pollfd *poll;
    uint64_t number;
    bool lost; /* the others know, or cannot be reached */
};

static int tcp_open(struct coll *c, const struct coll_conf *conf, struct err *e)
{
    struct tcp *t = xcalloc(1, sizeof *t);
    int *fd_of = xcalloc((size_t)c->size, sizeof *fd_of);
    int ret;

    c->state = t;
    c->peer = xcalloc((size_t)c->size, sizeof *c->peer);
    t->link = xcalloc((size_t)c->size, sizeof *t->link);
    t->poll = xcalloc((size_t)c->size, sizeof *t->poll);
    ret = rendezvous(c, conf, fd_of, e);
    for (int r = 0; r < c->size; r++)
        t->link[r].fd = fd_of[r];
    free(fd_of);
    t->lost = ret < 0;
    if (ret < 0)
        c->type->close(c);
    return ret;
}

static int rank_lost(struct coll *c, int r, const char *how, struct err *e)
{
    return err_set(e, ERR_RANK, "%s %s", c->peer[r], how);
}

/* Read the reason of a goodbye as far as it has arrived.  There is none from a
 * rank that is done, which is too early here. */
static int receive_goodbye(struct coll *c, int r, struct err *e)
{
    struct tcp *t = c->state;
    char text[sizeof e->text] = "";
    const size_t n = t->link[r].in.bytes < sizeof text - 1 ? t->link[r].in.bytes
                                                           : sizeof text - 1;

    peer_socket_move(t->link[r].fd, text, n, false, clock_mono() + 1);
    if (!text[0])
        return rank_lost(c, r, "exited before the others", e);
    t->lost = true;
    return err_set(e, ERR_RANK, "%s", text);
}

/* Send the others the reason, if their sockets accept it at once. */
static void send_goodbye(struct coll *c, const char *why)
{
    struct tcp *t = c->state;

    if (t->lost)
        return;
    t->lost = true;
    for (int r = 0; r < c->size; r++) {
        struct tcp_link *l = &t->link[r];
        struct frame f = { .magic = MAGIC,
                           .kind = FRAME_GOODBYE,
                           .bytes = strlen(why) };

        /* not in the middle of a frame */
        if (l->fd < 0 || (l->sent && l->sent < sizeof f + l->out.bytes))
            continue;
        if (send(l->fd, &f, sizeof f, MSG_NOSIGNAL | (*why ? MSG_MORE : 0)) ==
            (ssize_t)sizeof f)
            send(l->fd, why, strlen(why), MSG_NOSIGNAL);
    }
}

static ssize_t send_some(struct tcp_link *l, const struct coll_part *p)
{
    const size_t header = sizeof l->out;

    if (l->sent < header)
        return send(l->fd, (const char *)&l->out + l->sent, header - l->sent,
                    MSG_NOSIGNAL | (p->send_bytes ? MSG_MORE : 0));
    return send(l->fd, (const char *)p->send + (l->sent - header),
                header + p->send_bytes - l->sent, MSG_NOSIGNAL);
}

static ssize_t receive_some(struct tcp_link *l, const struct coll_part *p)
{
    const size_t header = sizeof l->in;

    if (l->got < header)
        return recv(l->fd, (char *)&l->in + l->got, header - l->got, 0);
    return recv(l->fd, (char *)p->recv + (l->got - header),
                header + p->recv_bytes - l->got, 0);
}

static int check_header(struct coll *c, int r, const struct coll_part *p,
                        struct err *e)
{
    struct tcp *t = c->state;
    const struct frame *f = &t->link[r].in;

    if (f->magic == MAGIC && f->kind == FRAME_GOODBYE)
        return receive_goodbye(c, r, e);
    if (f->magic != MAGIC || f->number != t->number ||
        f->bytes != p->recv_bytes)
        return err_set(e, ERR_RANK,
                       "%s is at exchange %llu of %llu bytes, but rank %d "
                       "is at %llu of %zu",
                       c->peer[r], (unsigned long long)f->number,
                       (unsigned long long)f->bytes, c->rank,
                       (unsigned long long)t->number, p->recv_bytes);
    return 0;
}

/* Send and receive what is possible now; 1 if that was anything. */
static int serve_rank(struct coll *c, int r, const struct coll_part *p,
                      short seen, struct err *e)
{
    struct tcp *t = c->state;
    struct tcp_link *l = &t->link[r];
    const size_t out_all = sizeof l->out + p->send_bytes;
    const size_t in_all = sizeof l->in + p->recv_bytes;
    int moved = 0;

    while ((seen & (POLLIN | POLLHUP | POLLERR)) && l->got < in_all) {
        const ssize_t n = receive_some(l, p);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0)
            return rank_lost(c, r, "died", e);
        moved = 1;
        l->got += (size_t)n;
        if (l->got == sizeof l->in && check_header(c, r, p, e) < 0)
            return -1;
    }
    while ((seen & POLLOUT) && l->sent < out_all) {
        const ssize_t n = send_some(l, p);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n < 0)
            return rank_lost(c, r, "died", e);
        moved = 1;
        l->sent += (size_t)n;
    }
    return moved;
}

static bool is_finished(const struct tcp_link *l, const struct coll_part *p)
{
    return l->fd < 0 || (l->sent == sizeof l->out + p->send_bytes &&
                         l->got == sizeof l->in + p->recv_bytes);
}

/* The first rank that is waited for. */
static int first_missing(const struct coll *c, const struct coll_part *part)
{
    const struct tcp *t = c->state;

    for (int r = 0; r < c->size; r++)
        if (!is_finished(&t->link[r], &part[r]))
            return r;
    return c->rank;
}

static int serve_all(struct coll *c, const struct coll_part *part,
                     struct err *e)
{
    struct tcp *t = c->state;
    double heard = clock_mono();

    for (;;) {
        int busy = 0;

        for (int r = 0; r < c->size; r++) {
            const struct tcp_link *l = &t->link[r];

            t->poll[r] = (struct pollfd){ .fd = l->fd, .events = POLLIN };
            if (is_finished(l, &part[r]))
                t->poll[r].fd = -1;
            else
                busy++;
            if (l->fd >= 0 && l->sent < sizeof l->out + part[r].send_bytes)
                t->poll[r].events |= POLLOUT;
            if (l->got == sizeof l->in + part[r].recv_bytes)
                t->poll[r].events &= (short)~POLLIN;
        }
        if (busy == 0)
            return 0;
        if (poll(t->poll, (nfds_t)c->size, 200) < 0 && errno != EINTR)
            return err_sys(e, "cannot wait for the other ranks");
        for (int r = 0; r < c->size; r++) {
            int moved;

            if (t->poll[r].fd < 0 || t->poll[r].revents == 0)
                continue;
            moved = serve_rank(c, r, &part[r], t->poll[r].revents, e);
            if (moved < 0)
                return -1;
            if (moved)
                heard = clock_mono();
        }
        if (clock_mono() - heard > c->timeout)
            return err_set(e, ERR_RANK, "%s did not respond for %.0f s",
                           c->peer[first_missing(c, part)], c->timeout);
    }
}

static int tcp_exchange(struct coll *c, const struct coll_part *part,
                        struct err *e)
{
    struct tcp *t = c->state;

    t->number++;
    for (int r = 0; r < c->size; r++) {
        struct tcp_link *l = &t->link[r];

        l->sent = l->got = 0;
        l->out = (struct frame){ .magic = MAGIC,
                                 .kind = FRAME_DATA,
                                 .number = t->number,
                                 .bytes = part[r].send_bytes };
        if (l->left)
            return rank_lost(c, r, "exited before the others", e);
        if (l->fd >= 0) {
            c->sent += part[r].send_bytes;
            c->received += part[r].recv_bytes;
        }
    }
    if (serve_all(c, part, e) < 0) {
        send_goodbye(c, e->text);
        return -1;
    }
    return 0;
}

/* Between exchanges only the next frame may arrive: look for the end of file
 * without reading the frame. */
static int tcp_watch(struct coll *c, struct err *e)
{
    struct tcp *t = c->state;

    for (int r = 0; r < c->size; r++) {
        struct frame f;
        ssize_t n;

        if (t->link[r].fd < 0)
            continue;
        n = recv(t->link[r].fd, &f, sizeof f, MSG_PEEK | MSG_DONTWAIT);
        if (n == (ssize_t)sizeof f && f.magic == MAGIC &&
            f.kind == FRAME_GOODBYE) {
            recv(t->link[r].fd, &t->link[r].in, sizeof f, 0);
            if (f.bytes)
                return receive_goodbye(c, r, e);
            close(t->link[r].fd);
            t->link[r].fd = -1;
            t->link[r].left = true;
        } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            rank_lost(c, r, "died", e);
            send_goodbye(c, e->text);
            return -1;
        }
    }
    return 0;
}

static void tcp_close(struct coll *c)
{
    struct tcp *t = c->state;

    if (!t)
        return;
    send_goodbye(c, "");
    for (int r = 0; r < c->size; r++)
        if (t->link[r].fd >= 0)
            close(t->link[r].fd);
    free(t->link);
    free(t->poll);
    free(t);
    c->state = NULL;
}

const struct coll_type coll_tcp = {
    .name = "tcp",
    .open = tcp_open,
    .close = tcp_close,
    .exchange = tcp_exchange,
    .watch = tcp_watch,
};
