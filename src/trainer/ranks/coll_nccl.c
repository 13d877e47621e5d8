/*
 * coll_nccl - sums between GPUs, by NVIDIA's library
 *
 * The library is loaded when it is needed.  Its calls are declared in
 * coll_nccl.h, from NCCL's documentation of version 2.14, the first one with
 * communicators that do not block.
 *
 * All calls go to one stream, apart from the one that computes, so that all
 * ranks make them in one order.  Equal parts are reduced and gathered by one
 * call, and the rest that the last rank has by another; parts of different
 * sizes take one call each.  The calls are in a group, which NCCL runs as one
 * operation.
 *
 * Calls may be recorded with the micro-step that they belong to.  Events that
 * were recorded cannot be queried, so nothing asks about these calls; when they
 * run, one event after them stands for all.  NCCL does not free a communicator
 * before the work that has its calls was freed, not even to abort it.
 *
 * For sums in bf16, numbers are rounded to a copy and added back on that
 * stream, too; NCCL rounds each sum of two.
 */
#include "config.h"
#include "trainer/ranks/coll_nccl.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dl.h"
#include "common/mem.h"
#include "common/num.h"
#include "kernels/dev.h"
#include "trainer/ranks/coll.h"

/* ---- the library ----------------------------------------------------- */

#define AT(member) offsetof(struct nccl_calls, member)

/* clang-format off */
static const struct dl_symbol calls[] = {
    { "ncclGetUniqueId", AT(get_id) },
    { "ncclCommInitRankConfig", AT(init) },
    { "ncclCommGetAsyncError", AT(state) },
    { "ncclCommAbort", AT(abort) },
    { "ncclCommDestroy", AT(destroy) },
    { "ncclAllReduce", AT(all_reduce) },
    { "ncclReduceScatter", AT(reduce_scatter) },
    { "ncclAllGather", AT(all_gather) },
    { "ncclReduce", AT(reduce) },
    { "ncclBroadcast", AT(broadcast) },
    { "ncclGroupStart", AT(group_start) },
    { "ncclGroupEnd", AT(group_end) },
    { "ncclGetErrorString", AT(error_string) },
    { "ncclGetLastError", AT(last_error) },
    { 0 }
};
/* clang-format on */

const char *coll_nccl_name(void)
{
    const char *own = getenv("GTRAIN_NCCL_LIB");

    return own && *own ? own : "libnccl.so.2";
}

int coll_nccl_load(struct nccl_calls *out, struct err *e)
{
    /* recorded calls use the algorithms of others, and ranks exchange nothing
     * while they record */
    setenv("NCCL_GRAPH_REGISTER", "0", 0);
    if (dl_load(out, calls, coll_nccl_name(), e) < 0)
        return err_wrap(e, "cannot load NCCL 2.14 or newer");
    return 0;
}

/* ---- a communicator -------------------------------------------------- */

struct nccl_link {
    struct nccl_calls nccl;
    struct nccl_comm *comm;
    uint64_t finished;    /* of device_begun, as far as is known */
    pthread_mutex_t lock; /* of the three that follow, and of the state */
    double progress_at;   /* when a call last began or ended */
    bool aborted;         /* comm is being freed */
    bool recording;       /* calls are recorded */
    double connect_limit;
    bool calling;   /* the host is inside a call */
    uint16_t *copy; /* for sums in bf16 */
    int64_t copy_room;
    struct err err; /* the first failure */
};

/* The host begins a call, or one has ended; false: calls were aborted. */
static bool note_progress(struct nccl_link *k)
{
    bool good;

    pthread_mutex_lock(&k->lock);
    k->progress_at = clock_mono();
    good = !k->aborted;
    pthread_mutex_unlock(&k->lock);
    return good;
}

/* Some versions connect the ranks when the first call is made. */
static bool is_connecting(const struct nccl_link *k)
{
    return __atomic_load_n(&k->finished, __ATOMIC_ACQUIRE) == 0;
}

static void *run_abort(void *arg)
{
    const struct nccl_link *k = arg;

    k->nccl.abort(k->comm);
    return NULL;
}

/* Kernels of the communicator end at once, but the call may last until recorded
 * work is freed, or until other ranks abort, so nothing waits for it. */
static void begin_abort(struct nccl_link *k)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_abort, k) == 0)
        pthread_detach(thread);
}

/* Abort calls if there was no progress for too long, or `now`, and tell whether
 * they are aborted.  NCCL frees the communicator then, so this is done once,
 * and never while a state is read.  Called by the thread of coll.c, too. */
static bool abort_calls(const struct coll *c, bool now)
{
    struct nccl_link *k = c->device_state;
    double limit;
    bool was;

    pthread_mutex_lock(&k->lock);
    was = k->aborted;
    limit = is_connecting(k) ? k->connect_limit : c->timeout;
    k->aborted = was || now || clock_mono() - k->progress_at > limit;
    if (k->aborted && !was)
        begin_abort(k);
    now = k->aborted;
    pthread_mutex_unlock(&k->lock);
    return now;
}

/* The state of the communicator; an error once calls are aborted. */
static int state_of(struct nccl_link *k)
{
    int code = NCCL_INTERNAL;

    pthread_mutex_lock(&k->lock);
    if (!k->aborted && k->nccl.state(k->comm, &code) != NCCL_OK)
        code = NCCL_INTERNAL;
    pthread_mutex_unlock(&k->lock);
    return code;
}

static int no_answer(const struct coll *c, struct err *e)
{
    const struct nccl_link *k = c->device_state;
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    if (is_connecting(k))
        return err_set(e, ERR_RANK,
                       "NCCL: rank %d on host %.64s did not connect to all "
                       "ranks within %.0f s; run again with NCCL_DEBUG=INFO to "
                       "see why, and check that NCCL_SOCKET_IFNAME names the "
                       "network between the hosts and that no firewall blocks "
                       "it",
                       c->rank, host, k->connect_limit);
    return err_set(e, ERR_RANK,
                   "NCCL: a rank did not respond to rank %d for %.0f s",
                   c->rank, c->timeout);
}

static void set_failed(struct coll *c, const char *what, int code)
{
    struct nccl_link *k = c->device_state;
    const char *more;

    if (k->err.kind != ERR_NONE)
        return;
    if (abort_calls(c, false)) {
        no_answer(c, &k->err);
        return;
    }
    more = k->nccl.last_error(k->comm);
    err_set(&k->err, ERR_RANK, "NCCL: %s: %s%s%.200s%s", what,
            k->nccl.error_string(code), more && *more ? ": " : "",
            more ? more : "",
            k->recording ? "; this call was to be part of a CUDA graph, which "
                           "train.cuda_graphs = no prevents"
                         : "");
    abort_calls(c, true);
}

/* Yield the processor; after about a millisecond, sleep for a moment. */
static void pause_briefly(int idle)
{
    if (idle < 1000)
        sched_yield();
    else
        usleep(50);
}

/* Wait until a call of the communicator, which does not block, has begun.  That
 * takes some ten microseconds, unless ranks have yet to connect. */
static bool await_call(struct coll *c, const char *what, int code)
{
    struct nccl_link *k = c->device_state;

    for (int idle = 0; code == NCCL_IN_PROGRESS; idle++) {
        abort_calls(c, false);
        code = state_of(k);
        if (code == NCCL_IN_PROGRESS)
            pause_briefly(idle);
    }
    if (code != NCCL_OK)
        set_failed(c, what, code);
    return k->err.kind == ERR_NONE;
}

enum { CONNECT_SECS = 300 }; /* hundreds of ranks take minutes */

static double limit_of_connecting(const struct coll *c)
{
    const char *own = getenv("GTRAIN_NCCL_CONNECT");
    double seconds;

    if (own && num_secs(own, &seconds) && seconds > 0)
        return seconds;
    return fmax(c->timeout, CONNECT_SECS);
}

/* A thread that aborts calls keeps it. */
static void free_link(struct nccl_link *k)
{
    if (!k->aborted)
        free(k);
}

static int nccl_open(struct coll *c, struct err *e)
{
    struct nccl_config config = NCCL_CONFIG;
    struct nccl_link *k = xcalloc(1, sizeof *k);
    struct nccl_id id = { { 0 } };
    int code = NCCL_OK;

    pthread_mutex_init(&k->lock, NULL);
    k->connect_limit = limit_of_connecting(c);
    c->device_state = k;
    note_progress(k);
    if (coll_nccl_load(&k->nccl, e) < 0)
        goto failed;
    if (c->rank == 0)
        code = k->nccl.get_id(&id);
    coll_bcast(c, &id, sizeof id, 0);
    if (coll_end(c, c->begun, e) < 0)
        goto failed;
    if (code == NCCL_OK)
        code = k->nccl.init(&k->comm, c->size, id, c->rank, &config);
    if (await_call(c, "cannot connect the ranks", code))
        return 0;
    *e = k->err;
failed:
    free_link(k);
    c->device_state = NULL;
    return -1;
}

static void nccl_close(struct coll *c)
{
    struct nccl_link *k = c->device_state;

    if (!k->aborted)
        k->nccl.destroy(k->comm);
    dev_free(c->dev, k->copy);
    free_link(k);
}

/* ---- calls ----------------------------------------------------------- */

/* Has no call failed, so that another one may begin? */
static bool may_call(struct coll *c)
{
    struct nccl_link *k = c->device_state;

    if (k->err.kind == ERR_NONE && !note_progress(k))
        set_failed(c, "timeout", NCCL_INTERNAL);
    return k->err.kind == ERR_NONE;
}

/* The stream for the next call, or NULL after a failure. */
static void *begin_call(struct coll *c)
{
    struct nccl_link *k = c->device_state;
    void *stream;

    if (!may_call(c))
        return NULL;
    __atomic_store_n(&k->calling, true, __ATOMIC_RELEASE);
    stream = c->dev->type->second_stream_begin(c->dev);
    __atomic_store_n(&k->calling, stream != NULL, __ATOMIC_RELEASE);
    return stream;
}

static void end_call(struct coll *c)
{
    struct nccl_link *k = c->device_state;
    const uint64_t number = c->device_begun + 1;

    c->dev->type->second_stream_end(c->dev, (int)(number % DEV_STREAM_SLOTS));
    __atomic_store_n(&c->device_begun, number, __ATOMIC_RELEASE);
    __atomic_store_n(&k->calling, false, __ATOMIC_RELEASE);
}

/* The size of all parts, except that the last one may have more; 0 if they are
 * not equal. */
static int64_t equal_part(const struct coll *c, const int64_t *bounds)
{
    const int64_t each = bounds[1] - bounds[0];

    for (int r = 1; r < c->size - 1; r++)
        if (bounds[r + 1] - bounds[r] != each)
            return 0;
    return bounds[c->size] - bounds[c->size - 1] >= each ? each : 0;
}

/* Of two codes, the one that is an error, if there is one. */
static int worse(int a, int b)
{
    return a != NCCL_OK && a != NCCL_IN_PROGRESS ? a : b;
}

static void count_bytes(struct coll *c, int64_t all, int64_t own)
{
    /* a ring: each rank forwards everything but its own part */
    c->sent += (uint64_t)(all - own);
    c->received += (uint64_t)(all - own);
}

static int nccl_check(struct coll *c, struct err *e);

/* Room for a copy of n numbers.  It grows in the first step, when the largest
 * unit is summed for the first time. */
static bool make_room(struct coll *c, int64_t n)
{
    struct nccl_link *k = c->device_state;

    if (n <= k->copy_room || k->err.kind != ERR_NONE)
        return k->err.kind == ERR_NONE;
    assert(!k->recording);
    if (nccl_check(c, &k->err) < 0)
        return false;
    dev_free(c->dev, k->copy);
    k->copy =
        dev_alloc(c->dev, (size_t)n * sizeof *k->copy, DEV_SCRATCH, &k->err);
    k->copy_room = k->copy ? n : 0;
    return k->copy != NULL;
}

/* The tensor that is sent for x: x itself, or its copy in bf16. */
static struct tensor sent_of(struct coll *c, float *x, int64_t n)
{
    struct nccl_link *k = c->device_state;

    if (c->bf16 && make_room(c, n))
        return tensor_vector(k->copy, DT_BF16, n);
    return tensor_vector(x, DT_F32, n);
}

static int nccl_type(const struct tensor *t)
{
    return t->type == DT_BF16 ? NCCL_BF16 : NCCL_F32;
}

static void copy_if_other(struct coll *c, struct tensor *to,
                          const struct tensor *from)
{
    to->overwrite = true;
    if (to->data != from->data)
        c->dev->ops->accum(c->dev, to, from);
}

static void nccl_sum(struct coll *c, float *x, int64_t n)
{
    struct nccl_link *k = c->device_state;
    struct tensor all = tensor_vector(x, DT_F32, n), sent = sent_of(c, x, n);
    const int64_t bytes = n * (int64_t)dtype_size(sent.type);
    void *stream = begin_call(c);

    if (!stream)
        return;
    copy_if_other(c, &sent, &all);
    await_call(c, "all-reduce failed",
               k->nccl.all_reduce(sent.data, sent.data, (size_t)n,
                                  nccl_type(&sent), NCCL_SUM, k->comm, stream));
    copy_if_other(c, &all, &sent);
    end_call(c);
    count_bytes(c, 2 * bytes, 2 * bytes / c->size);
}

/* Every rank gets the sums of its part.  Of each part, `each` elements are
 * reduced by one call. */
static int reduce_parts(struct coll *c, const struct tensor *acc,
                        const struct tensor *in, const int64_t *bounds,
                        void *stream)
{
    struct nccl_link *k = c->device_state;
    const size_t size = dtype_size(in->type);
    const int64_t each = equal_part(c, bounds);
    const int type = nccl_type(in);
    char *to = (char *)acc->data + (size_t)each * size;
    int code = NCCL_OK;

    k->nccl.group_start();
    if (each)
        code = k->nccl.reduce_scatter(in->data, acc->data, (size_t)each, type,
                                      NCCL_SUM, k->comm, stream);
    for (int r = each ? c->size - 1 : 0; r < c->size && code == NCCL_OK; r++) {
        const int64_t n = bounds[r + 1] - bounds[r] - each;
        const size_t at = (size_t)(bounds[r] + each) * size;

        if (n)
            code = k->nccl.reduce((const char *)in->data + at, to, (size_t)n,
                                  type, NCCL_SUM, r, k->comm, stream);
    }
    return worse(code, k->nccl.group_end());
}

/* Unless acc is to be set, it is added to the own part before the sum or, if
 * the sum is sent in bf16, after it. */
static void nccl_reduce(struct coll *c, float *acc, float *in,
                        const int64_t *bounds, bool set)
{
    struct nccl_link *k = c->device_state;
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    const int64_t n = bounds[c->size], sum_at = (n + 7) / 8 * 8;
    const struct tensor all = tensor_vector(in, DT_F32, n);
    struct tensor sent = sent_of(c, in, sum_at + own);
    struct tensor to = tensor_vector(acc, DT_F32, own), sum = to;
    struct tensor part = tensor_vector(in + bounds[c->rank], DT_F32, own);
    void *stream;

    sent.dim[0] = n;
    to.overwrite = set;
    if (sent.data != in)
        sum = tensor_vector(k->copy + sum_at, DT_BF16, own);
    else if (!set && own && k->err.kind == ERR_NONE)
        c->dev->ops->accum(c->dev, &part, &to);
    stream = begin_call(c);
    if (!stream)
        return;
    copy_if_other(c, &sent, &all);
    await_call(c, "reduce-scatter failed",
               reduce_parts(c, &sum, &sent, bounds, stream));
    if (sum.data != to.data)
        c->dev->ops->accum(c->dev, &to, &sum);
    end_call(c);
    count_bytes(c, n * (int64_t)dtype_size(sent.type),
                own * (int64_t)dtype_size(sent.type));
}

/* Every rank gets the parts of all ranks, by calls as in reduce_parts(). */
static int gather_parts(struct coll *c, char *data, const int64_t *bounds,
                        size_t size, void *stream)
{
    struct nccl_link *k = c->device_state;
    const int64_t each = equal_part(c, bounds);
    int code = NCCL_OK;

    k->nccl.group_start();
    if (each)
        code =
            k->nccl.all_gather(data + (size_t)bounds[c->rank] * size, data,
                               (size_t)each * size, NCCL_U8, k->comm, stream);
    for (int r = each ? c->size - 1 : 0; r < c->size && code == NCCL_OK; r++) {
        const int64_t n = bounds[r + 1] - bounds[r] - each;
        char *at = data + (size_t)(bounds[r] + each) * size;

        if (n)
            code = k->nccl.broadcast(at, at, (size_t)n * size, NCCL_U8, r,
                                     k->comm, stream);
    }
    return worse(code, k->nccl.group_end());
}

static void nccl_gather(struct coll *c, void *data, const int64_t *bounds,
                        size_t size)
{
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    void *stream = begin_call(c);

    if (!stream)
        return;
    await_call(c, "all-gather failed",
               gather_parts(c, data, bounds, size, stream));
    end_call(c);
    count_bytes(c, bounds[c->size] * (int64_t)size, own * (int64_t)size);
}

static void nccl_wait_for(struct coll *c, uint64_t begun)
{
    const struct nccl_link *k = c->device_state;

    if (begun > k->finished)
        c->dev->type->second_stream_wait(c->dev,
                                         (int)(begun % DEV_STREAM_SLOTS));
}

/* ---- recorded calls -------------------------------------------------- */

/* The lock: the thread of coll.c must not ask about recorded calls. */
static void nccl_record(struct coll *c, bool on, uint64_t begun)
{
    struct nccl_link *k = c->device_state;

    pthread_mutex_lock(&k->lock);
    k->recording = on;
    __atomic_store_n(&c->device_begun, begun, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&k->lock);
}

static void nccl_run_recorded(struct coll *c, struct dev_capture *work)
{
    struct nccl_link *k = c->device_state;

    if (!may_call(c))
        return;
    __atomic_store_n(&k->calling, true, __ATOMIC_RELEASE);
    c->dev->type->capture_run(c->dev, work);
    if (begin_call(c))
        end_call(c);
}

/* ---- failures -------------------------------------------------------- */

/* Wait on the host for all calls. */
static int nccl_check(struct coll *c, struct err *e)
{
    struct nccl_link *k = c->device_state;
    int idle = 0;

    while (k->finished < c->device_begun && k->err.kind == ERR_NONE) {
        const uint64_t next = k->finished + 1;
        /* older calls have lost their slots to later ones */
        const uint64_t slot = next + DEV_STREAM_SLOTS <= c->device_begun
                                  ? c->device_begun - DEV_STREAM_SLOTS + 1
                                  : next;
        int code;

        if (c->dev->type->second_stream_done(c->dev,
                                             (int)(slot % DEV_STREAM_SLOTS))) {
            __atomic_store_n(&k->finished, slot, __ATOMIC_RELEASE);
            note_progress(k);
            idle = 0;
            continue;
        }
        code = state_of(k);
        if (code != NCCL_OK)
            await_call(c, "a collective failed", code);
        if (abort_calls(c, false))
            set_failed(c, "timeout", NCCL_INTERNAL);
        pause_briefly(idle++);
    }
    if (k->err.kind == ERR_NONE)
        return 0;
    *e = k->err;
    return -1;
}

/* Is a call in progress, as the thread of coll.c sees it?  The host may be busy
 * for long, with a validation or a checkpoint, without having noticed that all
 * calls are done. */
static bool is_waiting(const struct coll *c, struct nccl_link *k)
{
    uint64_t begun;
    bool waiting;

    pthread_mutex_lock(&k->lock);
    begun = __atomic_load_n(&c->device_begun, __ATOMIC_ACQUIRE);
    waiting = __atomic_load_n(&k->calling, __ATOMIC_ACQUIRE) ||
              (!k->recording &&
               begun > __atomic_load_n(&k->finished, __ATOMIC_ACQUIRE) &&
               !c->dev->type->second_stream_done(
                   c->dev, (int)(begun % DEV_STREAM_SLOTS)));
    pthread_mutex_unlock(&k->lock);
    return waiting;
}

/* The host may be waiting for the device, and the device for another rank. */
static int nccl_watch(struct coll *c, struct err *e)
{
    struct nccl_link *k = c->device_state;

    return is_waiting(c, k) && abort_calls(c, false) ? no_answer(c, e) : 0;
}

const struct coll_device coll_nccl = {
    .name = "nccl",
    .open = nccl_open,
    .close = nccl_close,
    .sum = nccl_sum,
    .reduce = nccl_reduce,
    .gather = nccl_gather,
    .wait_for = nccl_wait_for,
    .record = nccl_record,
    .run_recorded = nccl_run_recorded,
    .check = nccl_check,
    .watch = nccl_watch,
};
