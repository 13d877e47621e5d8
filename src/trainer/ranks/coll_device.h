#ifndef TRAINER_RANKS_COLL_DEVICE_H
#define TRAINER_RANKS_COLL_DEVICE_H

#include "kernels/dev.h"
#include "trainer/ranks/coll.h"

/*
 * coll_device - collectives on the memory of a device
 *
 *      if (coll_use_device(&coll, &dev, e) < 0)        after both are open
 *          return -1;
 *      ...
 *      coll_leave_device(&coll);                       before both are closed
 *
 * Between the two calls, the buffers of coll_sum(), coll_reduce() and
 * coll_gather() are in the memory of dev; all others are in that of the host.
 * These collectives are carried out in one of these ways:
 *
 *      the CPU     as without coll_use_device()
 *      one rank    by operations of the device
 *      nccl        by NCCL, on a second stream that is synchronized with the
 *                  one that computes by events.  The library is loaded at run
 *                  time (GTRAIN_NCCL_LIB or libnccl.so.2).  Native sums only.
 *      host        through the memory of the host and what coll_open() chose,
 *                  waiting for each call: if sums must be deterministic, and
 *                  where there is no NCCL
 *
 * coll_wait_for() makes later work of the device wait for these calls, not the
 * host; coll_check() waits for all of them on the host.  The thread of
 * coll_queue.h aborts calls that make no progress for `timeout`.
 */
int coll_use_device(struct coll *, struct dev *, struct err *);
/* Before the device is closed; does nothing without one. */
void coll_leave_device(struct coll *);

#endif
