#include "config.h"
#include "trainer/ranks/coll.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "trainer/ranks/coll_device.h"

enum { CHUNK = 1 << 20 }; /* floats of one part in flight */

static const double GRACE = 3; /* seconds to notice that a rank has gone */

struct job {
    enum {
        JOB_SUM,
        JOB_REDUCE,
        JOB_GATHER,
        JOB_COLLECT,
        JOB_BCAST,
        JOB_SUM_F64
    } kind;
    void *out;
    const void *in;
    int64_t n; /* elements, or bytes to broadcast */
    const int64_t *cut;
    size_t size; /* of an element */
    int root;
    bool fresh;
};

struct coll_queue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t todo, done;
    struct job *job; /* a ring: the oldest at `first` */
    size_t first, n, room;
    uint64_t finished; /* jobs */
    bool stop;
    bool failed; /* then err says why, and jobs are dropped */
    bool told;   /* coll_check() has handed it on */
    double failed_at;
    struct err err;
    struct coll_part *part; /* scratch of the thread */
    int64_t *cut;
    const float **from;
    float *scratch; /* size * CHUNK floats */
};

/* acc = acc + part of rank 0 + part of rank 1 + ..., element by element. */
static void add_in_order(float *acc, const float *const *part, int size,
                         int64_t n, bool fresh)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = fresh ? 0.0f : acc[i];

        for (int r = 0; r < size; r++)
            sum += part[r][i];
        acc[i] = sum;
    }
}

/* How many elements of a part are in flight in the round that begins at
 * `at`. */
static int64_t in_round(int64_t part, int64_t at)
{
    return part <= at ? 0 : part - at < CHUNK ? part - at : CHUNK;
}

/* acc may be the own part of in. */
static int reduce(struct coll *c, float *acc, const float *in,
                  const int64_t *cut, bool fresh, struct err *e)
{
    struct coll_queue *q = c->queue;
    const int64_t own = cut[c->rank + 1] - cut[c->rank];
    int64_t most = 0;

    for (int r = 0; r < c->size; r++)
        if (cut[r + 1] - cut[r] > most)
            most = cut[r + 1] - cut[r];
    for (int64_t at = 0; at < most; at += CHUNK) {
        const int64_t now = in_round(own, at);

        for (int r = 0; r < c->size; r++) {
            const int64_t n = in_round(cut[r + 1] - cut[r], at);

            q->part[r] = (struct coll_part){
                .send = in + cut[r] + at,
                .send_bytes = (size_t)n * sizeof(float),
                .recv = q->scratch + (size_t)r * CHUNK,
                .recv_bytes = (size_t)now * sizeof(float),
            };
            q->from[r] = q->part[r].recv;
        }
        q->from[c->rank] = q->part[c->rank].send;
        if (c->type->exchange(c, q->part, e) < 0)
            return -1;
        add_in_order(acc + at, q->from, c->size, now, fresh);
    }
    return 0;
}

static int gather(struct coll *c, void *data, const int64_t *cut, size_t size,
                  struct err *e)
{
    struct coll_queue *q = c->queue;
    char *base = data;

    for (int r = 0; r < c->size; r++)
        q->part[r] = (struct coll_part){
            .send = base + (size_t)cut[c->rank] * size,
            .send_bytes = (size_t)(cut[c->rank + 1] - cut[c->rank]) * size,
            .recv = base + (size_t)cut[r] * size,
            .recv_bytes = (size_t)(cut[r + 1] - cut[r]) * size,
        };
    return c->type->exchange(c, q->part, e);
}

static int collect(struct coll *c, const struct job *j, struct err *e)
{
    struct coll_queue *q = c->queue;
    char *base = j->out;
    const size_t own =
        (size_t)(j->cut[c->rank + 1] - j->cut[c->rank]) * j->size;

    for (int r = 0; r < c->size; r++)
        q->part[r] = (struct coll_part){
            .send = j->in,
            .send_bytes = r == j->root ? own : 0,
            .recv =
                c->rank == j->root ? base + (size_t)j->cut[r] * j->size : NULL,
            .recv_bytes = c->rank == j->root
                              ? (size_t)(j->cut[r + 1] - j->cut[r]) * j->size
                              : 0,
        };
    if (c->rank == j->root && own)
        memcpy(base + (size_t)j->cut[c->rank] * j->size, j->in, own);
    return c->type->exchange(c, q->part, e);
}

static int bcast(struct coll *c, void *data, size_t bytes, int root,
                 struct err *e)
{
    struct coll_queue *q = c->queue;

    for (int r = 0; r < c->size; r++)
        q->part[r] = (struct coll_part){
            .send = data,
            .send_bytes = c->rank == root ? bytes : 0,
            .recv = data,
            .recv_bytes = r == root ? bytes : 0,
        };
    return c->type->exchange(c, q->part, e);
}

/* Every rank sums its part of x, and all gather the parts. */
static int sum(struct coll *c, float *x, int64_t n, struct err *e)
{
    int64_t *cut = c->queue->cut;

    if (c->native && c->type->sum)
        return c->type->sum(c, x, (size_t)n, e);
    coll_bounds(c, n, 1, cut);
    if (reduce(c, x + cut[c->rank], x, cut, true, e) < 0)
        return -1;
    return gather(c, x, cut, sizeof *x, e);
}

static int sum_f64(struct coll *c, double *x, int64_t n, struct err *e)
{
    double *all = xcalloc((size_t)(c->size * n), sizeof *all);
    int64_t *cut = c->queue->cut;
    int ret;

    for (int r = 0; r <= c->size; r++)
        cut[r] = r * n;
    memcpy(all + cut[c->rank], x, (size_t)n * sizeof *x);
    ret = gather(c, all, cut, sizeof *x, e);
    for (int64_t i = 0; ret == 0 && i < n; i++) {
        x[i] = 0.0;
        for (int r = 0; r < c->size; r++)
            x[i] += all[r * n + i];
    }
    free(all);
    return ret;
}

static int run_job(struct coll *c, const struct job *j, struct err *e)
{
    switch (j->kind) {
    case JOB_SUM:
        return sum(c, j->out, j->n, e);
    case JOB_REDUCE:
        return reduce(c, j->out, j->in, j->cut, j->fresh, e);
    case JOB_GATHER:
        return gather(c, j->out, j->cut, j->size, e);
    case JOB_COLLECT:
        return collect(c, j, e);
    case JOB_BCAST:
        return bcast(c, j->out, (size_t)j->n, j->root, e);
    case JOB_SUM_F64:
        return sum_f64(c, j->out, j->n, e);
    }
    return -1;
}

static void fail(struct coll_queue *q, const struct err *e)
{
    if (!q->failed) {
        q->err = *e;
        q->failed = true;
        q->failed_at = clock_mono();
    }
}

/* A wait that ends after a moment, to look after the others. */
static void wait_a_moment(struct coll_queue *q)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&q->todo, &q->lock, &until);
}

static void look_after_others(struct coll *c)
{
    struct coll_queue *q = c->queue;
    struct err e = ERR_INIT;

    if (!q->failed &&
        ((c->type->watch && c->type->watch(c, &e) < 0) ||
         (c->device && c->device->watch && c->device->watch(c, &e) < 0)))
        fail(q, &e);
    if (q->failed && !q->told && clock_mono() - q->failed_at > GRACE) {
        log_error("%s", q->err.text);
        _exit(err_status(q->err.kind));
    }
}

static void *worker(void *arg)
{
    struct coll *c = arg;
    struct coll_queue *q = c->queue;

    pthread_mutex_lock(&q->lock);
    while (!q->stop || q->n) {
        struct err e = ERR_INIT;
        struct job j;
        int ret = 0;

        if (q->n == 0) {
            wait_a_moment(q);
            look_after_others(c);
            continue;
        }
        j = q->job[q->first];
        if (!q->failed) {
            pthread_mutex_unlock(&q->lock);
            ret = run_job(c, &j, &e);
            pthread_mutex_lock(&q->lock);
        }
        if (ret < 0)
            fail(q, &e);
        q->first = (q->first + 1) % q->room;
        q->n--;
        q->finished++;
        pthread_cond_broadcast(&q->done);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static void push(struct coll *c, const struct job *j)
{
    struct coll_queue *q = c->queue;

    c->begun++;
    pthread_mutex_lock(&q->lock);
    if (q->n == q->room) {
        const size_t room = q->room ? 2 * q->room : 64;
        struct job *job = xcalloc(room, sizeof *job);

        for (size_t i = 0; i < q->n; i++)
            job[i] = q->job[(q->first + i) % q->room];
        free(q->job);
        q->job = job;
        q->room = room;
        q->first = 0;
    }
    q->job[(q->first + q->n++) % q->room] = *j;
    pthread_cond_signal(&q->todo);
    pthread_mutex_unlock(&q->lock);
}

/* ---- on the host -------------------------------------------------------- */

void coll_host_sum(struct coll *c, float *x, int64_t n)
{
    push(c, &(struct job){ .kind = JOB_SUM, .out = x, .n = n });
}

void coll_host_reduce(struct coll *c, float *acc, const float *in,
                      const int64_t *cut, bool fresh)
{
    push(c, &(struct job){ .kind = JOB_REDUCE,
                           .out = acc,
                           .in = in,
                           .cut = cut,
                           .fresh = fresh });
}

void coll_host_gather(struct coll *c, void *data, const int64_t *cut,
                      size_t size)
{
    push(c, &(struct job){
                .kind = JOB_GATHER, .out = data, .cut = cut, .size = size });
}

static void host_wait_for(struct coll *c, uint64_t begun)
{
    struct coll_queue *q = c->queue;

    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    while (q->finished < begun)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

int coll_host_check(struct coll *c, struct err *e)
{
    struct coll_queue *q = c->queue;
    int ret = 0;

    if (!q)
        return 0;
    host_wait_for(c, c->begun);
    pthread_mutex_lock(&q->lock);
    if (q->failed) {
        *e = q->err;
        q->told = true;
        ret = -1;
    }
    pthread_mutex_unlock(&q->lock);
    return ret;
}

void coll_set_device(struct coll *c, const struct coll_device *device)
{
    if (c->queue)
        pthread_mutex_lock(&c->queue->lock);
    c->device = device;
    if (c->queue)
        pthread_mutex_unlock(&c->queue->lock);
}

/* ---- on either ---------------------------------------------------------- */

void coll_sum(struct coll *c, float *x, int64_t n)
{
    if (c->device)
        c->device->sum(c, x, n);
    else if (c->size > 1)
        coll_host_sum(c, x, n);
}

void coll_reduce(struct coll *c, float *acc, float *in, const int64_t *cut,
                 bool fresh)
{
    const float *from = in;

    if (c->device)
        c->device->reduce(c, acc, in, cut, fresh);
    else if (c->size > 1)
        coll_host_reduce(c, acc, in, cut, fresh);
    else if (acc != in || !fresh)
        add_in_order(acc, &from, 1, cut[1], fresh);
}

void coll_gather(struct coll *c, void *data, const int64_t *cut, size_t size)
{
    if (c->device)
        c->device->gather(c, data, cut, size);
    else if (c->size > 1)
        coll_host_gather(c, data, cut, size);
}

void coll_bcast(struct coll *c, void *data, size_t bytes, int root)
{
    if (c->size > 1)
        push(c, &(struct job){ .kind = JOB_BCAST,
                               .out = data,
                               .n = (int64_t)bytes,
                               .root = root });
}

void coll_collect(struct coll *c, void *data, const void *own,
                  const int64_t *cut, size_t size, int root)
{
    if (c->size > 1)
        push(c, &(struct job){ .kind = JOB_COLLECT,
                               .out = data,
                               .in = own,
                               .cut = cut,
                               .size = size,
                               .root = root });
    else
        memcpy(data, own, (size_t)cut[1] * size);
}

uint64_t coll_begun(const struct coll *c)
{
    return c->device ? c->device_begun : c->begun;
}

void coll_wait_for(struct coll *c, uint64_t begun)
{
    if (c->device)
        c->device->wait_for(c, begun);
    else
        host_wait_for(c, begun);
}

void coll_wait(struct coll *c)
{
    coll_wait_for(c, coll_begun(c));
    host_wait_for(c, c->begun);
}

int coll_check(struct coll *c, struct err *e)
{
    coll_wait(c);
    if (c->device && c->device->check(c, e) < 0)
        return -1;
    return coll_host_check(c, e);
}

int coll_sum_f64(struct coll *c, double *x, size_t n, struct err *e)
{
    if (c->size > 1)
        push(c,
             &(struct job){ .kind = JOB_SUM_F64, .out = x, .n = (int64_t)n });
    return coll_host_check(c, e);
}

int coll_max(struct coll *c, int64_t *x, struct err *e)
{
    int64_t *all = xcalloc((size_t)c->size, sizeof *all);
    int64_t *cut = xcalloc((size_t)c->size + 1, sizeof *cut);
    int ret;

    coll_bounds(c, c->size, 1, cut);
    all[c->rank] = *x;
    if (c->size > 1)
        coll_host_gather(c, all, cut, sizeof *all);
    ret = coll_host_check(c, e);
    for (int r = 0; ret == 0 && r < c->size; r++)
        if (all[r] > *x)
            *x = all[r];
    free(all);
    free(cut);
    return ret;
}

int coll_barrier(struct coll *c, struct err *e)
{
    double nothing = 0.0;

    return coll_sum_f64(c, &nothing, 1, e);
}

void coll_bounds(const struct coll *c, int64_t n, int64_t step, int64_t *cut)
{
    const int64_t groups = (n + step - 1) / step;

    for (int r = 0; r < c->size; r++)
        cut[r] = groups * r / c->size * step;
    cut[c->size] = n;
}

static const struct coll_type *choose(const struct launch *l, struct err *e)
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
    err_set(e, ERR_USAGE,
            "mpirun started this, but the build has no MPI; "
            "gtrain --ranks, torchrun and srun need none");
    return NULL;
}

static int start(struct coll *c, struct err *e)
{
    struct coll_queue *q = xcalloc(1, sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->todo, NULL);
    pthread_cond_init(&q->done, NULL);
    q->part = xcalloc((size_t)c->size, sizeof *q->part);
    q->cut = xcalloc((size_t)c->size + 1, sizeof *q->cut);
    q->from = xcalloc((size_t)c->size, sizeof *q->from);
    q->scratch = mem_alloc((size_t)c->size * CHUNK, sizeof(float),
                           "buffers of the collective", e);
    c->queue = q;
    if (!q->scratch)
        return -1;
    if (pthread_create(&q->thread, NULL, worker, c) != 0) {
        free(q->scratch);
        q->scratch = NULL;
        return err_set(e, ERR_SYSTEM, "cannot start a thread");
    }
    return 0;
}

int coll_open(struct coll *c, const struct coll_conf *conf, struct err *e)
{
    const struct launch *l = conf->launch;

    *c = (struct coll){
        .type = choose(l, e),
        .rank = l->rank,
        .size = l->size,
        .local_rank = l->local_rank,
        .local_size = l->local_size,
        .native = conf->native,
        .timeout = conf->timeout > 0 ? conf->timeout : 60,
    };
    if (!c->type)
        return -1;
    if (c->type == &coll_none)
        c->size = c->local_size = 1;
    if (c->type->open(c, conf, e) < 0) {
        c->type = NULL;
        coll_close(c);
        return -1;
    }
    if (c->size > 1 && start(c, e) < 0) {
        coll_close(c);
        return -1;
    }
    return 0;
}

void coll_close(struct coll *c)
{
    struct coll_queue *q = c->queue;

    assert(!c->device);
    if (q) {
        if (q->scratch) {
            pthread_mutex_lock(&q->lock);
            q->stop = true;
            pthread_cond_signal(&q->todo);
            pthread_mutex_unlock(&q->lock);
            pthread_join(q->thread, NULL);
        }
        pthread_mutex_destroy(&q->lock);
        pthread_cond_destroy(&q->todo);
        pthread_cond_destroy(&q->done);
        free(q->job);
        free(q->part);
        free(q->cut);
        free(q->from);
        free(q->scratch);
        free(q);
    }
    if (c->type)
        c->type->close(c);
    free(c->peer);
    *c = (struct coll){ 0 };
}
