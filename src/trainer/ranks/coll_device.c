#include "config.h"
#include "trainer/ranks/coll_device.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "trainer/ranks/coll_nccl.h"

/* ---- one rank ----------------------------------------------------------- */

static void alone_sum(struct coll *c, float *x, int64_t n)
{
    (void)c;
    (void)x;
    (void)n;
}

static void alone_reduce(struct coll *c, float *acc, float *in,
                         const int64_t *cut, bool fresh)
{
    struct tensor to = { .data = acc,
                         .type = DT_F32,
                         .rank = 1,
                         .dim = { cut[1] },
                         .fresh = fresh };
    const struct tensor from = {
        .data = in, .type = DT_F32, .rank = 1, .dim = { cut[1] }
    };

    if (acc != in || !fresh)
        c->dev->ops->accum(c->dev, &to, &from);
}

static void alone_gather(struct coll *c, void *data, const int64_t *cut,
                         size_t size)
{
    (void)c;
    (void)data;
    (void)cut;
    (void)size;
}

static void alone_wait_for(struct coll *c, uint64_t begun)
{
    (void)c;
    (void)begun;
}

static int alone_check(struct coll *c, struct err *e)
{
    (void)c;
    (void)e;
    return 0;
}

const struct coll_device coll_alone = {
    .name = "alone",
    .sum = alone_sum,
    .reduce = alone_reduce,
    .gather = alone_gather,
    .wait_for = alone_wait_for,
    .check = alone_check,
};

/* ---- through the host --------------------------------------------------- */

struct host {
    void *room[2]; /* copies of the device's memory */
    size_t size[2];
    struct err err; /* the first failure */
};

static int host_open(struct coll *c, struct err *e)
{
    (void)e;
    c->device_state = xcalloc(1, sizeof(struct host));
    return 0;
}

static void host_close(struct coll *c)
{
    struct host *h = c->device_state;

    free(h->room[0]);
    free(h->room[1]);
    free(h);
}

/* At least so many bytes, or NULL and a failure. */
static void *room(struct host *h, int which, size_t bytes)
{
    if (h->err.kind != ERR_NONE)
        return NULL;
    if (bytes > h->size[which]) {
        free(h->room[which]);
        h->room[which] =
            mem_alloc(bytes, 1, "a copy for the collective", &h->err);
        h->size[which] = h->room[which] ? bytes : 0;
    }
    return h->room[which];
}

/* What came over is done, or has failed. */
static bool is_done(struct coll *c)
{
    struct host *h = c->device_state;

    return h->err.kind == ERR_NONE && coll_host_check(c, &h->err) == 0;
}

/* Bring n bytes to the host. */
static void *fetch(struct coll *c, int which, const void *from, size_t n)
{
    struct host *h = c->device_state;
    void *to = room(h, which, n ? n : 1);

    if (!to)
        return NULL;
    c->dev->type->get(c->dev, to, from, n);
    return dev_sync(c->dev, &h->err) == 0 ? to : NULL;
}

static void host_sum(struct coll *c, float *x, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof *x;
    float *at = fetch(c, 0, x, bytes);

    if (!at)
        return;
    coll_host_sum(c, at, n);
    if (is_done(c))
        c->dev->type->put(c->dev, x, at, bytes);
}

static void host_reduce(struct coll *c, float *acc, float *in,
                        const int64_t *cut, bool fresh)
{
    const size_t own = (size_t)(cut[c->rank + 1] - cut[c->rank]) * sizeof *acc;
    float *from = fetch(c, 0, in, (size_t)cut[c->size] * sizeof *in);
    float *to = from ? fetch(c, 1, acc, own) : NULL;

    if (!to)
        return;
    coll_host_reduce(c, to, from, cut, fresh);
    if (is_done(c))
        c->dev->type->put(c->dev, acc, to, own);
}

static void host_gather(struct coll *c, void *data, const int64_t *cut,
                        size_t size)
{
    const size_t at = (size_t)cut[c->rank] * size;
    const size_t own = (size_t)(cut[c->rank + 1] - cut[c->rank]) * size;
    const size_t all = (size_t)cut[c->size] * size;
    struct host *h = c->device_state;
    char *whole = room(h, 0, all);

    if (!whole)
        return;
    c->dev->type->get(c->dev, whole + at, (char *)data + at, own);
    if (dev_sync(c->dev, &h->err) < 0)
        return;
    coll_host_gather(c, whole, cut, size);
    if (is_done(c))
        c->dev->type->put(c->dev, data, whole, all);
}

static int host_check(struct coll *c, struct err *e)
{
    const struct host *h = c->device_state;

    if (h->err.kind == ERR_NONE)
        return 0;
    *e = h->err;
    return -1;
}

const struct coll_device coll_host = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .sum = host_sum,
    .reduce = host_reduce,
    .gather = host_gather,
    .wait_for = alone_wait_for,
    .check = host_check,
};

/* ---- which -------------------------------------------------------------- */

static int use(struct coll *c, const struct coll_device *type, struct err *e)
{
    if (type->open && type->open(c, e) < 0)
        return -1;
    coll_set_device(c, type);
    log_debug("device sums: %s", type->name);
    return 0;
}

/* NCCL, if all ranks have it. */
static int use_nccl(struct coll *c, struct err *e)
{
    struct nccl_calls calls;
    struct err why = ERR_INIT;
    int64_t missing = coll_nccl_load(&calls, &why) < 0;

    if (coll_max(c, &missing, e) < 0)
        return -1;
    if (!missing)
        return use(c, &coll_nccl, e);
    if (c->rank == 0)
        log_warn("sums go through the host, which is slow: %s",
                 why.text[0] ? why.text : "a rank has no NCCL");
    return use(c, &coll_host, e);
}

int coll_use_device(struct coll *c, struct dev *dev, struct err *e)
{
    if (dev->type == &cpu_dev)
        return 0;
    c->dev = dev;
    if (c->size == 1)
        return use(c, &coll_alone, e);
    if (c->native && dev->type->side_begin)
        return use_nccl(c, e);
    return use(c, &coll_host, e);
}

void coll_leave_device(struct coll *c)
{
    const struct coll_device *was = c->device;

    coll_set_device(c, NULL);
    if (was && was->close)
        was->close(c);
    c->device_state = NULL;
}
