/*
 * coll_host - the collectives of coll.h on the memory of the host
 */
#include "config.h"
#include "trainer/ranks/coll_queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* ---- carrying out a call --------------------------------------------- */

/* acc = acc + part of rank 0 + part of rank 1 + ..., element by element. */
static void add_in_order(float *acc, const float *const *part, int size,
                         int64_t n, bool set)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = set ? 0.0f : acc[i];

        for (int r = 0; r < size; r++)
            sum += part[r][i];
        acc[i] = sum;
    }
}

/* How many elements of a part of n a round sends that begins at `at`. */
static int64_t in_round(int64_t n, int64_t at)
{
    return n <= at ? 0 : n - at < COLL_CHUNK ? n - at : COLL_CHUNK;
}

/* acc may be the own part of in. */
static int run_reduce(struct coll *c, float *acc, const float *in,
                      const int64_t *bounds, bool set, struct err *e)
{
    struct coll_queue *q = c->queue;
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    int64_t most = 0;

    for (int r = 0; r < c->size; r++)
        if (bounds[r + 1] - bounds[r] > most)
            most = bounds[r + 1] - bounds[r];
    for (int64_t at = 0; at < most; at += COLL_CHUNK) {
        const int64_t now = in_round(own, at);

        for (int r = 0; r < c->size; r++) {
            const int64_t n = in_round(bounds[r + 1] - bounds[r], at);

            q->part[r] = (struct coll_part){
                .send = in + bounds[r] + at,
                .send_bytes = (size_t)n * sizeof(float),
                .recv = q->buffer + (size_t)r * COLL_CHUNK,
                .recv_bytes = (size_t)now * sizeof(float),
            };
            q->from[r] = q->part[r].recv;
        }
        q->from[c->rank] = q->part[c->rank].send;
        if (c->type->exchange(c, q->part, e) < 0)
            return -1;
        add_in_order(acc + at, q->from, c->size, now, set);
    }
    return 0;
}

/* The bytes of rank r's part. */
static size_t part_bytes(const int64_t *bounds, int r, size_t size)
{
    return (size_t)(bounds[r + 1] - bounds[r]) * size;
}

static int run_gather(struct coll *c, void *data, const int64_t *bounds,
                      size_t size, struct err *e)
{
    struct coll_queue *q = c->queue;
    char *base = data;

    for (int r = 0; r < c->size; r++)
        q->part[r] = (struct coll_part){
            .send = base + (size_t)bounds[c->rank] * size,
            .send_bytes = part_bytes(bounds, c->rank, size),
            .recv = base + (size_t)bounds[r] * size,
            .recv_bytes = part_bytes(bounds, r, size),
        };
    return c->type->exchange(c, q->part, e);
}

static int run_collect(struct coll *c, const struct coll_request *request,
                       struct err *e)
{
    struct coll_queue *q = c->queue;
    const int64_t *bounds = request->bounds;
    const size_t size = request->size, own = part_bytes(bounds, c->rank, size);
    const bool root = c->rank == request->root;
    char *base = request->out;

    for (int r = 0; r < c->size; r++)
        q->part[r] = (struct coll_part){
            .send = request->in,
            .send_bytes = r == request->root ? own : 0,
            .recv = root ? base + (size_t)bounds[r] * size : NULL,
            .recv_bytes = root ? part_bytes(bounds, r, size) : 0,
        };
    if (root && own)
        memcpy(base + (size_t)bounds[c->rank] * size, request->in, own);
    return c->type->exchange(c, q->part, e);
}

static int run_bcast(struct coll *c, void *data, size_t bytes, int root,
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
static int run_sum(struct coll *c, float *x, int64_t n, struct err *e)
{
    int64_t *bounds = c->queue->bounds;

    if (c->native && c->type->sum)
        return c->type->sum(c, x, (size_t)n, e);
    coll_bounds(c, n, 1, bounds);
    if (run_reduce(c, x + bounds[c->rank], x, bounds, true, e) < 0)
        return -1;
    return run_gather(c, x, bounds, sizeof *x, e);
}

static int run_sum_f64(struct coll *c, double *x, int64_t n, struct err *e)
{
    double *all = xcalloc((size_t)(c->size * n), sizeof *all);
    int64_t *bounds = c->queue->bounds;
    int ret;

    for (int r = 0; r <= c->size; r++)
        bounds[r] = r * n;
    memcpy(all + bounds[c->rank], x, (size_t)n * sizeof *x);
    ret = run_gather(c, all, bounds, sizeof *x, e);
    for (int64_t i = 0; ret == 0 && i < n; i++) {
        x[i] = 0.0;
        for (int r = 0; r < c->size; r++)
            x[i] += all[r * n + i];
    }
    free(all);
    return ret;
}

int coll_host_run(struct coll *c, const struct coll_request *request,
                  struct err *e)
{
    switch (request->kind) {
    case REQUEST_SUM:
        return run_sum(c, request->out, request->n, e);
    case REQUEST_REDUCE:
        return run_reduce(c, request->out, request->in, request->bounds,
                          request->set, e);
    case REQUEST_GATHER:
        return run_gather(c, request->out, request->bounds, request->size, e);
    case REQUEST_COLLECT:
        return run_collect(c, request, e);
    case REQUEST_BCAST:
        return run_bcast(c, request->out, (size_t)request->n, request->root, e);
    case REQUEST_SUM_F64:
        return run_sum_f64(c, request->out, request->n, e);
    }
    return -1;
}

/* ---- beginning a call ------------------------------------------------ */

void coll_host_sum(struct coll *c, float *x, int64_t n)
{
    coll_queue_push(
        c, &(struct coll_request){ .kind = REQUEST_SUM, .out = x, .n = n });
}

void coll_host_reduce(struct coll *c, float *acc, const float *in,
                      const int64_t *bounds, bool set)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_REDUCE,
                                               .out = acc,
                                               .in = in,
                                               .bounds = bounds,
                                               .set = set });
    if (c->size == 1 && (acc != in || !set))
        add_in_order(acc, &in, 1, bounds[1], set);
}

void coll_host_gather(struct coll *c, void *data, const int64_t *bounds,
                      size_t size)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_GATHER,
                                               .out = data,
                                               .bounds = bounds,
                                               .size = size });
}
