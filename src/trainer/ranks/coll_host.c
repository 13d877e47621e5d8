/*
 * coll_host - the collectives of coll.h on the memory of the host
 */
#include "config.h"
#include "trainer/ranks/coll_queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "trainer/ranks/coll_many.h"
#include "trainer/ranks/halves.h"

enum { CHUNK = 1 << 20 }; /* floats of one part in flight */

/* ---- what is sent ---------------------------------------------------- */

size_t coll_sent_size(const struct coll *c)
{
    return c->bf16 ? sizeof(uint16_t) : sizeof(float);
}

void coll_pack(const struct coll *c, float *x, int64_t n)
{
    if (c->bf16)
        halves_pack(x, n);
}

void coll_unpack(const struct coll *c, float *x, int64_t n)
{
    if (c->bf16)
        halves_unpack(x, n);
}

/* ---- carrying out a call --------------------------------------------- */

void coll_add_in_order(float *acc, const float *const *part, int size,
                       int64_t n, bool set)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = set ? 0.0f : acc[i];

        for (int r = 0; r < size; r++)
            sum += part[r][i];
        acc[i] = sum;
    }
}

int64_t coll_largest_part(const struct coll *c, const int64_t *bounds)
{
    int64_t most = 0;

    for (int r = 0; r < c->size; r++)
        if (bounds[r + 1] - bounds[r] > most)
            most = bounds[r + 1] - bounds[r];
    return most;
}

/* The number of elements that the round at `at` sends of a part of n. */
static int64_t in_round(int64_t n, int64_t at)
{
    return n <= at ? 0 : n - at < CHUNK ? n - at : CHUNK;
}

/* Every rank sends each other rank its part; acc may be the own part of `in`.
 */
static int reduce_directly(struct coll *c, float *acc, float *in,
                           const int64_t *bounds, bool set, struct err *e)
{
    struct coll_queue *q = c->queue;
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    const int64_t most = coll_largest_part(c, bounds);
    const size_t room = (size_t)in_round(own, 0);
    const size_t size = coll_sent_size(c);
    float *buffer =
        coll_queue_buffer(c, (size_t)c->size * room * sizeof *buffer + 1, e);

    if (!buffer)
        return -1;
    for (int64_t at = 0; at < most; at += CHUNK) {
        const int64_t now = in_round(own, at);

        for (int r = 0; r < c->size; r++) {
            const int64_t n = in_round(bounds[r + 1] - bounds[r], at);

            q->part[r] = (struct coll_part){
                .rank = r,
                .send = in + bounds[r] + at,
                .send_bytes = (size_t)n * size,
                .recv = buffer + (size_t)r * room,
                .recv_bytes = (size_t)now * size,
            };
            q->from[r] = q->part[r].recv;
            if (r != c->rank)
                coll_pack(c, in + bounds[r] + at, n);
        }
        q->from[c->rank] = q->part[c->rank].send;
        if (c->type->exchange(c, q->part, c->size, e) < 0)
            return -1;
        for (int r = 0; r < c->size; r++)
            if (r != c->rank)
                coll_unpack(c, buffer + (size_t)r * room, now);
        coll_add_in_order(acc + at, q->from, c->size, now, set);
    }
    return 0;
}

static int run_reduce(struct coll *c, float *acc, float *in,
                      const int64_t *bounds, bool set, struct err *e)
{
    if (c->size <= COLL_DIRECT)
        return reduce_directly(c, acc, in, bounds, set, e);
    if (c->native)
        return coll_many_reduce(c, acc, in, bounds, set, e);
    return coll_many_reduce_in_order(c, acc, in, bounds, set, e);
}

/* Every rank sums its part of x, and all gather the parts. */
static int run_sum(struct coll *c, float *x, int64_t n, struct err *e)
{
    const size_t size = coll_sent_size(c);
    int64_t *bounds = c->queue->bounds;
    int64_t at, own;

    if (c->native && !c->bf16 && c->type->sum)
        return c->type->sum(c, x, (size_t)n, e);
    coll_bounds(c, n, 1, bounds);
    if (run_reduce(c, x + bounds[c->rank], x, bounds, true, e) < 0)
        return -1;
    at = bounds[c->rank];
    own = bounds[c->rank + 1] - at;
    coll_pack(c, x + at, own);
    memmove((char *)x + (size_t)at * size, x + at, (size_t)own * size);
    if (coll_many_gather(c, x, bounds, size, e) < 0)
        return -1;
    coll_unpack(c, x, n);
    return 0;
}

static int sum_f64_in_order(struct coll *c, double *x, int64_t n, struct err *e)
{
    double *all = xcalloc((size_t)(c->size * n), sizeof *all);
    int64_t *bounds = c->queue->bounds;
    int ret;

    for (int r = 0; r <= c->size; r++)
        bounds[r] = r * n;
    memcpy(all + bounds[c->rank], x, (size_t)n * sizeof *x);
    ret = coll_many_gather(c, all, bounds, sizeof *x, e);
    for (int64_t i = 0; ret == 0 && i < n; i++) {
        x[i] = 0.0;
        for (int r = 0; r < c->size; r++)
            x[i] += all[r * n + i];
    }
    free(all);
    return ret;
}

static void add_f64(void *sum, const void *more, size_t n)
{
    double *x = sum;
    const double *y = more;

    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void raise_i64(void *most, const void *more, size_t n)
{
    int64_t *x = most;
    const int64_t *y = more;

    for (size_t i = 0; i < n; i++)
        if (y[i] > x[i])
            x[i] = y[i];
}

static int run_sum_f64(struct coll *c, double *x, int64_t n, struct err *e)
{
    if (c->size <= COLL_DIRECT)
        return sum_f64_in_order(c, x, n, e);
    return coll_many_combine(c, x, (size_t)n, sizeof *x, add_f64, e);
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
        return coll_many_gather(c, request->out, request->bounds, request->size,
                                e);
    case REQUEST_COLLECT:
        return coll_many_collect(c, request->out, request->own, request->bounds,
                                 request->size, e);
    case REQUEST_BCAST:
        return coll_many_bcast(c, request->out, (size_t)request->n,
                               request->root, e);
    case REQUEST_SUM_F64:
        return run_sum_f64(c, request->out, request->n, e);
    case REQUEST_MAX:
        return coll_many_combine(c, request->out, 1, sizeof(int64_t), raise_i64,
                                 e);
    }
    return -1;
}

/* ---- beginning a call ------------------------------------------------ */

void coll_host_sum(struct coll *c, float *x, int64_t n)
{
    coll_queue_push(
        c, &(struct coll_request){ .kind = REQUEST_SUM, .out = x, .n = n });
}

void coll_host_reduce(struct coll *c, float *acc, float *in,
                      const int64_t *bounds, bool set)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_REDUCE,
                                               .out = acc,
                                               .in = in,
                                               .bounds = bounds,
                                               .set = set });
    if (c->size == 1 && (acc != in || !set))
        coll_add_in_order(acc, (const float *const[]){ in }, 1, bounds[1], set);
}

void coll_host_gather(struct coll *c, void *data, const int64_t *bounds,
                      size_t size)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_GATHER,
                                               .out = data,
                                               .bounds = bounds,
                                               .size = size });
}
