/*
 * coll_host - the collectives of coll.h on the memory of the host
 *
 * Up to COLL_DIRECT ranks send each other their parts of a sum.  All else takes
 * log N rounds, between ranks that are linked: in each, a rank sends to the one
 * at a distance of some power of two, and receives from the one at the same
 * distance on the other side.  Of N ranks, each sends, in a number of messages
 * that grows like log N:
 *
 *      gather          what every rank must receive, (N - 1) / N of the block
 *      reduce          as much as gather, adding parts on their way, so the
 *                      order of a sum depends on N only
 *      in order        log N / 2 times as much, as parts travel separately
 *      combine, bcast  at most log N times the block
 *      collect         what the ranks behind it have, up to half of the block
 */
#include "config.h"

#include <string.h>

#include "common/mem.h"
#include "kernels/half.h"
#include "trainer/ranks/coll.h"

enum {
    CHUNK = 1 << 20,    /* floats of one part in flight */
    PIECE = 1 << 24,    /* bytes that are added as soon as they are here */
    IN_FLIGHT = 1 << 22 /* floats that pass through a rank at once */
};

/* ---- what is sent ---------------------------------------------------- */

enum { BLOCK = 64 }; /* floats that are rounded together */

static int64_t in_block(int64_t n, int64_t at)
{
    return n - at < BLOCK ? n - at : BLOCK;
}

void coll_pack_halves(float *x, int64_t n)
{
    uint16_t half[BLOCK];

    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t now = in_block(n, at);

        for (int64_t i = 0; i < now; i++)
            half[i] = bf16_from_float(x[at + i]);
        memcpy((char *)x + (size_t)at * sizeof *half, half,
               (size_t)now * sizeof *half);
    }
}

void coll_unpack_halves(float *x, int64_t n)
{
    uint16_t half[BLOCK];

    for (int64_t at = (n - 1) / BLOCK * BLOCK; n > 0 && at >= 0; at -= BLOCK) {
        const int64_t now = in_block(n, at);

        memcpy(half, (const char *)x + (size_t)at * sizeof *half,
               (size_t)now * sizeof *half);
        for (int64_t i = 0; i < now; i++)
            x[at + i] = float_from_bf16(half[i]);
    }
}

static size_t sent_size(const struct coll *c)
{
    return c->bf16 ? sizeof(uint16_t) : sizeof(float);
}

static void pack(const struct coll *c, float *x, int64_t n)
{
    if (c->bf16)
        coll_pack_halves(x, n);
}

static void unpack(const struct coll *c, float *x, int64_t n)
{
    if (c->bf16)
        coll_unpack_halves(x, n);
}

/* acc = acc + part of rank 0 + part of rank 1 + ..., element by element; with
 * `set`, acc is set to the sum of the parts. */
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

/* How many of n elements are left from `at` on, but no more than `most`. */
static int64_t left_of(int64_t n, int64_t at, int64_t most)
{
    return n <= at ? 0 : n - at < most ? n - at : most;
}

/* The most elements that a rank has. */
static int64_t largest_part(const struct coll *c, const int64_t *bounds)
{
    int64_t most = 0;

    for (int r = 0; r < c->size; r++)
        if (bounds[r + 1] - bounds[r] > most)
            most = bounds[r + 1] - bounds[r];
    return most;
}

/* ---- around the ring --------------------------------------------------- */

static int around(const struct coll *c, int rank)
{
    return (rank % c->size + c->size) % c->size;
}

/* The largest power of two below n. */
static int highest_power(int n)
{
    int k = 1;

    while (2 * k < n)
        k *= 2;
    return k;
}

/* Send to the rank at this distance, and receive from the one behind; 0 bytes
 * are not sent. */
static int exchange_at(struct coll *c, int distance, const void *send,
                       size_t send_bytes, void *recv, size_t recv_bytes,
                       struct err *e)
{
    const struct coll_part part[] = {
        { .rank = around(c, c->rank + distance),
          .send = send,
          .send_bytes = send_bytes },
        { .rank = around(c, c->rank - distance),
          .recv = recv,
          .recv_bytes = recv_bytes },
    };

    return c->type->exchange(c, part, 2, e);
}

/* The parts of `count` ranks from `first` on, around the ring: two ranges, of
 * which the second is empty unless the ranks continue at rank 0. */
struct part_range {
    char *at;
    size_t bytes;
};

static void find_ranges(const struct coll *c, void *data, const int64_t *bounds,
                        size_t size, int first, int count,
                        struct part_range out[2])
{
    const int begin = around(c, first), end = begin + count;
    const int stop = end < c->size ? end : c->size;
    const int again = end > c->size ? end - c->size : 0;

    out[0].at = (char *)data + (size_t)bounds[begin] * size;
    out[0].bytes = (size_t)(bounds[stop] - bounds[begin]) * size;
    out[1].at = data;
    out[1].bytes = (size_t)bounds[again] * size;
}

/* ---- gather and reduce ------------------------------------------------- */

/* Before the round of distance k, rank r has the parts r to r + k - 1. */
static int gather_parts(struct coll *c, void *data, const int64_t *bounds,
                        size_t size, struct err *e)
{
    for (int k = 1; k < c->size; k *= 2) {
        const int count = k < c->size - k ? k : c->size - k;
        struct part_range out[2], in[2];

        find_ranges(c, data, bounds, size, c->rank, count, out);
        find_ranges(c, data, bounds, size, c->rank + k, count, in);
        for (int i = 0; i < 2; i++)
            if (exchange_at(c, -k, out[i].at, out[i].bytes, in[i].at,
                            in[i].bytes, e) < 0)
                return -1;
    }
    return 0;
}

/* Send one range, which is not needed any more, and add what arrives to the
 * other. */
static int add_range(struct coll *c, int distance, const struct part_range *out,
                     const struct part_range *in, struct err *e)
{
    const int64_t sent = (int64_t)out->bytes, added = (int64_t)in->bytes;
    const int64_t most = sent > added ? sent : added;
    const size_t size = sent_size(c);
    float *buffer =
        coll_queue_buffer(c, (size_t)left_of(most, 0, PIECE) + 1, e);

    if (!buffer)
        return -1;
    for (int64_t at = 0; at < most; at += PIECE) {
        const size_t more = (size_t)left_of(sent, at, PIECE) / sizeof(float);
        const size_t now = (size_t)left_of(added, at, PIECE) / sizeof(float);
        float *send = (float *)(void *)(out->at + at);
        float *sum = (float *)(void *)(in->at + at);

        pack(c, send, (int64_t)more);
        if (exchange_at(c, distance, send, more * size, buffer, now * size, e) <
            0)
            return -1;
        unpack(c, buffer, (int64_t)now);
        for (size_t i = 0; i < now; i++)
            sum[i] += buffer[i];
    }
    return 0;
}

/* The reverse of a gather: after the round of distance k, rank r has partial
 * sums of the parts r to r + k - 1. */
static int reduce_in_rounds(struct coll *c, float *acc, float *in,
                            const int64_t *bounds, bool set, struct err *e)
{
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    const float *sum = in + bounds[c->rank];

    for (int k = highest_power(c->size); k > 0; k /= 2) {
        const int count = k < c->size - k ? k : c->size - k;
        struct part_range out[2], to[2];

        find_ranges(c, in, bounds, sizeof *in, c->rank + k, count, out);
        find_ranges(c, in, bounds, sizeof *in, c->rank, count, to);
        for (int i = 0; i < 2; i++)
            if (add_range(c, k, &out[i], &to[i], e) < 0)
                return -1;
    }
    if (acc != sum || !set)
        add_in_order(acc, &sum, 1, own, set);
    return 0;
}

/* ---- reduce in order --------------------------------------------------- */

/* One block for each rank; block i is for the rank at distance i. */
struct travelling_blocks {
    float *block, *packed, *arrived;
    size_t n; /* floats of a block */
};

static int open_blocks(struct coll *c, size_t n, struct travelling_blocks *b,
                       struct err *e)
{
    const size_t ranks = (size_t)c->size, half = (ranks + 1) / 2;

    b->n = n;
    b->block = coll_queue_buffer(c, (ranks + 2 * half) * n * sizeof(float), e);
    if (!b->block)
        return -1;
    b->packed = b->block + ranks * n;
    b->arrived = b->packed + half * n;
    return 0;
}

/* Pass the blocks whose distance has the bit k to the rank at distance k, and
 * keep the blocks that arrive in their places. */
static int pass_on(struct coll *c, const struct travelling_blocks *b, int k,
                   struct err *e)
{
    const size_t bytes = b->n * sizeof(float);
    size_t m = 0;

    for (int i = 0; i < c->size; i++)
        if (i & k)
            memcpy(b->packed + m++ * b->n, b->block + (size_t)i * b->n, bytes);
    if (exchange_at(c, k, b->packed, m * bytes, b->arrived, m * bytes, e) < 0)
        return -1;
    m = 0;
    for (int i = 0; i < c->size; i++)
        if (i & k)
            memcpy(b->block + (size_t)i * b->n, b->arrived + m++ * b->n, bytes);
    return 0;
}

/* Fill each block with elements at..at+n of the part of its rank, and with
 * zeros after the end of the part. */
static void fill_blocks(struct coll *c, const struct travelling_blocks *b,
                        const float *in, const int64_t *bounds, int64_t at)
{
    for (int i = 0; i < c->size; i++) {
        const int r = around(c, c->rank + i);
        const size_t n =
            (size_t)left_of(bounds[r + 1] - bounds[r], at, (int64_t)b->n);
        float *to = b->block + (size_t)i * b->n;

        memcpy(to, in + bounds[r] + at, n * sizeof *to);
        memset(to + n, 0, (b->n - n) * sizeof *to);
    }
}

/* The parts travel separately and are added at the end, when block i is from
 * the rank at distance -i. */
static int reduce_in_order(struct coll *c, float *acc, const float *in,
                           const int64_t *bounds, bool set, struct err *e)
{
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    const int64_t most = largest_part(c, bounds);
    const int64_t n = left_of(most, 0, IN_FLIGHT / c->size + 1);
    struct travelling_blocks b;

    if (most == 0)
        return 0;
    if (open_blocks(c, (size_t)n, &b, e) < 0)
        return -1;
    for (int64_t at = 0; at < most; at += n) {
        const int64_t now = left_of(own, at, n);

        fill_blocks(c, &b, in, bounds, at);
        for (int k = 1; k < c->size; k *= 2)
            if (pass_on(c, &b, k, e) < 0)
                return -1;
        for (int r = 0; r < c->size; r++)
            c->queue->from[r] = b.block + around(c, c->rank - r) * n;
        add_in_order(acc + at, c->queue->from, c->size, now, set);
    }
    return 0;
}

/* ---- trees ------------------------------------------------------------- */

/* The place of a rank in a tree is its distance from the root.  Its lowest bit
 * that is set is the distance to the place above, which this function returns,
 * and each lower bit is the distance to a place below.  For the root it returns
 * a power of two that is at least the number of ranks. */
static int way_up(const struct coll *c, int place)
{
    return place ? place & -place : 2 * highest_power(c->size);
}

static int broadcast(struct coll *c, void *data, size_t bytes, int root,
                     struct err *e)
{
    const int place = around(c, c->rank - root), up = way_up(c, place);
    int n = 0;

    if (place && exchange_at(c, up, NULL, 0, data, bytes, e) < 0)
        return -1;
    for (int k = up / 2; k > 0; k /= 2)
        if (place + k < c->size)
            c->queue->part[n++] =
                (struct coll_part){ .rank = around(c, c->rank + k),
                                    .send = data,
                                    .send_bytes = bytes };
    return c->type->exchange(c, c->queue->part, n, e);
}

/* Combine the n elements of all ranks, two ranks at a time; all ranks get the
 * result. */
typedef void combine_fn(void *x, const void *more, size_t n);

static int combine_all(struct coll *c, void *x, size_t n, size_t size,
                       combine_fn *combine, struct err *e)
{
    const int up = way_up(c, c->rank);
    const size_t bytes = n * size;
    void *buffer = coll_queue_buffer(c, bytes, e);

    if (!buffer)
        return -1;
    for (int k = 1; k < up && c->rank + k < c->size; k *= 2) {
        if (exchange_at(c, -k, NULL, 0, buffer, bytes, e) < 0)
            return -1;
        combine(x, buffer, n);
    }
    if (c->rank && exchange_at(c, -up, x, bytes, NULL, 0, e) < 0)
        return -1;
    return broadcast(c, x, bytes, 0, e);
}

/* Each rank gets the parts of the ranks below it, which follow its own one, and
 * sends them on together. */
static int collect_parts(struct coll *c, void *data, const void *own,
                         const int64_t *bounds, size_t size, struct err *e)
{
    const int up = way_up(c, c->rank);
    const int end = c->rank + up < c->size ? c->rank + up : c->size;
    const int64_t from = bounds[c->rank];
    const size_t all = (size_t)(bounds[end] - from) * size;
    char *block = c->rank ? coll_queue_buffer(c, all + 1, e) : data;

    if (!block)
        return -1;
    memcpy(block, own, (size_t)(bounds[c->rank + 1] - from) * size);
    for (int k = 1; k < up && c->rank + k < c->size; k *= 2) {
        const int first = c->rank + k;
        const int stop = first + k < c->size ? first + k : c->size;

        if (exchange_at(c, -k, NULL, 0,
                        block + (size_t)(bounds[first] - from) * size,
                        (size_t)(bounds[stop] - bounds[first]) * size, e) < 0)
            return -1;
    }
    return c->rank ? exchange_at(c, -up, block, all, NULL, 0, e) : 0;
}

/* ---- carrying out a call --------------------------------------------- */

/* Every rank sends each other rank its part; acc may be the own part of `in`.
 */
static int reduce_directly(struct coll *c, float *acc, float *in,
                           const int64_t *bounds, bool set, struct err *e)
{
    struct coll_queue *q = c->queue;
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    const int64_t most = largest_part(c, bounds);
    const size_t room = (size_t)left_of(own, 0, CHUNK);
    const size_t size = sent_size(c);
    float *buffer =
        coll_queue_buffer(c, (size_t)c->size * room * sizeof *buffer + 1, e);

    if (!buffer)
        return -1;
    for (int64_t at = 0; at < most; at += CHUNK) {
        const int64_t now = left_of(own, at, CHUNK);

        for (int r = 0; r < c->size; r++) {
            const int64_t n = left_of(bounds[r + 1] - bounds[r], at, CHUNK);

            q->part[r] = (struct coll_part){
                .rank = r,
                .send = in + bounds[r] + at,
                .send_bytes = (size_t)n * size,
                .recv = buffer + (size_t)r * room,
                .recv_bytes = (size_t)now * size,
            };
            q->from[r] = q->part[r].recv;
            if (r != c->rank)
                pack(c, in + bounds[r] + at, n);
        }
        q->from[c->rank] = q->part[c->rank].send;
        if (c->type->exchange(c, q->part, c->size, e) < 0)
            return -1;
        for (int r = 0; r < c->size; r++)
            if (r != c->rank)
                unpack(c, buffer + (size_t)r * room, now);
        add_in_order(acc + at, q->from, c->size, now, set);
    }
    return 0;
}

static int run_reduce(struct coll *c, float *acc, float *in,
                      const int64_t *bounds, bool set, struct err *e)
{
    if (c->size <= COLL_DIRECT)
        return reduce_directly(c, acc, in, bounds, set, e);
    if (c->native)
        return reduce_in_rounds(c, acc, in, bounds, set, e);
    return reduce_in_order(c, acc, in, bounds, set, e);
}

/* Every rank sums its part of x, and all gather the parts. */
static int run_sum(struct coll *c, float *x, int64_t n, struct err *e)
{
    const size_t size = sent_size(c);
    int64_t *bounds = c->queue->bounds;
    int64_t at, own;

    if (c->native && !c->bf16 && c->type->sum)
        return c->type->sum(c, x, (size_t)n, e);
    coll_bounds(c, n, 1, bounds);
    if (run_reduce(c, x + bounds[c->rank], x, bounds, true, e) < 0)
        return -1;
    at = bounds[c->rank];
    own = bounds[c->rank + 1] - at;
    pack(c, x + at, own);
    memmove((char *)x + (size_t)at * size, x + at, (size_t)own * size);
    if (gather_parts(c, x, bounds, size, e) < 0)
        return -1;
    unpack(c, x, n);
    return 0;
}

static int sum_f64_in_order(struct coll *c, double *x, int64_t n, struct err *e)
{
    AUTO_FREE double *all = xcalloc((size_t)(c->size * n), sizeof *all);
    int64_t *bounds = c->queue->bounds;
    int ret;

    for (int r = 0; r <= c->size; r++)
        bounds[r] = r * n;
    memcpy(all + bounds[c->rank], x, (size_t)n * sizeof *x);
    ret = gather_parts(c, all, bounds, sizeof *x, e);
    for (int64_t i = 0; ret == 0 && i < n; i++) {
        x[i] = 0.0;
        for (int r = 0; r < c->size; r++)
            x[i] += all[r * n + i];
    }
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
        return gather_parts(c, request->out, request->bounds, request->size, e);
    case REQUEST_COLLECT:
        return collect_parts(c, request->out, request->own, request->bounds,
                             request->size, e);
    case REQUEST_BCAST:
        return broadcast(c, request->out, (size_t)request->n, request->root, e);
    case REQUEST_SUM_F64:
        return c->size <= COLL_DIRECT
                   ? sum_f64_in_order(c, request->out, request->n, e)
                   : combine_all(c, request->out, (size_t)request->n,
                                 sizeof(double), add_f64, e);
    case REQUEST_MAX:
        return combine_all(c, request->out, 1, sizeof(int64_t), raise_i64, e);
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
        add_in_order(acc, (const float *const[]){ in }, 1, bounds[1], set);
}

void coll_host_gather(struct coll *c, void *data, const int64_t *bounds,
                      size_t size)
{
    coll_queue_push(c, &(struct coll_request){ .kind = REQUEST_GATHER,
                                               .out = data,
                                               .bounds = bounds,
                                               .size = size });
}
