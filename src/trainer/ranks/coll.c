#include "config.h"
#include "trainer/ranks/coll.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "kernels/dev.h"
#include "trainer/ranks/coll_nccl.h"

bool coll_is_linked(const struct coll *c, int rank)
{
    const int up = (rank - c->rank + c->size) % c->size, down = c->size - up;

    if (up == 0 || c->size <= COLL_DIRECT)
        return up != 0;
    return (up & (up - 1)) == 0 || (down & (down - 1)) == 0;
}

/* ---- the thread --------------------------------------------------------- */

/* Seconds for the program to notice that a rank has died. */
static const double GRACE = 3;

static void set_failed(struct coll_queue *q, const struct err *e)
{
    if (!q->failed) {
        q->err = *e;
        q->failed = true;
        q->failed_at = clock_mono();
    }
}

/* Wait, but not for long: the ranks have to be watched. */
static void wait_briefly(struct coll_queue *q, pthread_cond_t *cond)
{
    const struct timespec until = clock_after(CLOCK_REALTIME, 0.2);

    pthread_cond_timedwait(cond, &q->lock, &until);
}

static void watch_ranks(struct coll *c)
{
    struct coll_queue *q = c->queue;
    struct err e = { 0 };

    if (!q->failed &&
        ((c->type->watch && c->type->watch(c, &e) < 0) ||
         (c->device && c->device->watch && c->device->watch(c, &e) < 0)))
        set_failed(q, &e);
    if (q->failed && !q->reported &&
        clock_mono() - q->failed_at >
            (c->type->grace > 0 ? c->type->grace : GRACE)) {
        if (q->on_death)
            q->on_death(q->death_arg, q->err.text);
        log_error("%s", q->err.text);
        _exit(err_status(q->err.kind));
    }
}

static void *run_queue(void *arg)
{
    struct coll *c = arg;
    struct coll_queue *q = c->queue;

    pthread_mutex_lock(&q->lock);
    while (!q->stop || q->n) {
        struct err e = { 0 };
        struct coll_request request;
        int ret = 0;

        if (q->n == 0) {
            wait_briefly(q, &q->todo);
            if (!q->watching)
                watch_ranks(c);
            continue;
        }
        request = q->request[q->first];
        if (!q->failed) {
            pthread_mutex_unlock(&q->lock);
            ret = coll_host_run(c, &request, &e);
            pthread_mutex_lock(&q->lock);
        }
        if (ret < 0)
            set_failed(q, &e);
        q->first = (q->first + 1) % q->room;
        q->n--;
        q->finished++;
        pthread_cond_broadcast(&q->done);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static void *run_watch(void *arg)
{
    struct coll *c = arg;
    struct coll_queue *q = c->queue;

    pthread_mutex_lock(&q->lock);
    while (!q->stop || q->n) {
        wait_briefly(q, &q->stopped);
        watch_ranks(c);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

void coll_queue_push(struct coll *c, const struct coll_request *request)
{
    struct coll_queue *q = c->queue;

    if (!q)
        return;
    c->begun++;
    pthread_mutex_lock(&q->lock);
    if (q->n == q->room) {
        const size_t room = q->room ? 2 * q->room : 64;
        struct coll_request *ring = xcalloc(room, sizeof *ring);

        for (size_t i = 0; i < q->n; i++)
            ring[i] = q->request[(q->first + i) % q->room];
        free(q->request);
        q->request = ring;
        q->room = room;
        q->first = 0;
    }
    q->request[(q->first + q->n++) % q->room] = *request;
    pthread_cond_signal(&q->todo);
    pthread_mutex_unlock(&q->lock);
}

static void wait_for_queue(struct coll *c, uint64_t begun)
{
    struct coll_queue *q = c->queue;
    double before;

    if (!q)
        return;
    before = clock_mono();
    pthread_mutex_lock(&q->lock);
    while (q->finished < begun)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
    c->waited += clock_mono() - before;
}

int coll_end(struct coll *c, uint64_t call, struct err *e)
{
    struct coll_queue *q = c->queue;
    int ret = 0;

    if (!q)
        return 0;
    wait_for_queue(c, call);
    pthread_mutex_lock(&q->lock);
    if (q->failed) {
        *e = q->err;
        q->reported = true;
        ret = -1;
    }
    pthread_mutex_unlock(&q->lock);
    return ret;
}

void coll_on_death(struct coll *c, coll_death_fn *call, void *arg)
{
    struct coll_queue *q = c->queue;

    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->on_death = call;
    q->death_arg = arg;
    pthread_mutex_unlock(&q->lock);
}

/* Make memory at least so large, without what it holds. */
static void *grow(void **data, size_t *size, size_t bytes, struct err *e)
{
    if (bytes > *size) {
        free(*data);
        *data = mem_alloc(bytes, 1, "a buffer for collectives", e);
        *size = *data ? bytes : 0;
    }
    return *data;
}

void *coll_queue_buffer(struct coll *c, size_t bytes, struct err *e)
{
    return grow(&c->queue->buffer, &c->queue->buffer_bytes, bytes, e);
}

static int open_queue(struct coll *c, struct err *e)
{
    struct coll_queue *q = xcalloc(1, sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->todo, NULL);
    pthread_cond_init(&q->done, NULL);
    pthread_cond_init(&q->stopped, NULL);
    q->part = xcalloc((size_t)c->size, sizeof *q->part);
    q->bounds = xcalloc((size_t)c->size + 1, sizeof *q->bounds);
    q->from = xcalloc((size_t)c->size, sizeof *q->from);
    c->queue = q;
    q->watching = c->type->watch_always &&
                  pthread_create(&q->watch, NULL, run_watch, c) == 0;
    q->running = pthread_create(&q->thread, NULL, run_queue, c) == 0;
    return q->running ? 0 : err_set(e, ERR_SYSTEM, "cannot start a thread");
}

static void close_queue(struct coll *c)
{
    struct coll_queue *q = c->queue;

    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_signal(&q->todo);
    pthread_cond_signal(&q->stopped);
    pthread_mutex_unlock(&q->lock);
    if (q->running)
        pthread_join(q->thread, NULL);
    if (q->watching)
        pthread_join(q->watch, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->todo);
    pthread_cond_destroy(&q->done);
    pthread_cond_destroy(&q->stopped);
    FREE(q->request, q->part, q->bounds, q->from, q->buffer, q);
    c->queue = NULL;
}

/* ---- calls --------------------------------------------------------------- */

void coll_sum(struct coll *c, float *x, int64_t n)
{
    if (c->device)
        c->device->sum(c, x, n);
    else
        coll_host_sum(c, x, n);
}

/* A sum of one rank, on a device. */
static void add_alone(struct coll *c, float *acc, float *in, int64_t n,
                      bool set)
{
    const struct tensor from = tensor_vector(in, DT_F32, n);
    struct tensor to = tensor_vector(acc, DT_F32, n);

    to.overwrite = set;
    if (acc != in || !set)
        c->dev->ops->accum(c->dev, &to, &from);
}

void coll_reduce(struct coll *c, float *acc, float *in, const int64_t *bounds,
                 bool set)
{
    if (c->device)
        c->device->reduce(c, acc, in, bounds, set);
    else if (c->dev)
        add_alone(c, acc, in, bounds[1], set);
    else
        coll_host_reduce(c, acc, in, bounds, set);
}

void coll_gather(struct coll *c, void *data, const int64_t *bounds, size_t size)
{
    if (c->device)
        c->device->gather(c, data, bounds, size);
    else
        coll_host_gather(c, data, bounds, size);
}

void coll_bcast(struct coll *c, void *data, size_t bytes, int root)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_BCAST,
                                               .out = data,
                                               .n = (int64_t)bytes,
                                               .root = root });
}

void coll_collect(struct coll *c, void *data, const void *own,
                  const int64_t *bounds, size_t size)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_COLLECT,
                                               .out = data,
                                               .own = own,
                                               .bounds = bounds,
                                               .size = size });
    if (c->size == 1)
        memcpy(data, own, (size_t)bounds[1] * size);
}

uint64_t coll_begun(const struct coll *c)
{
    return c->device ? c->device_begun : c->begun;
}

void coll_wait_for(struct coll *c, uint64_t begun)
{
    if (!c->device)
        wait_for_queue(c, begun);
    else if (c->device->wait_for)
        c->device->wait_for(c, begun);
}

void coll_wait(struct coll *c)
{
    coll_wait_for(c, coll_begun(c));
    wait_for_queue(c, c->begun);
}

int coll_check(struct coll *c, struct err *e)
{
    coll_wait(c);
    if (c->device && c->device->check(c, e) < 0)
        return -1;
    return coll_end(c, c->begun, e);
}

bool coll_can_record(const struct coll *c)
{
    return c->device ? c->device->record != NULL : c->dev && c->size == 1;
}

void coll_record_begin(struct coll *c, struct coll_calls *calls)
{
    *calls = (struct coll_calls){ coll_begun(c), c->sent, c->received };
    if (c->device)
        c->device->record(c, true, calls->begun);
}

void coll_record_end(struct coll *c, struct coll_calls *calls)
{
    const struct coll_calls was = *calls;

    calls->sent = c->sent - was.sent;
    calls->received = c->received - was.received;
    c->sent = was.sent;
    c->received = was.received;
    if (c->device)
        c->device->record(c, false, was.begun);
}

void coll_run_recorded(struct coll *c, struct dev_capture *work,
                       const struct coll_calls *calls)
{
    c->sent += calls->sent;
    c->received += calls->received;
    if (c->device)
        c->device->run_recorded(c, work);
    else
        c->dev->type->capture_run(c->dev, work);
}

uint64_t coll_begin_sum_f64(struct coll *c, double *x, size_t n)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_SUM_F64,
                                               .out = x,
                                               .n = (int64_t)n });
    return c->begun;
}

int coll_sum_f64(struct coll *c, double *x, size_t n, struct err *e)
{
    return coll_end(c, coll_begin_sum_f64(c, x, n), e);
}

int coll_max(struct coll *c, int64_t *x, struct err *e)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_MAX, .out = x });
    return coll_end(c, c->begun, e);
}

int coll_barrier(struct coll *c, struct err *e)
{
    double nothing = 0.0;

    return coll_sum_f64(c, &nothing, 1, e);
}

int coll_compare(struct coll *c, const void *data, size_t n, int *rank,
                 struct err *e)
{
    AUTO_FREE char *first = xmalloc(n);
    int64_t differs;
    int ret;

    memcpy(first, data, n);
    coll_bcast(c, first, n, 0);
    ret = coll_end(c, c->begun, e);
    /* the lower the rank, the higher the number */
    differs = memcmp(first, data, n) != 0 ? c->size - c->rank : 0;
    if (ret == 0)
        ret = coll_max(c, &differs, e);
    *rank = differs ? c->size - (int)differs : 0;
    return ret;
}

void coll_bounds(const struct coll *c, int64_t n, int64_t step, int64_t *bounds)
{
    const int64_t groups = (n + step - 1) / step;

    for (int r = 0; r < c->size; r++)
        bounds[r] = groups * r / c->size * step;
    bounds[c->size] = n;
}

/* A job of one process, which has nothing to exchange. */
static const struct coll_type coll_none = { .name = "none" };

static const struct coll_type *choose_type(const struct launch *l,
                                           struct err *e)
{
    switch (l->kind) {
    case LAUNCH_ALONE:
        return &coll_none;
    case LAUNCH_TCP:
        return &coll_tcp;
    case LAUNCH_MPI:
#ifdef HAVE_MPI
        return &coll_mpi;
#endif
        break;
    }
    err_usage(e,
              "started by mpirun, but built without MPI; use gtrain --ranks, "
              "torchrun or srun");
    return NULL;
}

int coll_open(struct coll *c, const struct coll_conf *conf, struct err *e)
{
    const struct launch *l = conf->launch;

    *c = (struct coll){
        .type = choose_type(l, e),
        .rank = l->rank,
        .size = l->size,
        .local_rank = l->local_rank,
        .local_size = l->local_size,
        .native = conf->native,
        .bf16 = conf->bf16,
        .timeout = conf->timeout > 0 ? conf->timeout : 60,
    };
    if (!c->type)
        return -1;
    if (c->type == &coll_none)
        c->size = c->local_size = 1;
    if (c->type->open && c->type->open(c, conf, e) < 0) {
        c->type = NULL;
        coll_close(c);
        return -1;
    }
    if (c->size > 1 && open_queue(c, e) < 0) {
        coll_close(c);
        return -1;
    }
    return 0;
}

void coll_close(struct coll *c)
{
    assert(!c->device);
    close_queue(c);
    if (c->type && c->type->close)
        c->type->close(c);
    free(c->peer);
    *c = (struct coll){ 0 };
}

/* ---- through the host ------------------------------------------------ */

struct host_buffers {
    void *data[2]; /* copies of memory of the device */
    size_t size[2];
    struct err err; /* the first failure */
};

static int host_open(struct coll *c, struct err *e UNUSED)
{
    c->device_state = xcalloc(1, sizeof(struct host_buffers));
    return 0;
}

static void host_close(struct coll *c)
{
    struct host_buffers *h = c->device_state;

    FREE(h->data[0], h->data[1], h);
}

/* A buffer of at least `bytes`; NULL after a failure. */
static void *buffer_of(struct host_buffers *h, int which, size_t bytes)
{
    return h->err.kind == ERR_NONE
               ? grow(&h->data[which], &h->size[which], bytes, &h->err)
               : NULL;
}

/* Wait for the call on the host; false if it or an earlier one failed. */
static bool is_done(struct coll *c)
{
    struct host_buffers *h = c->device_state;

    return h->err.kind == ERR_NONE && coll_end(c, c->begun, &h->err) == 0;
}

static void *copy_to_host(struct coll *c, int which, const void *from, size_t n)
{
    struct host_buffers *h = c->device_state;
    void *to = buffer_of(h, which, n ? n : 1);

    if (!to)
        return NULL;
    c->dev->type->get(c->dev, to, from, n);
    return dev_sync(c->dev, &h->err) == 0 ? to : NULL;
}

static void host_sum(struct coll *c, float *x, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof *x;
    float *at = copy_to_host(c, 0, x, bytes);

    if (!at)
        return;
    coll_host_sum(c, at, n);
    if (is_done(c))
        c->dev->type->put(c->dev, x, at, bytes);
}

static void host_reduce(struct coll *c, float *acc, float *in,
                        const int64_t *bounds, bool set)
{
    const size_t own =
        (size_t)(bounds[c->rank + 1] - bounds[c->rank]) * sizeof *acc;
    float *from = copy_to_host(c, 0, in, (size_t)bounds[c->size] * sizeof *in);
    float *to = from ? copy_to_host(c, 1, acc, own) : NULL;

    if (!to)
        return;
    coll_host_reduce(c, to, from, bounds, set);
    if (is_done(c))
        c->dev->type->put(c->dev, acc, to, own);
}

static void host_gather(struct coll *c, void *data, const int64_t *bounds,
                        size_t size)
{
    const size_t at = (size_t)bounds[c->rank] * size;
    const size_t own = (size_t)(bounds[c->rank + 1] - bounds[c->rank]) * size;
    const size_t all = (size_t)bounds[c->size] * size;
    struct host_buffers *h = c->device_state;
    char *whole = buffer_of(h, 0, all);

    if (!whole)
        return;
    c->dev->type->get(c->dev, whole + at, (char *)data + at, own);
    if (dev_sync(c->dev, &h->err) < 0)
        return;
    coll_host_gather(c, whole, bounds, size);
    if (is_done(c))
        c->dev->type->put(c->dev, data, whole, all);
}

static int host_check(struct coll *c, struct err *e)
{
    const struct host_buffers *h = c->device_state;

    if (h->err.kind == ERR_NONE)
        return 0;
    *e = h->err;
    return -1;
}

static const struct coll_device coll_through_host = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .sum = host_sum,
    .reduce = host_reduce,
    .gather = host_gather,
    .check = host_check,
};

/* ---- choice ---------------------------------------------------------- */

/* Set c->device, which the thread of coll.c reads. */
static void set_device(struct coll *c, const struct coll_device *device)
{
    if (c->queue)
        pthread_mutex_lock(&c->queue->lock);
    c->device = device;
    if (c->queue)
        pthread_mutex_unlock(&c->queue->lock);
}

static int set_type(struct coll *c, const struct coll_device *type,
                    struct err *e)
{
    if (type->open && type->open(c, e) < 0)
        return -1;
    set_device(c, type);
    log_debug("device sums: %s", type->name);
    return 0;
}

/* NCCL, if all ranks have it. */
static int use_nccl(struct coll *c, struct err *e)
{
    struct nccl_calls calls;
    struct err why = { 0 };
    int64_t missing = coll_nccl_load(&calls, &why) < 0;

    if (coll_max(c, &missing, e) < 0)
        return -1;
    if (!missing)
        return set_type(c, &coll_nccl, e);
    if (c->rank == 0)
        log_warn("sums go through the host, which is slow: %s",
                 why.text[0] ? why.text : "NCCL is missing on another rank");
    return set_type(c, &coll_through_host, e);
}

int coll_use_device(struct coll *c, struct dev *dev, struct err *e)
{
    if (dev->type == &cpu_dev)
        return 0;
    c->dev = dev;
    if (c->size == 1)
        return 0;
    if (c->native && dev->type->second_stream_begin)
        return use_nccl(c, e);
    return set_type(c, &coll_through_host, e);
}

void coll_leave_device(struct coll *c)
{
    const struct coll_device *was = c->device;

    set_device(c, NULL);
    if (was && was->close)
        was->close(c);
    c->device_state = NULL;
    c->dev = NULL;
}
