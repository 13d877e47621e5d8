#ifndef TRACK_SERVE_LISTEN_H
#define TRACK_SERVE_LISTEN_H

#include "common/err.h"

/*
 * listen - sockets that only this machine, or this user, can connect to
 *
 * A TCP socket is one of 127.0.0.1.  Port 0 is the first free one from
 * LISTEN_PORT on, or any.  A Unix socket can be used by its owner only; the
 * file of a server that has ended is replaced.
 */
enum { LISTEN_PORT = 7979 };

/* *port becomes the one that was taken. */
int listen_tcp(int *port, struct err *);
int listen_unix(const char *path, struct err *);

#endif
