/*
 * coll_device - collectives on the memory of a device, and which are used
 */
#include "config.h"
#include "trainer/ranks/coll.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "kernels/dev.h"
#include "trainer/ranks/coll_nccl.h"

/* ---- through the host ------------------------------------------------ */

struct host_buffers {
    void *data[2]; /* copies of memory of the device */
    size_t size[2];
    struct err err; /* the first failure */
};

static int host_open(struct coll *c, struct err *e)
{
    (void)e;
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
    if (h->err.kind != ERR_NONE)
        return NULL;
    if (bytes > h->size[which]) {
        free(h->data[which]);
        h->data[which] =
            mem_alloc(bytes, 1, "a buffer for collectives", &h->err);
        h->size[which] = h->data[which] ? bytes : 0;
    }
    return h->data[which];
}

/* Wait for the call on the host; false if it or an earlier one failed. */
static bool is_done(struct coll *c)
{
    struct host_buffers *h = c->device_state;

    return h->err.kind == ERR_NONE &&
           coll_queue_check(c, c->begun, &h->err) == 0;
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

const struct coll_device coll_through_host = {
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
