#ifndef TRAINER_RANKS_COLL_H
#define TRAINER_RANKS_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "trainer/ranks/launch.h"

/*
 * coll - what the ranks of a job do together
 *
 *      if (coll_open(&c, &conf, e) < 0)
 *          return -1;
 *      coll_reduce(&c, shard, grads, cut, true);   begins; returns at once
 *      ...                                     compute meanwhile
 *      coll_wait(&c);                          everything begun is done
 *      if (coll_check(&c, e) < 0)              what failed since, by name
 *          return -1;
 *      coll_close(&c);
 *
 * Every rank calls the same functions in the same order with the same sizes.
 * Calls that take buffers are queued and carried out one after another by a
 * thread, so that they overlap with computing; the buffers belong to coll
 * until coll_wait().  A job of one rank does all of this at no cost.
 *
 * Sums are in the order of the ranks, whatever they arrive in: the same bits
 * each time and, with coll_reduce() into an accumulator, the bits of one
 * process that adds the same parts one after another.  With native set, sums
 * may be the library's own (MPI_Allreduce, NCCL), faster and equal to
 * rounding.
 *
 * A rank that dies is noticed within a second by all others, one that does
 * not answer after `timeout`; coll_check() then names it (ERR_RANK).  A
 * program that does not ask within three seconds is ended with status 6, so
 * no rank is left behind.
 */
struct coll;

struct coll_conf {
    const struct launch *launch;
    double timeout;             /* seconds; 0: 60 */
    bool native;                /* sums in any order */
    const char *agree;          /* must be equal on all ranks, or NULL */
};

/* One way to reach the others; see coll_none.c, coll_tcp.c, coll_mpi.c. */
struct coll_part {
    const void *send;
    size_t send_bytes;
    void *recv;
    size_t recv_bytes;
};

struct coll_type {
    const char *name;
    int (*open)(struct coll *, const struct coll_conf *, struct err *);
    void (*close)(struct coll *);
    /* Send part[r].send to rank r and fill part[r].recv from it, for all r
     * but one's own. */
    int (*exchange)(struct coll *, const struct coll_part *, struct err *);
    /* x = sum over ranks, in any order; optional. */
    int (*sum)(struct coll *, float *x, size_t n, struct err *);
    /* Has a rank gone?  Asked between exchanges; optional. */
    int (*watch)(struct coll *, struct err *);
};

struct coll {
    const struct coll_type *type;
    int rank, size, local_rank, local_size;
    bool native;
    double timeout;
    uint64_t sent, received;    /* bytes, by this rank */
    char (*peer)[96];           /* "rank 2 (host gpu7, pid 4711)" */
    void *state;                /* the type's own */
    uint64_t begun;             /* calls */
    struct coll_queue *queue;   /* NULL for one rank */

    const struct coll_device *device;   /* see coll_device.h; NULL: the CPU */
    struct dev *dev;
    void *device_state;
    uint64_t device_begun;
};

int coll_open(struct coll *, const struct coll_conf *, struct err *);
void coll_close(struct coll *);         /* harmless on a zeroed coll */

/* x(n) = sum over ranks. */
void coll_sum(struct coll *, float *x, int64_t n);
/*
 * Sharing: rank r's part of a range is elements cut[r] up to cut[r + 1], so
 * cut has size + 1 entries and stays the caller's until coll_wait().
 *
 * coll_reduce: acc += own part of `in` of each rank, rank 0's first; with
 * fresh, acc is set to that sum instead.  acc holds the own part alone; what
 * becomes of `in` is not said.
 * coll_gather: data, of which every rank has its own part, becomes whole;
 * size is that of an element.
 */
void coll_reduce(struct coll *, float *acc, float *in, const int64_t *cut,
                 bool fresh);
void coll_gather(struct coll *, void *data, const int64_t *cut, size_t size);
/* Everyone has what root has. */
void coll_bcast(struct coll *, void *data, size_t bytes, int root);

/* coll_gather() for rank `root` alone: `own` holds the own part, and `data` of
 * root, which may be NULL elsewhere, becomes whole. */
void coll_collect(struct coll *, void *data, const void *own,
                  const int64_t *cut, size_t size, int root);

/* How many calls were begun so far; wait until so many are done. */
uint64_t coll_begun(const struct coll *);
void coll_wait_for(struct coll *, uint64_t begun);
void coll_wait(struct coll *);
int coll_check(struct coll *, struct err *);    /* waits, too */

/* Small things, done when they return; -1 as coll_check(). */
int coll_sum_f64(struct coll *, double *x, size_t n, struct err *);
int coll_max(struct coll *, int64_t *x, struct err *);
int coll_barrier(struct coll *, struct err *);

/* n things in groups of `step`, shared out evenly: fills cut(size + 1). */
void coll_bounds(const struct coll *, int64_t n, int64_t step, int64_t *cut);

extern const struct coll_type coll_none, coll_tcp, coll_mpi;

#endif
