/*
 * nccl_emu - a stand-in for NCCL, for the emulated device
 *
 * The ranks of one machine exchange data through shared memory, a piece at a
 * time.  Each call is given to a stream of the emulator, so that it runs after
 * the work before it.  GTRAIN_NCCL_LIB names the library.
 *
 * NCCL_SHIM_FAIL=n: call n fails.  NCCL_SHIM_STUCK=r:n: call n of rank r does
 * not return until its communicator is aborted.  NCCL_SHIM_WRONG=1: sums leave
 * out the last rank.  NCCL_SHIM_EVEN=1: only the last rank's part, which may be
 * larger than the others, can be reduced or broadcast by itself.
 * NCCL_SHIM_NEVER=1: the ranks never connect.
 *
 * Calls do not block: the first states after them are "in progress".  Aborting
 * a communicator frees it, and a use after that is a segmentation fault.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/half.h"
#include "trainer/ranks/coll_nccl.h"

enum { PIECE = 1 << 18, MOST = 16, SYSTEM_ERROR = 2 };

struct shared {
    atomic_int here, turn, came;
    char piece[MOST][PIECE];
};

struct ring {
    int rank, size, calls;
    struct shared *s;
    char name[64];
    atomic_bool aborted;
    atomic_int captured; /* calls in graphs that are not freed */
    int fail_at, stuck_at, wrong;
    bool even, never;
    int busy; /* how often the state is "in progress" from now on */
};

/* What NCCL frees when it is aborted: a page, so that a use of it is seen. */
struct nccl_comm {
    struct ring *ring;
};

/* A call that is given to a stream. */
struct call {
    struct ring *ring;
    const char *send;
    char *recv;
    size_t bytes;
    int root; /* -1: every rank receives the sum */
    int adds; /* numbers of this type; 0: root's bytes */
    bool stuck, captured;
};

static bool wait_until(struct ring *c, atomic_int *x, int from)
{
    while (atomic_load(x) == from) {
        if (atomic_load(&c->aborted))
            return false;
        sched_yield();
    }
    return true;
}

/* Wait until all ranks have come; false: aborted. */
static bool meet(struct ring *c)
{
    struct shared *s = c->s;
    const int turn = atomic_load(&s->turn);

    if (atomic_fetch_add(&s->came, 1) + 1 < c->size)
        return wait_until(c, &s->turn, turn);
    atomic_store(&s->came, 0);
    atomic_fetch_add(&s->turn, 1);
    return true;
}

static void add_up(const struct ring *c, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0;

        for (int r = 0; r < c->size - c->wrong; r++)
            sum += ((const float *)c->s->piece[r])[i];
        out[i] = sum;
    }
}

static void add_up_halves(const struct ring *c, uint16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t sum = 0;

        for (int r = 0; r < c->size - c->wrong; r++)
            sum = bf16_from_float(
                float_from_bf16(sum) +
                float_from_bf16(((const uint16_t *)c->s->piece[r])[i]));
        out[i] = sum;
    }
}

static size_t size_of(int type)
{
    return type == NCCL_F32    ? sizeof(float)
           : type == NCCL_BF16 ? sizeof(uint16_t)
                               : 0;
}

static void add_pieces(const struct call *k, void *out, size_t bytes)
{
    if (k->adds == NCCL_F32)
        add_up(k->ring, out, bytes / sizeof(float));
    else
        add_up_halves(k->ring, out, bytes / sizeof(uint16_t));
}

static void run_call(void *arg)
{
    struct call *k = arg;
    struct ring *c = k->ring;
    atomic_int never = 0;

    if (k->stuck)
        wait_until(c, &never, 0);
    for (size_t at = 0; at < k->bytes; at += PIECE) {
        const size_t n = k->bytes - at < PIECE ? k->bytes - at : PIECE;

        if (k->adds || c->rank == k->root)
            memcpy(c->s->piece[c->rank], k->send + at, n);
        if (!meet(c))
            break;
        if (!k->adds)
            memmove(k->recv + at, c->s->piece[k->root], n);
        else if (k->root < 0 || c->rank == k->root)
            add_pieces(k, k->recv + at, n);
        if (!meet(c))
            break;
    }
}

static void drop_call(void *arg)
{
    struct call *k = arg;

    if (k->captured)
        atomic_fetch_sub(&k->ring->captured, 1);
    free(k);
}

static int grouped; /* depth of groups */

static bool find(void *function, size_t size, const char *name)
{
    void *at = dlsym(RTLD_DEFAULT, name);

    memcpy(function, &at, size);
    return at != NULL;
}

static int submit(struct call call, void *stream)
{
    typedef void give_fn(void *stream, void (*)(void *), void (*)(void *),
                         void *);
    typedef bool ask_fn(void *stream);
    give_fn *give = NULL;
    ask_fn *captures = NULL, *refuses = NULL;
    struct call *k = malloc(sizeof *k);

    call.ring->calls++;
    if (!k || call.ring->calls == call.ring->fail_at ||
        !find(&give, sizeof give, "emu_submit") ||
        !find(&captures, sizeof captures, "emu_captures") ||
        !find(&refuses, sizeof refuses, "emu_refuses") || refuses(stream)) {
        free(k);
        return SYSTEM_ERROR;
    }
    call.stuck = call.ring->calls == call.ring->stuck_at;
    call.captured = captures(stream);
    if (call.captured)
        atomic_fetch_add(&call.ring->captured, 1);
    *k = call;
    give(stream, run_call, drop_call, k);
    call.ring->busy = 2;
    return grouped ? NCCL_OK : NCCL_IN_PROGRESS;
}

/* ---- NCCL's own names ---------------------------------------------------- */

int ncclGetUniqueId(struct nccl_id *);
int ncclCommInitRankConfig(struct nccl_comm **, int, struct nccl_id, int,
                           struct nccl_config *);
int ncclCommGetAsyncError(struct nccl_comm *, int *);
int ncclCommAbort(struct nccl_comm *);
int ncclCommDestroy(struct nccl_comm *);
int ncclAllReduce(const void *, void *, size_t, int, int, struct nccl_comm *,
                  void *);
int ncclReduceScatter(const void *, void *, size_t, int, int,
                      struct nccl_comm *, void *);
int ncclAllGather(const void *, void *, size_t, int, struct nccl_comm *,
                  void *);
int ncclReduce(const void *, void *, size_t, int, int, int, struct nccl_comm *,
               void *);
int ncclBroadcast(const void *, void *, size_t, int, int, struct nccl_comm *,
                  void *);
int ncclGroupStart(void);
int ncclGroupEnd(void);
const char *ncclGetErrorString(int);
const char *ncclGetLastError(struct nccl_comm *);

int ncclGetUniqueId(struct nccl_id *id)
{
    snprintf(id->bytes, sizeof id->bytes, "/nccl_emu.%ld", (long)getpid());
    shm_unlink(id->bytes); /* of a job that was killed while it connected */
    return NCCL_OK;
}

int ncclCommInitRankConfig(struct nccl_comm **out, int size, struct nccl_id id,
                           int rank, struct nccl_config *config)
{
    struct ring *c = calloc(1, sizeof *c);
    struct nccl_comm *comm = mmap(NULL, sizeof *comm, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *never = getenv("NCCL_SHIM_NEVER");
    const char *fail = getenv("NCCL_SHIM_FAIL");
    const char *stuck = getenv("NCCL_SHIM_STUCK");
    const char *wrong = getenv("NCCL_SHIM_WRONG");
    const char *even = getenv("NCCL_SHIM_EVEN");
    int fd, who, at;

    if (!c || comm == MAP_FAILED || size > MOST ||
        config->magic != 0xcafebeef || config->size != sizeof *config ||
        config->blocking != 0)
        return SYSTEM_ERROR;
    *out = comm;
    comm->ring = c;
    c->rank = rank;
    c->size = size;
    snprintf(c->name, sizeof c->name, "%.60s", id.bytes);
    c->wrong = wrong && *wrong == '1';
    c->even = even && *even == '1';
    if (fail)
        c->fail_at = (int)strtol(fail, NULL, 10);
    if (stuck && sscanf(stuck, "%d:%d", &who, &at) == 2 && who == rank)
        c->stuck_at = at;
    fd = shm_open(c->name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *c->s) < 0)
        return SYSTEM_ERROR;
    c->s = mmap(NULL, sizeof *c->s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c->s == MAP_FAILED)
        return SYSTEM_ERROR;
    c->never = never && *never == '1';
    atomic_fetch_add(&c->s->here, 1);
    return NCCL_IN_PROGRESS;
}

int ncclCommGetAsyncError(struct nccl_comm *c, int *code)
{
    struct ring *r = c->ring;

    *code = NCCL_OK;
    if (r->never || atomic_load(&r->s->here) < r->size || r->busy > 0)
        *code = NCCL_IN_PROGRESS;
    else
        shm_unlink(r->name);
    r->busy -= r->busy > 0;
    return NCCL_OK;
}

/* Streams may have the ring.  Like NCCL, this returns when no graph has a call
 * of the communicator any more. */
int ncclCommAbort(struct nccl_comm *c)
{
    struct ring *r = c->ring;

    shm_unlink(r->name);
    atomic_store(&r->aborted, true);
    munmap(c, sizeof *c);
    while (atomic_load(&r->captured))
        usleep(1000);
    return NCCL_OK;
}

/* NCCL would wait here for ever. */
int ncclCommDestroy(struct nccl_comm *c)
{
    if (atomic_load(&c->ring->captured)) {
        fputs("nccl_emu: a graph has calls of a communicator that is "
              "destroyed\n",
              stderr);
        abort();
    }
    munmap(c->ring->s, sizeof *c->ring->s);
    free(c->ring);
    munmap(c, sizeof *c);
    return NCCL_OK;
}

int ncclAllReduce(const void *send, void *recv, size_t n, int type, int op,
                  struct nccl_comm *c, void *stream)
{
    if (!size_of(type) || op != NCCL_SUM)
        return SYSTEM_ERROR;
    return submit((struct call){ .ring = c->ring,
                                 .send = send,
                                 .recv = recv,
                                 .bytes = n * size_of(type),
                                 .root = -1,
                                 .adds = type },
                  stream);
}

static int reduce_to(const void *send, void *recv, size_t n, int type, int op,
                     int root, struct nccl_comm *c, void *stream)
{
    if (!size_of(type) || op != NCCL_SUM)
        return SYSTEM_ERROR;
    return submit((struct call){ .ring = c->ring,
                                 .send = send,
                                 .recv = recv,
                                 .bytes = n * size_of(type),
                                 .root = root,
                                 .adds = type },
                  stream);
}

int ncclReduce(const void *send, void *recv, size_t n, int type, int op,
               int root, struct nccl_comm *c, void *stream)
{
    if (c->ring->even && root != c->ring->size - 1)
        return SYSTEM_ERROR;
    return reduce_to(send, recv, n, type, op, root, c, stream);
}

static int broadcast_from(const void *send, void *recv, size_t n, int type,
                          int root, struct nccl_comm *c, void *stream)
{
    if (type != NCCL_U8)
        return SYSTEM_ERROR;
    return submit((struct call){ .ring = c->ring,
                                 .send = send,
                                 .recv = recv,
                                 .bytes = n,
                                 .root = root },
                  stream);
}

int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root,
                  struct nccl_comm *c, void *stream)
{
    if (c->ring->even && root != c->ring->size - 1)
        return SYSTEM_ERROR;
    return broadcast_from(send, recv, n, type, root, c, stream);
}

int ncclReduceScatter(const void *send, void *recv, size_t n_each, int type,
                      int op, struct nccl_comm *c, void *stream)
{
    int code = NCCL_OK;

    grouped++;
    for (int r = 0; r < c->ring->size && code == NCCL_OK; r++)
        code =
            reduce_to((const char *)send + (size_t)r * n_each * size_of(type),
                      recv, n_each, type, op, r, c, stream);
    grouped--;
    return code != NCCL_OK || grouped ? code : NCCL_IN_PROGRESS;
}

int ncclAllGather(const void *send, void *recv, size_t n_each, int type,
                  struct nccl_comm *c, void *stream)
{
    int code = NCCL_OK;

    grouped++;
    for (int r = 0; r < c->ring->size && code == NCCL_OK; r++)
        code = broadcast_from(send, (char *)recv + (size_t)r * n_each, n_each,
                              type, r, c, stream);
    grouped--;
    return code != NCCL_OK || grouped ? code : NCCL_IN_PROGRESS;
}

int ncclGroupStart(void)
{
    grouped++;
    return NCCL_OK;
}

int ncclGroupEnd(void)
{
    return --grouped ? NCCL_OK : NCCL_IN_PROGRESS;
}

const char *ncclGetErrorString(int code)
{
    return code == SYSTEM_ERROR ? "unhandled system error" : "no error";
}

const char *ncclGetLastError(struct nccl_comm *c)
{
    (void)c;
    return "the shim was asked to fail";
}
