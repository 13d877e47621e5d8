#pragma once

#include "trainer/ranks/coll.h"

/*
 * coll_many - collectives in log N rounds, between ranks that are linked
 *
 * In each round a rank sends to the rank at a distance of some power of two,
 * and receives from the one at the same distance on the other side.  The
 * functions run in the thread of coll_queue.h.  Of N ranks, each sends, in a
 * number of messages that grows like log N:
 *
 *      gather          what every rank must receive, (N - 1) / N of the block
 *      reduce          as much as gather, adding parts on their way, so the
 *                      order of a sum depends on N only
 *      reduce_in_order log N / 2 times as much, as parts travel separately
 *      combine, bcast  at most log N times the block
 *      collect         what the ranks behind it have, up to half of the block
 */
int coll_many_gather(struct coll *, void *data, const int64_t *bounds,
                     size_t size, struct err *);
int coll_many_reduce(struct coll *, float *acc, float *in,
                     const int64_t *bounds, bool set, struct err *);
int coll_many_reduce_in_order(struct coll *, float *acc, const float *in,
                              const int64_t *bounds, bool set, struct err *);
int coll_many_bcast(struct coll *, void *data, size_t bytes, int root,
                    struct err *);
int coll_many_collect(struct coll *, void *data, const void *own,
                      const int64_t *bounds, size_t size, struct err *);

/* Combine the n elements of all ranks, two ranks at a time; all ranks get the
 * result. */
typedef void coll_combine_fn(void *x, const void *more, size_t n);
int coll_many_combine(struct coll *, void *x, size_t n, size_t size,
                      coll_combine_fn *, struct err *);

/* The size of the numbers that sums send.  coll_pack() and coll_unpack() call
 * halves.h, and do nothing if sums are sent in fp32. */
size_t coll_sent_size(const struct coll *);
void coll_pack(const struct coll *, float *x, int64_t n);
void coll_unpack(const struct coll *, float *x, int64_t n);

/* acc = acc + part of rank 0 + part of rank 1 + ..., element by element; with
 * `set`, acc is set to the sum of the parts. */
void coll_add_in_order(float *acc, const float *const *part, int size,
                       int64_t n, bool set);
/* The most elements that a rank has. */
int64_t coll_largest_part(const struct coll *, const int64_t *bounds);
