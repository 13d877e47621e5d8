#pragma once

#include "common/err.h"
#include "trainer/ranks/coll.h"

/*
 * rendezvous - connect the ranks of a job over TCP
 *
 * Sets fd_of[r], for every rank r that this one is linked to, to a connected
 * socket that does not block, and c->peer[r] to a description of the rank.  For
 * other ranks, fd_of[r] is -1 and c->peer[r] has only the number.  Connections
 * without the token of the job are closed, and do not disturb it.  A rank that
 * knows the token, but has another number of ranks or a different
 * configuration, ends the job: an error of kind ERR_RANK names it on all ranks.
 * One that has joined already is rejected alone.  An error also names a rank
 * that did not join within c->timeout.  After a failure the sockets that were
 * opened are in fd_of, and the others are -1.
 *
 * Rank 0 listens on the interface of the launch's host, and the others on the
 * one by which they reach rank 0.  Nothing is encrypted.
 */
int rendezvous(struct coll *, const struct coll_conf *, int *fd_of,
               struct err *);
