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
 * From then on the buffers of coll_sum(), coll_reduce() and coll_gather() lie
 * in the memory of dev; all else is still the host's.  What carries them:
 *
 *      the CPU     nothing changes
 *      one rank    the device's own operations
 *      nccl        NCCL, on a stream beside the one that computes, meeting it
 *                  through events; found at run time (GTRAIN_NCCL_LIB names
 *                  the library, libnccl.so.2 otherwise).  Native sums only.
 *      host        through the memory of the host and what coll_open() chose,
 *                  waiting for each: deterministic, and where there is no NCCL
 *
 * Waiting for a call of these makes later work of the device wait, not the
 * host; coll_check() waits for all of them on the host.  The thread of coll.h
 * ends what hangs: a rank that has not moved for `timeout` is given up, and
 * the calls that wait for it with it.
 */
struct coll_device {
    const char *name;
    int (*open)(struct coll *, struct err *);
    void (*close)(struct coll *);
    void (*sum)(struct coll *, float *x, int64_t n);
    void (*reduce)(struct coll *, float *acc, float *in, const int64_t *cut,
                   bool fresh);
    void (*gather)(struct coll *, void *data, const int64_t *cut, size_t size);
    void (*wait_for)(struct coll *, uint64_t begun);
    int (*check)(struct coll *, struct err *);
    /* From the thread of coll.h: is it still alive? */
    int (*watch)(struct coll *, struct err *);
};

int coll_use_device(struct coll *, struct dev *, struct err *);
/* Before the device is closed; harmless without one. */
void coll_leave_device(struct coll *);

extern const struct coll_device coll_alone, coll_host, coll_nccl;

/* For coll_device.c: from now on, by all threads. */
void coll_set_device(struct coll *, const struct coll_device *);
/* The calls of coll.h on host memory, for coll_host. */
void coll_host_sum(struct coll *, float *x, int64_t n);
void coll_host_reduce(struct coll *, float *acc, const float *in,
                      const int64_t *cut, bool fresh);
void coll_host_gather(struct coll *, void *data, const int64_t *cut,
                      size_t size);
int coll_host_check(struct coll *, struct err *);

#endif
