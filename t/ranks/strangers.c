/*
 * strangers - what connects to a rank and does not know the token of its job,
 * or listens where a rank connects
 *
 * The listener is asked with a time that has passed: it then does what it can
 * do at once, in one process with those that connect.
 */
#include "config.h"
#include "t/lib/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "trainer/ranks/hello.h"

static const char token[] = "the secret of this job";

/* A rank says hello on a socket; the exit status of its process is errno. */
static pid_t start_rank(int fd, const char *with)
{
    const struct hello mine = { .rank = 1, .size = 2 };
    char session[RANDOM_SECRET];
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        _exit(hello_say(fd, with, &mine, session, clock_mono() + 60) == 0
                  ? 0
                  : errno);
    close(fd);
    return pid;
}

static int errno_of(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static int connect_to(const struct hello_reader *r)
{
    struct err e = { 0 };
    const int fd = peer_socket_connect(
        "127.0.0.1", (int)peer_socket_port(r->listener), clock_mono() + 60, &e);

    if (fd < 0)
        diag("%s", e.text);
    return fd;
}

static void move(int fd, void *data, size_t n, bool out)
{
    if (peer_socket_move(fd, data, n, out, clock_mono() + 60) < 0)
        abort();
}

/* The listener does what is possible at once; nobody may be admitted. */
static void go_on(struct hello_reader *r)
{
    struct hello h;

    if (hello_next(r, 0, &h) >= 0)
        abort();
}

/* Has the other end closed the connection, whatever it said before? */
static bool is_closed(int fd)
{
    char rest[1024];
    ssize_t n;

    while ((n = recv(fd, rest, sizeof rest, MSG_DONTWAIT)) > 0)
        ;
    close(fd);
    return n == 0 || errno == ECONNRESET;
}

/* Does a rank get in? */
static bool admits(struct hello_reader *r)
{
    const pid_t pid = start_rank(connect_to(r), token);
    struct hello h;
    const int fd = hello_next(r, clock_mono() + 60, &h);

    if (fd >= 0)
        close(fd);
    return fd >= 0 && h.rank == 1 && errno_of(pid) == 0;
}

/* Listen where a rank connects, and keep all that it says. */
static void hear_rank(struct hello_talk *t)
{
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        abort();
    t->challenge.magic = HELLO_MAGIC;
    pid = start_rank(pair[1], token);
    move(pair[0], &t->challenge, sizeof t->challenge, true);
    move(pair[0], &t->hello, sizeof t->hello, false);
    move(pair[0], &t->answer, sizeof t->answer, true);
    close(pair[0]);
    ok(errno_of(pid) == (t->answer.magic ? EPROTO : EACCES),
       "a rank believes no listener that does not know the token");
}

static void test_slow(struct hello_reader *r)
{
    uint32_t magic = HELLO_MAGIC;
    const int silent = connect_to(r), drip = connect_to(r);

    go_on(r);
    move(drip, &magic, 1, true);
    go_on(r);
    ok(r->n == 2 && r->waiting[0].until <= clock_mono() + HELLO_SECS &&
           r->waiting[1].until <= clock_mono() + HELLO_SECS,
       "a connection has a limit of time, however slowly it sends");
    ok(admits(r), "a rank gets in beside connections that are slow");
    r->waiting[0].until = r->waiting[1].until = 0;
    move(drip, (char *)&magic + 1, 1, true);
    go_on(r);
    ok(is_closed(silent), "a connection that says nothing is closed");
    ok(is_closed(drip), "a connection that sends byte by byte is closed");
}

static void test_wrong_token(struct hello_reader *r)
{
    const pid_t pid = start_rank(connect_to(r), "another secret");
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0)
        go_on(r);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == EACCES,
       "a rank with another token is told so");
}

/* What a rank has said to somebody else, who connects with it. */
static void test_replay(struct hello_reader *r, struct hello_talk heard)
{
    struct hello_challenge own;
    const int fd = connect_to(r);

    go_on(r);
    move(fd, &own, sizeof own, false);
    move(fd, &heard.hello, sizeof heard.hello, true);
    go_on(r);
    ok(is_closed(fd), "a hello that was said to somebody else is refused");
    ok(memcmp(own.nonce, heard.challenge.nonce, sizeof own.nonce) != 0,
       "each connection has a challenge of its own");
}

/* The answer that the true listener gave to another connection. */
static void test_replayed_answer(struct hello_reader *r)
{
    struct hello_talk t = { 0 };
    int pair[2];
    struct hello h;
    pid_t pid;
    const int fd = connect_to(r);
    int admitted;

    go_on(r);
    move(fd, &t.challenge, sizeof t.challenge, false);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        abort();
    pid = start_rank(pair[1], token);
    move(pair[0], &t.challenge, sizeof t.challenge, true);
    move(pair[0], &t.hello, sizeof t.hello, false);
    move(fd, &t.hello, sizeof t.hello, true);
    admitted = hello_next(r, clock_mono() + 60, &h);
    move(fd, &t.answer, sizeof t.answer, false);
    move(pair[0], &t.answer, sizeof t.answer, true);
    ok(admitted >= 0 && errno_of(pid) == 0,
       "a rank and a listener with one token believe each other");
    close(admitted);
    close(fd);
    close(pair[0]);
    t.answer.magic = HELLO_MAGIC;
    hear_rank(&t);
}

int main(void)
{
    struct err e = { 0 };
    struct hello_reader r = { .token = token, .ranks = 2 };
    struct hello_talk heard = { 0 };
    int port;

    r.listener = peer_socket_listen("127.0.0.1", 0, &e);
    if (r.listener < 0)
        abort();
    hear_rank(&heard);
    ok(!memmem(&heard, sizeof heard, token, strlen(token)),
       "a rank does not send the token");
    test_replay(&r, heard);
    test_replayed_answer(&r);
    test_wrong_token(&r);
    test_slow(&r);
    hello_close(&r);
    port = (int)peer_socket_port(r.listener);
    ok(peer_socket_listen("127.0.0.1", port, &e) < 0 && e.sys == EADDRINUSE,
       "a port that is in use is no port to listen on");
    close(r.listener);
    return done_testing();
}
