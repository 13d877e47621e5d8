/*
 * coll_tcp - exchanges between ranks over TCP
 *
 * After the rendezvous every rank has one socket to each rank that it is linked
 * to.  An exchange sends and receives at most one frame on each, a header and
 * the data; all sockets are served by one poll() loop, so no order of sends and
 * receives can block.  A frame of kind GOODBYE has the reason why a rank
 * leaves, or nothing when it is done; end of file without one means that the
 * rank died.  Whoever learns of a failure passes the reason on to its links, so
 * that it reaches all ranks.  A rank that waits for long reports that it is
 * alive, so that others can tell it from the rank that does not respond.
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
#include "trainer/ranks/hello.h"

enum { MAGIC = 0x47544633 };

enum frame_kind { FRAME_DATA = 1, FRAME_GOODBYE, FRAME_ALIVE };

struct frame {
    uint32_t magic, kind;
    uint64_t number; /* of data frames, in this direction of the link */
    uint64_t bytes;
};

/* A frame of data on its way, in one direction of a link. */
struct tcp_flow {
    struct frame frame;
    char *data;
    size_t bytes;     /* of the data */
    size_t done, all; /* header and data together; 0: no frame */
    uint64_t frames;  /* so far */
};

struct tcp_link {
    int rank, fd;
    struct tcp_flow out, in;
    double heard; /* when bytes moved, or the exchange began */
    bool left;    /* it said goodbye without a reason */
    bool closed;  /* by the other rank; frames may still wait */
};

struct tcp {
    struct tcp_link *link; /* in the order of the ranks */
    int n;
    struct pollfd *poll;
    bool lost; /* the others know, or cannot be reached */
};

static int tcp_open(struct coll *c, const struct coll_conf *conf, struct err *e)
{
    struct tcp *t = xcalloc(1, sizeof *t);
    AUTO_FREE int *fd_of = xcalloc((size_t)c->size, sizeof *fd_of);
    size_t n = 0;
    int ret;

    c->state = t;
    c->peer = xcalloc((size_t)c->size, sizeof *c->peer);
    ret = rendezvous(c, conf, fd_of, e);
    for (int r = 0; r < c->size; r++)
        n += fd_of[r] >= 0;
    t->link = xcalloc(n + 1, sizeof *t->link);
    t->poll = xcalloc(n + 1, sizeof *t->poll);
    for (int r = 0; r < c->size; r++)
        if (fd_of[r] >= 0)
            t->link[t->n++] = (struct tcp_link){ .rank = r, .fd = fd_of[r] };
    t->lost = ret < 0;
    if (ret < 0)
        c->type->close(c);
    return ret;
}

static int rank_lost(struct coll *c, const struct tcp_link *l, const char *how,
                     struct err *e)
{
    return err_set(e, ERR_RANK, "%s %s", c->peer[l->rank], how);
}

/* Is the next byte that this rank sends the first one of a frame? */
static bool is_between_frames(const struct tcp_link *l)
{
    return l->out.done == 0 || l->out.done == l->out.all;
}

/* ---- goodbyes --------------------------------------------------------- */

/* Send the others the reason, if their sockets accept it at once. */
static void send_goodbye(struct coll *c, const char *why)
{
    struct tcp *t = c->state;

    if (t->lost)
        return;
    t->lost = true;
    for (int i = 0; i < t->n; i++) {
        struct tcp_link *l = &t->link[i];
        struct frame f = { .magic = MAGIC,
                           .kind = FRAME_GOODBYE,
                           .bytes = strlen(why) };

        if (l->fd < 0 || !is_between_frames(l))
            continue;
        if (send(l->fd, &f, sizeof f, MSG_NOSIGNAL | (*why ? MSG_MORE : 0)) ==
            (ssize_t)sizeof f)
            send(l->fd, why, strlen(why), MSG_NOSIGNAL);
        shutdown(l->fd, SHUT_WR); /* wakes a rank that waits for another one */
    }
}

/* Read the reason of a goodbye as far as it has arrived, and pass it on.  A
 * rank that is done gives no reason; it has left too early. */
static int receive_goodbye(struct coll *c, const struct tcp_link *l,
                           struct err *e)
{
    char text[sizeof e->text] = "";
    const size_t n = l->in.frame.bytes < sizeof text - 1 ? l->in.frame.bytes
                                                         : sizeof text - 1;

    peer_socket_move(l->fd, text, n, false, clock_mono() + 1);
    if (!text[0])
        return rank_lost(c, l, "exited before the others", e);
    err_set(e, ERR_RANK, "%s", text);
    send_goodbye(c, e->text);
    return -1;
}

/* Between exchanges only the next frame may arrive: look for a goodbye and for
 * the end of file without reading a frame of data. */
static int watch_link(struct coll *c, struct tcp_link *l, struct err *e)
{
    struct frame f = { 0 };
    ssize_t n;

    while ((n = recv(l->fd, &f, sizeof f, MSG_PEEK | MSG_DONTWAIT)) ==
               (ssize_t)sizeof f &&
           f.magic == MAGIC && f.kind == FRAME_ALIVE)
        recv(l->fd, &f, sizeof f, 0);
    if (n == (ssize_t)sizeof f && f.magic == MAGIC && f.kind == FRAME_GOODBYE) {
        recv(l->fd, &l->in.frame, sizeof f, 0);
        if (f.bytes)
            return receive_goodbye(c, l, e);
        close(l->fd);
        l->fd = -1;
        l->left = true;
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        return rank_lost(c, l, "died", e);
    }
    return 0;
}

static int tcp_watch(struct coll *c, struct err *e)
{
    struct tcp *t = c->state;

    for (int i = 0; i < t->n; i++)
        if (t->link[i].fd >= 0 && watch_link(c, &t->link[i], e) < 0) {
            send_goodbye(c, e->text);
            return -1;
        }
    return 0;
}

/* ---- an exchange ------------------------------------------------------ */

static ssize_t move_some(struct tcp_link *l, bool out)
{
    struct tcp_flow *f = out ? &l->out : &l->in;
    const size_t header = sizeof f->frame;
    const bool begins = f->done < header;
    char *at =
        begins ? (char *)&f->frame + f->done : f->data + (f->done - header);
    const size_t n = (begins ? header : f->all) - f->done;

    return out ? send(l->fd, at, n, MSG_NOSIGNAL | (begins ? MSG_MORE : 0))
               : recv(l->fd, at, n, 0);
}

static int check_header(struct coll *c, struct tcp_link *l, struct err *e)
{
    const struct frame *f = &l->in.frame;

    if (f->magic == MAGIC && f->kind == FRAME_GOODBYE)
        return receive_goodbye(c, l, e);
    if (f->magic == MAGIC && f->kind == FRAME_ALIVE) {
        l->in.done = 0;
        return 0;
    }
    if (f->magic != MAGIC || f->number != l->in.frames ||
        f->bytes != l->in.bytes)
        return err_set(e, ERR_RANK,
                       "%s sent message %llu of %llu bytes, but rank %d "
                       "expects %llu of %zu",
                       c->peer[l->rank], (unsigned long long)f->number,
                       (unsigned long long)f->bytes, c->rank,
                       (unsigned long long)l->in.frames, l->in.bytes);
    return 0;
}

/* Send or receive what is possible now. */
static int move_all(struct coll *c, struct tcp_link *l, bool out, struct err *e)
{
    struct tcp_flow *f = out ? &l->out : &l->in;

    while (f->done < f->all) {
        const ssize_t n = move_some(l, out);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0)
            return rank_lost(c, l, "died", e);
        l->heard = clock_mono();
        f->done += (size_t)n;
        if (!out && f->done == sizeof f->frame && check_header(c, l, e) < 0)
            return -1;
    }
    return 0;
}

static int serve_link(struct coll *c, struct tcp_link *l, short seen,
                      struct err *e)
{
    const short in = POLLIN | POLLHUP | POLLERR;

    if (l->in.done < l->in.all) {
        if ((seen & in) && move_all(c, l, false, e) < 0)
            return -1;
    } else if (seen & (POLLRDHUP | POLLHUP | POLLERR)) {
        l->closed = true;
        if (watch_link(c, l, e) < 0)
            return -1;
        if (l->left && l->out.done < l->out.all)
            return rank_lost(c, l, "exited before the others", e);
    }
    return (seen & POLLOUT) ? move_all(c, l, true, e) : 0;
}

static bool is_finished(const struct tcp_link *l)
{
    return l->out.done == l->out.all && l->in.done == l->in.all;
}

/* The events to wait for on a link.  If its frames are finished, the other rank
 * may close it, which it does when it leaves. */
static struct pollfd events_of(const struct tcp_link *l)
{
    struct pollfd p = { .fd = l->fd };

    if (l->in.done < l->in.all)
        p.events |= POLLIN;
    else if (!l->closed)
        p.events |= POLLRDHUP;
    else if (is_finished(l))
        p.fd = -1;
    if (l->out.done < l->out.all)
        p.events |= POLLOUT;
    return p;
}

/* The links that are not finished; -1 if one has been silent for too long. */
static int count_unfinished(const struct coll *c, double now, struct err *e)
{
    const struct tcp *t = c->state;
    int n = 0;

    for (int i = 0; i < t->n; i++) {
        const struct tcp_link *l = &t->link[i];

        if (is_finished(l))
            continue;
        if (now - l->heard > c->timeout)
            return err_set(e, ERR_RANK, "%s did not respond for %.0f s",
                           c->peer[l->rank], c->timeout);
        n++;
    }
    return n;
}

/* Tell the ranks that may be waiting for this one that it is waiting, too.  A
 * socket accepts a header whole or not at all. */
static void send_alive(const struct tcp *t)
{
    const struct frame f = { .magic = MAGIC, .kind = FRAME_ALIVE };

    for (int i = 0; i < t->n; i++)
        if (t->link[i].fd >= 0 && is_between_frames(&t->link[i]))
            send(t->link[i].fd, &f, sizeof f, MSG_NOSIGNAL);
}

static int serve_all(struct coll *c, struct err *e)
{
    struct tcp *t = c->state;
    double alive = clock_mono();

    for (;;) {
        const double now = clock_mono();
        const int busy = count_unfinished(c, now, e);

        if (busy <= 0)
            return busy;
        if (now - alive > c->timeout / 4) {
            send_alive(t);
            alive = now;
        }
        for (int i = 0; i < t->n; i++)
            t->poll[i] = events_of(&t->link[i]);
        if (poll(t->poll, (nfds_t)t->n, 200) < 0 && errno != EINTR)
            return err_sys(e, "cannot wait for the other ranks");
        for (int i = 0; i < t->n; i++)
            if (t->poll[i].fd >= 0 && t->poll[i].revents &&
                serve_link(c, &t->link[i], t->poll[i].revents, e) < 0)
                return -1;
    }
}

static struct tcp_link *link_to(const struct tcp *t, int rank)
{
    for (int i = 0; i < t->n; i++)
        if (t->link[i].rank == rank)
            return &t->link[i];
    abort(); /* coll_is_linked() says who can be asked */
}

/* There is no frame for no data. */
static void begin_frame(struct tcp_flow *f, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    f->data = (char *)(uintptr_t)data;
    f->bytes = bytes;
    f->all = sizeof f->frame + bytes;
    f->frame = (struct frame){ .magic = MAGIC,
                               .kind = FRAME_DATA,
                               .number = ++f->frames,
                               .bytes = bytes };
}

/* Add a part to the frames of its link. */
static int begin_part(struct coll *c, const struct coll_part *p, struct err *e)
{
    struct tcp_link *l = link_to(c->state, p->rank);

    if (l->left)
        return rank_lost(c, l, "exited before the others", e);
    begin_frame(&l->out, p->send, p->send_bytes);
    begin_frame(&l->in, p->recv, p->recv_bytes);
    c->sent += p->send_bytes;
    c->messages += p->send_bytes > 0;
    c->received += p->recv_bytes;
    return 0;
}

static int tcp_exchange(struct coll *c, const struct coll_part *part, int n,
                        struct err *e)
{
    struct tcp *t = c->state;
    const double now = clock_mono();
    int ret = 0;

    for (int i = 0; i < t->n; i++) {
        struct tcp_link *l = &t->link[i];

        l->out.done = l->out.all = l->in.done = l->in.all = 0;
        l->heard = now;
    }
    for (int i = 0; i < n && ret == 0; i++)
        if (part[i].rank != c->rank &&
            (part[i].send_bytes || part[i].recv_bytes))
            ret = begin_part(c, &part[i], e);
    if (ret == 0)
        ret = serve_all(c, e);
    if (ret < 0)
        send_goodbye(c, e->text);
    return ret;
}

static void tcp_close(struct coll *c)
{
    struct tcp *t = c->state;

    if (!t)
        return;
    send_goodbye(c, "");
    for (int i = 0; i < t->n; i++)
        if (t->link[i].fd >= 0)
            close(t->link[i].fd);
    FREE(t->link, t->poll, t);
    c->state = NULL;
}

const struct coll_type coll_tcp = {
    .name = "tcp",
    .open = tcp_open,
    .close = tcp_close,
    .exchange = tcp_exchange,
    .watch = tcp_watch,
};
