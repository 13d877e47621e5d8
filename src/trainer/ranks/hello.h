#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/random.h"
#include "common/sha256.h"

/*
 * hello - receive the ranks of a job among whatever else connects
 *
 *      struct hello_reader r = { .listener = fd, .token = token,
 *                                .ranks = 3 };
 *
 *      fd = hello_next(&r, until, &h);     the next rank that knows the token
 *      hello_close(&r);
 *
 *      hello_say(fd, token, &mine, session, until)    the rank that connects
 *
 * Who listens sends a random challenge; who connects answers it by a hello, and
 * the listener answers that.  Both answers end with an HMAC-SHA256, by the
 * token, of all that was said in this connection, so that the token is never
 * sent, and what was heard in one connection is no answer in another one.  What
 * is sent later is neither encrypted nor authenticated.
 *
 * The connections are read at the same time, so that one that sends nothing
 * delays no other; it is closed after some seconds.  A connection that sends
 * anything else is closed at once, and so is the oldest if HELLO_WAITING
 * connections more than there are ranks are waiting.  One with another token is
 * told so.
 */
enum {
    HELLO_MAGIC = 0x47544e32,
    HELLO_TOKEN = 128,
    HELLO_NONCE = 32,
    HELLO_SECS = 10,
    HELLO_WAITING = 256
};

struct hello_challenge {
    uint32_t magic;
    unsigned char nonce[HELLO_NONCE];
};

struct hello {
    uint32_t magic;
    uint32_t rank, size;
    uint32_t port; /* where this rank listens */
    uint32_t pid;
    char agree[128];
    char host[64];
    unsigned char nonce[HELLO_NONCE];
    unsigned char mac[SHA256_BYTES];
};

struct hello_answer {
    uint32_t magic; /* 0: the token is another one */
    char session[RANDOM_SECRET];
    char padding[3];
    unsigned char mac[SHA256_BYTES];
};

/* All that is said in a connection before it is trusted. */
struct hello_talk {
    struct hello_challenge challenge;
    struct hello hello;
    struct hello_answer answer;
};

/* Derive the token of one job from that of all jobs with the same secret. */
void hello_derive_token(char token[HELLO_TOKEN], const char *session);

struct hello_reader {
    int listener;
    const char *token;
    const char *session; /* a random text that ranks are told, or NULL */
    int ranks;           /* how many may connect at once */
    struct hello_waiting {
        int fd;
        double until;
        size_t got;
        struct hello_talk talk;
    } * waiting; /* the oldest first */
    struct pollfd *poll;
    int n;
};

/* The socket of a rank and its hello; -1 with errno if none comes until then,
 * in time of clock_mono(). */
int hello_next(struct hello_reader *, double until, struct hello *);
void hello_close(struct hello_reader *); /* and the connections that wait */

/* Say hello on a connected socket.  -1 with errno: EACCES if the other end says
 * that the token is another one, EPROTO if it does not know the token itself,
 * ECONNRESET if it closed the connection. */
int hello_say(int fd, const char *token, const struct hello *,
              char session[RANDOM_SECRET], double until);

/*
 * peer_socket - the TCP sockets of ranks, which do not block
 *
 * Times are of clock_mono(); errors are of kind ERR_RANK or ERR_SYSTEM.
 */
enum { PEER_SOCKET_ADDRESS = 64 }; /* a numeric address and its NUL */

/* Raise the limit of open files for a socket to each rank of a job. */
void peer_socket_allow(int size);

/* Listen on the interface of this host, or on all if it is NULL; port 0 is any
 * free one. */
int peer_socket_listen(const char *host, int port, struct err *);
/* Connect, and try again until it works: the peer may start later. */
int peer_socket_connect(const char *host, int port, double until, struct err *);
/* The next connection of a listening socket; -1 with errno if there is none. */
int peer_socket_accept(int listener);

/* Send or receive all n bytes before `until`; -1 with errno otherwise. */
int peer_socket_move(int fd, void *data, size_t n, bool out, double until);

uint32_t peer_socket_port(int fd);
/* The address of the other end, or of this one; "" if it is not known. */
void peer_socket_peer(int fd, char out[PEER_SOCKET_ADDRESS]);
void peer_socket_own(int fd, char out[PEER_SOCKET_ADDRESS]);

/* Does the name or the address lead to this machine alone? */
bool peer_socket_is_loopback(const char *host);
