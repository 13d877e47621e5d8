#ifndef TRAINER_RANKS_RENDEZVOUS_H
#define TRAINER_RANKS_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "trainer/ranks/coll.h"

/*
 * rendezvous - connect the ranks of a job over TCP
 *
 * Sets fd_of[r], for every other rank r of c->size, to a connected socket that
 * does not block, and c->peer[r] to a description of the rank.  A rank that
 * knows the token of the job, but does not exist, has already joined or has a
 * different configuration, is rejected with an explanation; connections without
 * the token are closed.  An error of kind ERR_RANK names a rank that did not
 * join within c->timeout.  After a failure the sockets that were opened are in
 * fd_of, and the others are -1.
 */
int rendezvous(struct coll *, const struct coll_conf *, int *fd_of,
               struct err *);

/* Send or receive all n bytes before clock_mono() is `until`; -1 with errno
 * otherwise. */
int rendezvous_move(int fd, void *data, size_t n, bool out, double until);

#endif
