#include "config.h"
#include "trainer/ranks/coll_many.h"

#include <string.h>

#include "common/mem.h"
#include "trainer/ranks/coll_queue.h"

enum {
    PIECE = 1 << 24,    /* bytes that are added as soon as they are here */
    IN_FLIGHT = 1 << 22 /* floats that pass through a rank at once */
};

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

/* Send to the rank at this distance, and receive from the one behind. */
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
int coll_many_gather(struct coll *c, void *data, const int64_t *bounds,
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

static size_t in_piece(size_t bytes, size_t at)
{
    return bytes <= at ? 0 : bytes - at < PIECE ? bytes - at : PIECE;
}

/* Send one range, which is not needed any more, and add what arrives to the
 * other. */
static int add_range(struct coll *c, int distance, const struct part_range *out,
                     const struct part_range *in, struct err *e)
{
    const size_t most = out->bytes > in->bytes ? out->bytes : in->bytes;
    const size_t size = coll_sent_size(c);
    float *buffer = coll_queue_buffer(c, PIECE < most ? PIECE : most + 1, e);

    if (!buffer)
        return -1;
    for (size_t at = 0; at < most; at += PIECE) {
        const size_t more = in_piece(out->bytes, at) / sizeof(float);
        const size_t now = in_piece(in->bytes, at) / sizeof(float);
        float *send = (float *)(void *)(out->at + at);
        float *sum = (float *)(void *)(in->at + at);

        coll_pack(c, send, (int64_t)more);
        if (exchange_at(c, distance, send, more * size, buffer, now * size, e) <
            0)
            return -1;
        coll_unpack(c, buffer, (int64_t)now);
        for (size_t i = 0; i < now; i++)
            sum[i] += buffer[i];
    }
    return 0;
}

/* The reverse of a gather: after the round of distance k, rank r has partial
 * sums of the parts r to r + k - 1. */
int coll_many_reduce(struct coll *c, float *acc, float *in,
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
        coll_add_in_order(acc, &sum, 1, own, set);
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
        const int64_t left = bounds[r + 1] - bounds[r] - at;
        const size_t n = left <= 0             ? 0
                         : (size_t)left < b->n ? (size_t)left
                                               : b->n;
        float *to = b->block + (size_t)i * b->n;

        memcpy(to, in + bounds[r] + at, n * sizeof *to);
        memset(to + n, 0, (b->n - n) * sizeof *to);
    }
}

/* The parts travel separately and are added at the end, when block i is from
 * the rank at distance -i. */
int coll_many_reduce_in_order(struct coll *c, float *acc, const float *in,
                              const int64_t *bounds, bool set, struct err *e)
{
    const int64_t own = bounds[c->rank + 1] - bounds[c->rank];
    const int64_t most = coll_largest_part(c, bounds);
    const int64_t room = IN_FLIGHT / c->size + 1;
    const int64_t n = most < room ? most : room;
    struct travelling_blocks b;

    if (most == 0)
        return 0;
    if (open_blocks(c, (size_t)n, &b, e) < 0)
        return -1;
    for (int64_t at = 0; at < most; at += n) {
        const int64_t now = own <= at ? 0 : own - at < n ? own - at : n;

        fill_blocks(c, &b, in, bounds, at);
        for (int k = 1; k < c->size; k *= 2)
            if (pass_on(c, &b, k, e) < 0)
                return -1;
        for (int r = 0; r < c->size; r++)
            c->queue->from[r] = b.block + around(c, c->rank - r) * n;
        coll_add_in_order(acc + at, c->queue->from, c->size, now, set);
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

int coll_many_bcast(struct coll *c, void *data, size_t bytes, int root,
                    struct err *e)
{
    const int place = around(c, c->rank - root), up = way_up(c, place);
    const struct coll_part above = { .rank = around(c, c->rank - up),
                                     .recv = data,
                                     .recv_bytes = bytes };
    int n = 0;

    if (place && c->type->exchange(c, &above, 1, e) < 0)
        return -1;
    for (int k = up / 2; k > 0; k /= 2)
        if (place + k < c->size)
            c->queue->part[n++] =
                (struct coll_part){ .rank = around(c, c->rank + k),
                                    .send = data,
                                    .send_bytes = bytes };
    return c->type->exchange(c, c->queue->part, n, e);
}

int coll_many_combine(struct coll *c, void *x, size_t n, size_t size,
                      coll_combine_fn *combine, struct err *e)
{
    const int up = way_up(c, c->rank);
    struct coll_part part = { .rank = around(c, c->rank - up),
                              .send = x,
                              .send_bytes = n * size };
    void *buffer = coll_queue_buffer(c, n * size, e);

    if (!buffer)
        return -1;
    for (int k = 1; k < up && c->rank + k < c->size; k *= 2) {
        const struct coll_part below = { .rank = c->rank + k,
                                         .recv = buffer,
                                         .recv_bytes = n * size };

        if (c->type->exchange(c, &below, 1, e) < 0)
            return -1;
        combine(x, buffer, n);
    }
    if (c->rank && c->type->exchange(c, &part, 1, e) < 0)
        return -1;
    return coll_many_bcast(c, x, n * size, 0, e);
}

/* Each rank gets the parts of the ranks below it, which follow its own one, and
 * sends them on together. */
int coll_many_collect(struct coll *c, void *data, const void *own,
                      const int64_t *bounds, size_t size, struct err *e)
{
    const int up = way_up(c, c->rank);
    const int end = c->rank + up < c->size ? c->rank + up : c->size;
    const int64_t from = bounds[c->rank];
    const size_t all = (size_t)(bounds[end] - from) * size;
    char *block = c->rank ? coll_queue_buffer(c, all + 1, e) : data;
    struct coll_part part;

    if (!block)
        return -1;
    memcpy(block, own, (size_t)(bounds[c->rank + 1] - from) * size);
    for (int k = 1; k < up && c->rank + k < c->size; k *= 2) {
        const int first = c->rank + k;
        const int stop = first + k < c->size ? first + k : c->size;

        part = (struct coll_part){
            .rank = first,
            .recv = block + (size_t)(bounds[first] - from) * size,
            .recv_bytes = (size_t)(bounds[stop] - bounds[first]) * size,
        };
        if (c->type->exchange(c, &part, 1, e) < 0)
            return -1;
    }
    part = (struct coll_part){ .rank = around(c, c->rank - up),
                               .send = block,
                               .send_bytes = all };
    return c->rank ? c->type->exchange(c, &part, 1, e) : 0;
}
