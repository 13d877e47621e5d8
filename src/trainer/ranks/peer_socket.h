#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

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
