#include "config.h"
#include "trainer/ranks/coll.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/dev.h"
#include "trainer/ranks/coll_queue.h"

bool coll_is_linked(const struct coll *c, int rank)
{
    const int up = (rank - c->rank + c->size) % c->size, down = c->size - up;

    if (up == 0 || c->size <= COLL_DIRECT)
        return up != 0;
    return (up & (up - 1)) == 0 || (down & (down - 1)) == 0;
}

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
        coll_queue_wait_for(c, begun);
    else if (c->device->wait_for)
        c->device->wait_for(c, begun);
}

void coll_wait(struct coll *c)
{
    coll_wait_for(c, coll_begun(c));
    coll_queue_wait_for(c, c->begun);
}

int coll_check(struct coll *c, struct err *e)
{
    coll_wait(c);
    if (c->device && c->device->check(c, e) < 0)
        return -1;
    return coll_queue_check(c, c->begun, e);
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

int coll_end(struct coll *c, uint64_t call, struct err *e)
{
    return coll_queue_check(c, call, e);
}

int coll_sum_f64(struct coll *c, double *x, size_t n, struct err *e)
{
    return coll_end(c, coll_begin_sum_f64(c, x, n), e);
}

int coll_max(struct coll *c, int64_t *x, struct err *e)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_MAX, .out = x });
    return coll_queue_check(c, c->begun, e);
}

int coll_barrier(struct coll *c, struct err *e)
{
    double nothing = 0.0;

    return coll_sum_f64(c, &nothing, 1, e);
}

int coll_compare(struct coll *c, const void *data, size_t n, int *rank,
                 struct err *e)
{
    char *first = xmalloc(n);
    int64_t differs;
    int ret;

    memcpy(first, data, n);
    coll_bcast(c, first, n, 0);
    ret = coll_queue_check(c, c->begun, e);
    /* the lower the rank, the higher the number */
    differs = memcmp(first, data, n) != 0 ? c->size - c->rank : 0;
    free(first);
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
    err_set(e, ERR_USAGE,
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
    if (c->size > 1 && coll_queue_open(c, e) < 0) {
        coll_close(c);
        return -1;
    }
    return 0;
}

void coll_close(struct coll *c)
{
    assert(!c->device);
    coll_queue_close(c);
    if (c->type && c->type->close)
        c->type->close(c);
    free(c->peer);
    *c = (struct coll){ 0 };
}
