#include "config.h"
#include "trainer/ranks/hello.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "trainer/ranks/peer_socket.h"

int hello_make_token(char out[HELLO_TOKEN], struct err *e)
{
    uint64_t bits[2];

    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return err_sys(e, "cannot get random bytes");
    snprintf(out, HELLO_TOKEN, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
    return 0;
}

/* Compare tokens in a time that does not depend on how many bytes match. */
static bool is_token(const char *a, const char *b)
{
    unsigned char differ = 0;

    for (size_t i = 0; i < HELLO_TOKEN; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    return differ == 0;
}

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

/* Accept all that have connected.  If there are too many, the oldest is closed:
 * a rank sends its hello at once. */
static void accept_all(struct hello_reader *r)
{
    for (;;) {
        const int fd = peer_socket_accept(r->listener);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && r->n > 0) {
            drop_waiting(r, 0);
            continue;
        }
        if (fd < 0)
            return;
        if (r->n == room_of(r))
            drop_waiting(r, 0);
        r->waiting[r->n++] =
            (struct hello_waiting){ .fd = fd,
                                    .until = clock_mono() + HELLO_SECS };
    }
}

/* Read what has come from connection i: 1 if the hello is complete, 0 if not
 * yet, -1 if there will be none. */
static int read_some(struct hello_reader *r, int i)
{
    struct hello_waiting *w = &r->waiting[i];

    while (w->got < sizeof w->hello) {
        const ssize_t n = recv(w->fd, (char *)&w->hello + w->got,
                               sizeof w->hello - w->got, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return clock_mono() > w->until ? -1 : 0;
        if (n <= 0)
            return -1;
        w->got += (size_t)n;
        if (w->got >= sizeof w->hello.magic && w->hello.magic != HELLO_MAGIC)
            return -1;
    }
    return is_token(w->hello.token, r->token) ? 1 : -1;
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
        accept_all(r);
        for (int i = r->n - 1; i >= 0; i--) {
            const int ret = read_some(r, i);

            if (ret < 0)
                drop_waiting(r, i);
            if (ret > 0) {
                const int fd = r->waiting[i].fd;

                *out = r->waiting[i].hello;
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
    free(r->waiting);
    free(r->poll);
    r->waiting = NULL;
    r->poll = NULL;
}
