#include "config.h"
#include "trainer/ranks/coll_queue.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

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

void coll_queue_wait_for(struct coll *c, uint64_t begun)
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

int coll_queue_check(struct coll *c, uint64_t begun, struct err *e)
{
    struct coll_queue *q = c->queue;
    int ret = 0;

    if (!q)
        return 0;
    coll_queue_wait_for(c, begun);
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

void *coll_queue_buffer(struct coll *c, size_t bytes, struct err *e)
{
    struct coll_queue *q = c->queue;

    if (bytes > q->buffer_bytes) {
        free(q->buffer);
        q->buffer = mem_alloc(bytes, 1, "a buffer for collectives", e);
        q->buffer_bytes = q->buffer ? bytes : 0;
    }
    return q->buffer;
}

int coll_queue_open(struct coll *c, struct err *e)
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

void coll_queue_close(struct coll *c)
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
