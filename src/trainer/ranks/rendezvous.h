#ifndef TRAINER_RANKS_RENDEZVOUS_H
#define TRAINER_RANKS_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "trainer/ranks/coll.h"

/*
 * rendezvous - how the ranks of a job find each other over TCP
 *
 * Fills fd_of[r], for every other rank r of c->size, with a connected socket
 * that does not block, and c->peer with what the ranks are called.  A rank
 * that knows the job's token but is one too many, there twice, or configured
 * otherwise is told so and turned away; whoever does not know the token is
 * dropped.  ERR_RANK says who did not come within c->timeout.  After a
 * failure the sockets that were opened stay in fd_of, the others are -1.
 */
int rendezvous(struct coll *, const struct coll_conf *, int *fd_of,
               struct err *);

/* Send or receive all n bytes before the time `until` of clock_mono(); -1
 * with errno otherwise. */
int rendezvous_move(int fd, void *data, size_t n, bool out, double until);

#endif
