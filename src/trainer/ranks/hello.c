#include "config.h"
#include "trainer/ranks/hello.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "trainer/ranks/peer_socket.h"

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
