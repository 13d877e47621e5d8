#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "trainer/ranks/launch.h"

/*
 * coll - collectives: sums and exchanges between the ranks of a job
 *
 *      if (coll_open(&c, &conf, e) < 0)
 *          return -1;
 *      coll_reduce(&c, shard, grads, bounds, true);    returns at once
 *      ...                                             compute meanwhile
 *      coll_wait(&c);                                  until all calls are done
 *      if (coll_check(&c, e) < 0)                      has a call failed?
 *          return -1;
 *      coll_close(&c);
 *
 * Every rank calls the same functions in the same order with the same sizes.
 * Calls that take buffers are queued and carried out one after another by a
 * thread, so that they overlap with computing; the buffers belong to coll
 * until coll_wait().  A job of one rank has no thread and sends nothing.
 *
 * Sums are in the order of the ranks, whatever the order of arrival: they have
 * the same bits each time and, with coll_reduce() into an accumulator, the bits
 * of one process that adds the same parts one after another.  With `native`,
 * sums may be those of the library (MPI_Allreduce, NCCL) or of coll_host.c,
 * which are faster and equal up to rounding.  With `bf16`, coll_sum() and
 * coll_reduce() round what they send to bf16, which is half as much.  A rank
 * adds in fp32 what it receives, and all ranks get the same bits.
 *
 * Up to COLL_DIRECT ranks send to each other directly.  More are linked to 2
 * log N others each: the ranks at a distance of 1, 2, 4, 8 ..., in both
 * directions around the ring of all ranks.
 *
 * All ranks notice within a second that another rank has died, and after
 * `timeout` that one does not respond; coll_check() then names it (ERR_RANK).
 * A program that does not call coll_check() within three seconds is ended with
 * status 6, so that no rank stays behind; before that, the function that
 * coll_on_death() has set is called from another thread.
 */
struct coll;
struct dev_capture;

enum { COLL_DIRECT = 16 };

struct coll_conf {
    const struct launch *launch;
    double timeout;    /* seconds; 0: 60 */
    bool native;       /* sums may be in any order */
    bool bf16;         /* what is summed is sent in bf16 */
    const char *agree; /* must be the same on all ranks; or NULL */
};

/* What is sent to and received from one rank; 0 bytes: nothing. */
struct coll_part {
    int rank;
    const void *send;
    size_t send_bytes;
    void *recv;
    size_t recv_bytes;
};

/* A transport between ranks: coll_tcp.c, coll_mpi.c. */
struct coll_type {
    const char *name;
    int (*open)(struct coll *, const struct coll_conf *, struct err *);
    void (*close)(struct coll *);
    /* Send and receive n parts.  A rank may occur once as a receiver and once
     * as a sender, and must be linked; the own rank is left out. */
    int (*exchange)(struct coll *, const struct coll_part *, int n,
                    struct err *);
    /* x = sum over ranks, in any order; optional. */
    int (*sum)(struct coll *, float *x, size_t n, struct err *);
    /* -1 if a rank has died.  Called between exchanges; optional. */
    int (*watch)(struct coll *, struct err *);
    /* An exchange may block although a rank has died: watch() is called by a
     * thread of its own, also during exchanges. */
    bool watch_always;
    double grace; /* seconds for the program to notice; 0: three */
};

/* Collectives on the memory of a device: in coll.c, and coll_nccl. */
struct coll_device {
    const char *name;
    int (*open)(struct coll *, struct err *);
    void (*close)(struct coll *);
    void (*sum)(struct coll *, float *x, int64_t n);
    void (*reduce)(struct coll *, float *acc, float *in, const int64_t *bounds,
                   bool set);
    void (*gather)(struct coll *, void *data, const int64_t *bounds,
                   size_t size);
    void (*wait_for)(struct coll *, uint64_t begun); /* optional */
    /* For coll_record_begin() and the next two; NULL: calls cannot be recorded.
     * At its end, `begun` calls are again what has begun. */
    void (*record)(struct coll *, bool on, uint64_t begun);
    void (*run_recorded)(struct coll *, struct dev_capture *);
    int (*check)(struct coll *, struct err *);
    /* From the thread of coll.c: -1 if a rank does not respond. */
    int (*watch)(struct coll *, struct err *);
};

struct coll {
    const struct coll_type *type;
    int rank, size, local_rank, local_size;
    bool native, bf16;
    double timeout;
    uint64_t sent, received;  /* bytes, by this rank */
    double waited;            /* seconds, by the program, for such calls */
    uint64_t messages;        /* that it sent */
    char (*peer)[96];         /* "rank 2 (host gpu7, pid 4711)", "rank 3" */
    void *state;              /* of the type */
    uint64_t begun;           /* calls so far */
    struct coll_queue *queue; /* NULL for one rank */

    const struct coll_device *device; /* NULL: the CPU */
    struct dev *dev;
    void *device_state;
    uint64_t device_begun;
};

int coll_open(struct coll *, const struct coll_conf *, struct err *);
void coll_close(struct coll *); /* does nothing on a zeroed coll */

/* Can this rank send to that one?  Not to itself. */
bool coll_is_linked(const struct coll *, int rank);

/* NULL: none.  When this returns, the function that was set before is not being
 * called and will not be. */
typedef void coll_death_fn(void *arg, const char *why);
void coll_on_death(struct coll *, coll_death_fn *, void *arg);

/* x(n) = sum over ranks. */
void coll_sum(struct coll *, float *x, int64_t n);
/*
 * The part of rank r is the elements bounds[r] up to bounds[r + 1].  The array
 * has size + 1 entries and must exist until coll_wait().
 *
 * coll_reduce: acc += own part of `in` of each rank, in the order of the ranks;
 * with `set`, acc is set to that sum instead.  acc has only the own part; the
 * contents of `in` are undefined afterwards.
 * coll_gather: every rank has its own part of data, and gets all of it; size is
 * that of an element.
 */
void coll_reduce(struct coll *, float *acc, float *in, const int64_t *bounds,
                 bool set);
void coll_gather(struct coll *, void *data, const int64_t *bounds, size_t size);
/* All ranks get the data of rank `root`. */
void coll_bcast(struct coll *, void *data, size_t bytes, int root);

/* coll_gather() for rank 0 only: `own` is the own part; `data` gets all parts
 * on rank 0, and may be NULL on other ranks. */
void coll_collect(struct coll *, void *data, const void *own,
                  const int64_t *bounds, size_t size);

/*
 * Calls of coll_sum() and coll_reduce() as part of the work that a device
 * records (dev.h: capture_begin).
 *
 *      coll_record_begin(&c, &calls)       after coll_check(); capture_begin
 *      coll_sum(...)                       is recorded, and sends nothing
 *      coll_wait(&c)                       before capture_end
 *      coll_record_end(&c, &calls)         after it
 *      coll_run_recorded(&c, work, &calls) capture_run; counts as one call
 *
 * All ranks record the same calls, and run what they recorded at the same
 * place.  What they recorded must be freed before coll_leave_device().
 */
struct coll_calls {
    uint64_t begun, sent, received;
};

bool coll_can_record(const struct coll *);
void coll_record_begin(struct coll *, struct coll_calls *);
void coll_record_end(struct coll *, struct coll_calls *);
void coll_run_recorded(struct coll *, struct dev_capture *,
                       const struct coll_calls *);

/* The number of calls that have begun; a wait until as many have ended. */
uint64_t coll_begun(const struct coll *);
void coll_wait_for(struct coll *, uint64_t begun);
void coll_wait(struct coll *);
int coll_check(struct coll *, struct err *); /* waits for all calls */

/* These wait, and return what coll_check() returns. */
int coll_sum_f64(struct coll *, double *x, size_t n, struct err *);
/* coll_sum_f64() in the background: begin returns the number of the call.  End
 * waits for a call on the memory of the host, and returns what coll_check()
 * returns. */
uint64_t coll_begin_sum_f64(struct coll *, double *x, size_t n);
int coll_end(struct coll *, uint64_t call, struct err *);
int coll_max(struct coll *, int64_t *x, struct err *);
int coll_barrier(struct coll *, struct err *);
/* The first rank whose n bytes differ from rank 0's; 0 if there is none. */
int coll_compare(struct coll *, const void *data, size_t n, int *rank,
                 struct err *);

/* Round n floats to bf16, in the first half of their own memory; and make them
 * floats again. */
void coll_pack_halves(float *x, int64_t n);
void coll_unpack_halves(float *x, int64_t n);

/* Divide n elements evenly, at multiples of `step`: fills bounds(size + 1). */
void coll_bounds(const struct coll *, int64_t n, int64_t step, int64_t *bounds);

/*
 * Between these two calls, when both coll and dev are open, the buffers of
 * coll_sum(), coll_reduce() and coll_gather() are in the memory of dev; all
 * others are in the memory of the host.  These collectives are carried out in
 * one of these ways:
 *
 *      the CPU     as without coll_use_device()
 *      one rank    by operations of the device
 *      nccl        by NCCL, on a second stream, which events synchronize with
 *                  the one that computes.  The library is loaded at run time
 *                  (GTRAIN_NCCL_LIB or libnccl.so.2).  Native sums only.
 *      host        through the memory of the host and what coll_open() chose,
 *                  waiting for each call: if sums must be deterministic, and
 *                  where there is no NCCL
 *
 * coll_wait_for() makes later work of the device wait for these calls, not the
 * host; coll_check() waits for all of them on the host.  The thread of
 * coll.c aborts calls that make no progress for `timeout`.
 * coll_leave_device() does nothing without a device.
 */
int coll_use_device(struct coll *, struct dev *, struct err *);
void coll_leave_device(struct coll *);

extern const struct coll_type coll_tcp, coll_mpi;
extern const struct coll_device coll_nccl;

/*
 * coll_queue - the thread that carries out collectives on the host
 *
 *      coll_queue_push(c, &request);       returns at once
 *      if (coll_end(c, c->begun, e) < 0)   waits for it
 *          return -1;
 *
 * Requests are carried out one after another by coll_host_run().  After the
 * first failure the others are dropped.  Between requests the thread asks
 * several times a second whether a rank has died; for coll_type.watch_always,
 * another thread does.  A job of one rank has no queue: then these functions do
 * nothing.
 */
struct coll_request {
    enum {
        REQUEST_SUM,
        REQUEST_REDUCE,
        REQUEST_GATHER,
        REQUEST_COLLECT,
        REQUEST_BCAST,
        REQUEST_SUM_F64,
        REQUEST_MAX
    } kind;
    void *out;
    void *in;        /* reduce: is changed */
    const void *own; /* collect */
    int64_t n;       /* elements, or bytes to broadcast */
    const int64_t *bounds;
    size_t size; /* of an element */
    int root;    /* of a broadcast */
    bool set;    /* reduce: set the result instead of adding to it */
};

struct coll_queue {
    pthread_t thread, watch;
    bool running, watching; /* the threads */
    pthread_mutex_t lock;
    pthread_cond_t todo, done, stopped;
    struct coll_request *request; /* a ring: the oldest at `first` */
    size_t first, n, room;
    uint64_t finished; /* requests */
    bool stop;
    bool failed;   /* err says why */
    bool reported; /* by coll_end() */
    coll_death_fn *on_death;
    void *death_arg;
    double failed_at;
    struct err err;

    /* for coll_host_run() */
    struct coll_part *part;
    int64_t *bounds;
    const float **from;
    void *buffer; /* see coll_queue_buffer() */
    size_t buffer_bytes;
};

void coll_queue_push(struct coll *, const struct coll_request *);

/* Memory for a call, at least `bytes`; valid until the next call of this
 * function.  NULL: there is none. */
void *coll_queue_buffer(struct coll *, size_t bytes, struct err *);

/* Begin a call on the memory of the host; see coll.h. */
void coll_host_sum(struct coll *, float *x, int64_t n);
void coll_host_reduce(struct coll *, float *acc, float *in,
                      const int64_t *bounds, bool set);
void coll_host_gather(struct coll *, void *data, const int64_t *bounds,
                      size_t size);
/* Carry out a call, by exchanges between the ranks. */
int coll_host_run(struct coll *, const struct coll_request *, struct err *);

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
