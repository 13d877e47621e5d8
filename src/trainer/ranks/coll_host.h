#ifndef TRAINER_RANKS_COLL_HOST_H
#define TRAINER_RANKS_COLL_HOST_H

#include "trainer/ranks/coll_queue.h"

/*
 * coll_host - the collectives of coll.h on the memory of the host
 *
 * coll_host_sum() and the others begin a call; the thread of coll_queue.h
 * carries it out with coll_host_run(), by exchanges between the ranks.
 */
void coll_host_sum(struct coll *, float *x, int64_t n);
void coll_host_reduce(struct coll *, float *acc, const float *in,
                      const int64_t *bounds, bool set);
void coll_host_gather(struct coll *, void *data, const int64_t *bounds,
                      size_t size);

int coll_host_run(struct coll *, const struct coll_request *, struct err *);

#endif
