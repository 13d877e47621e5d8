#ifndef TRAINER_RANKS_HELLO_H
#define TRAINER_RANKS_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * hello - receive the ranks of a job among whatever else connects
 *
 *      struct hello_reader r = { .listener = fd, .token = token,
 *                                .ranks = 3 };
 *
 *      fd = hello_next(&r, until, &h);     the next rank that knows the token
 *      hello_close(&r);
 *
 * A rank says hello as soon as it has connected.  The connections are read at
 * the same time, so that one that sends nothing delays no other; it is closed
 * after some seconds.  A connection that sends anything else or another token
 * is closed at once, and so is the oldest if HELLO_WAITING connections more
 * than there are ranks are waiting.
 */
enum {
    HELLO_MAGIC = 0x47544e31,
    HELLO_TOKEN = 128,
    HELLO_SECS = 10,
    HELLO_WAITING = 256
};

struct hello {
    uint32_t magic;
    uint32_t rank, size;
    uint32_t port; /* where this rank listens */
    uint32_t pid;
    char token[HELLO_TOKEN];
    char agree[128];
    char host[64];
};

/* A token that nobody can guess: 128 random bits. */
int hello_make_token(char out[HELLO_TOKEN], struct err *);

struct hello_reader {
    int listener;
    const char *token; /* of HELLO_TOKEN bytes */
    int ranks;         /* how many may connect at once */
    struct hello_waiting {
        int fd;
        double until;
        size_t got;
        struct hello hello;
    } * waiting; /* the oldest first */
    struct pollfd *poll;
    int n;
};

/* The socket of a rank and its hello; -1 with errno if none comes until then,
 * in time of clock_mono(). */
int hello_next(struct hello_reader *, double until, struct hello *);
void hello_close(struct hello_reader *); /* and the connections that wait */

#endif
