#include "config.h"
#include "trainer/ranks/parallel.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "trainer/model/graph_calls.h"

/* ---- opening --------------------------------------------------------- */

void parallel_open(struct parallel *p, const struct settings *s, struct coll *c,
                   bool training)
{
    *p = (struct parallel){ .set = s, .coll = c };
    if (!training)
        return;
    p->mode = s->parallel.mode;
    p->ordered = s->train.deterministic;
    p->training = true;
}

void parallel_configure(const struct parallel *p, struct graph_conf *how)
{
    how->share_grads = how->training && parallel_shares_grads(p);
    how->share_weights = parallel_gathers(p) && p->set->parallel.reshard;
    how->masters =
        how->training && p->set->optim.masters == STATE_BF16 ? DT_BF16 : DT_F32;
    how->masters_elsewhere = how->training && parallel_shares_masters(p);
}

static graph_fetch_fn fetch_weights;

int parallel_attach(struct parallel *p, struct graph *g, struct optim *o,
                    struct err *e)
{
    parallel_lay_out(p, g, o);
    if (!p->training || !parallel_used(p))
        return 0;
    if (region_alloc(&p->acc, g->dev, DEV_GRADS, e) < 0 ||
        region_alloc(&p->squares, g->dev, DEV_GRADS, e) < 0 ||
        region_alloc(&p->weights, g->dev, DEV_WEIGHTS, e) < 0 ||
        region_alloc(&p->copies, g->dev, DEV_WEIGHTS, e) < 0)
        return -1;
    if (parallel_shares_state(p))
        o->own_grads = p->acc;
    o->own_weights = p->weights;
    o->own_copies = p->copies;
    g->fetch = fetch_weights;
    g->fetch_arg = p;
    return 0;
}

void parallel_attach_reader(struct parallel *p, struct graph *to)
{
    if (parallel_shares_state(p)) {
        to->fetch = fetch_weights;
        to->fetch_arg = p;
    }
}

void parallel_close(struct parallel *p)
{
    struct region *const all[] = { &p->acc, &p->weights, &p->copies,
                                   &p->squares };

    if (!p->graph)
        return;
    coll_wait(p->coll);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        region_free(all[i], p->graph->dev);
    for (int u = 0; p->unit && u < p->graph->n_units; u++)
        FREE(p->unit[u].bounds, p->unit[u].bound_chunk, p->unit[u].chunk);
    free(p->unit);
    *p = (struct parallel){ 0 };
}

/* ---- addresses ------------------------------------------------------- */

static float *grads_of(const struct parallel *p, int unit)
{
    return (float *)p->graph->grads.data + p->graph->unit[unit].grads_at;
}

static float *own_acc(const struct parallel *p, int unit)
{
    return (float *)p->acc.data + p->unit[unit].own;
}

/* The weights of a unit that the model uses, in its type. */
static char *weights_of(const struct parallel *p, int unit, size_t *size)
{
    const struct graph *g = p->graph;

    *size = dtype_size(g->type);
    return (char *)graph_read_weights(g)->data +
           (size_t)g->unit[unit].weights_at * *size;
}

/* Copy within the device. */
static void copy_memory(const struct parallel *p, void *to, const void *from,
                        size_t bytes)
{
    p->graph->dev->type->copy(p->graph->dev, to, from, bytes);
}

static int64_t own_part(const struct parallel *p, int unit)
{
    const int64_t *bounds = p->unit[unit].bounds;

    return bounds[p->coll->rank + 1] - bounds[p->coll->rank];
}

/* ---- gathering weights ----------------------------------------------- */

/* The weights of another unit at the same address are overwritten. */
static void evict_others(struct parallel *p, int unit)
{
    const struct graph *g = p->graph;

    for (int u = 0; u < g->n_units; u++)
        if (u != unit && g->unit[u].weights_at == g->unit[unit].weights_at)
            p->unit[u].present = false;
}

static void gather_weights(struct parallel *p, int unit)
{
    struct shared_unit *s = &p->unit[unit];
    const struct region *own =
        graph_has_copies(p->graph) ? &p->copies : &p->weights;
    size_t size;
    char *to = weights_of(p, unit, &size);

    if (s->present)
        return;
    evict_others(p, unit);
    copy_memory(p, to + (size_t)s->bounds[p->coll->rank] * size,
                (const char *)own->data + (size_t)s->own * size,
                (size_t)own_part(p, unit) * size);
    coll_gather(p->coll, to, s->bounds, size);
    s->gathered = coll_begun(p->coll);
    s->present = true;
}

/* The next unit, after the one of this call, whose weights are read; or -1. */
static int next_unit(const struct graph *g, int call)
{
    for (int t = call + 1; t < g->n_calls; t++)
        if (g->call[t].unit != GRAPH_NONE &&
            g->call[t].unit != g->call[call].unit)
            return g->call[t].unit;
    return -1;
}

/* The unit of the same name in the graph that owns the weights. */
static int own_unit(const struct parallel *p, const struct graph *g, int unit)
{
    if (g == p->graph)
        return unit;
    for (int u = 0; u < p->graph->n_units; u++)
        if (strcmp(p->graph->unit[u].name, g->unit[unit].name) == 0)
            return u;
    abort();
}

/* Gradients must have been sent before new ones are computed at the same
 * address. */
static void wait_for_grads(struct parallel *p, int unit)
{
    const struct graph *g = p->graph;

    for (int u = 0; u < g->n_units; u++)
        if (g->unit[u].grads_at == g->unit[unit].grads_at)
            coll_wait_for(p->coll, p->unit[u].reduced);
}

static void fetch_weights(void *arg, struct graph *g, int call)
{
    struct parallel *p = arg;
    const int own = own_unit(p, g, g->call[call].unit);
    const int next = next_unit(g, call);

    if (g == p->graph && g->training && !g->evaluating)
        wait_for_grads(p, own);
    if (parallel_gathers(p))
        gather_weights(p, own);
    coll_wait_for(p->coll, p->unit[own].gathered);
    if (parallel_gathers(p) && next >= 0)
        gather_weights(p, own_unit(p, g, next));
}

/* ---- summing gradients ----------------------------------------------- */

void parallel_begin_micro(struct parallel *p, int64_t i, int64_t n)
{
    p->first = i == 0;
    p->last = i == n - 1;
    p->graph->first_micro = p->first || parallel_sums_each(p);
}

bool parallel_sums_now(const struct parallel *p)
{
    return parallel_used(p) && (p->last || parallel_sums_each(p));
}

void parallel_begin_recorded(struct parallel *p)
{
    for (int u = 0; p->unit && u < p->graph->n_units; u++) {
        coll_wait_for(p->coll, p->unit[u].reduced);
        coll_wait_for(p->coll, p->unit[u].gathered);
    }
}

void parallel_end_recorded(struct parallel *p)
{
    for (int u = 0; p->unit && u < p->graph->n_units; u++)
        p->unit[u].reduced = coll_begun(p->coll);
}

void parallel_ready(void *arg, struct graph *g, int unit)
{
    struct parallel *p = arg;
    struct shared_unit *s;

    if (!parallel_sums_now(p))
        return;
    s = &p->unit[unit];
    if (p->first && p->coll->rank == 0)
        optim_add_first(p->optim, grads_of(p, unit), g->unit[unit].count,
                        unit == 0);
    if (!parallel_sums_each(p) && p->mode == PARALLEL_DDP)
        coll_sum(p->coll, grads_of(p, unit), g->unit[unit].count);
    else
        coll_reduce(p->coll, own_acc(p, unit), grads_of(p, unit), s->bounds,
                    p->first || !parallel_sums_each(p));
    s->reduced = coll_begun(p->coll);
}

/* ---- the norm -------------------------------------------------------- */

/* The sum of squares of each own chunk of a unit; out[0] is its first chunk. */
static void measure_chunks(struct parallel *p, int unit, double *out)
{
    const struct shared_unit *s = &p->unit[unit];
    const int rank = p->coll->rank;

    for (int k = s->bound_chunk[rank]; k < s->bound_chunk[rank + 1]; k++)
        optim_add_squares(p->optim, out + k,
                          own_acc(p, unit) + (s->chunk[k].at - s->bounds[rank]),
                          s->chunk[k + 1].at - s->chunk[k].at, true);
}

/* Every rank measures its chunks.  The sum over ranks adds only zeros to them,
 * so it is exact; then the chunks are added in order. */
static int measure_in_order(struct parallel *p, struct err *e)
{
    const struct graph *g = p->graph;
    struct dev *dev = g->dev;
    const int64_t n = p->chunks;
    double *sum = xcalloc((size_t)n, sizeof *sum), *on = p->squares.data;
    double total = 0;
    int ret;

    dev->type->zero(dev, on, p->squares.bytes);
    for (int u = 0; u < g->n_units; u++) {
        measure_chunks(p, u, on);
        on += p->unit[u].n_chunks;
    }
    dev->type->get(dev, sum, p->squares.data, p->squares.bytes);
    ret = dev_sync(dev, e);
    if (ret == 0)
        ret = coll_sum_f64(p->coll, sum, (size_t)n, e);
    for (int64_t i = 0; i < n; i++)
        total += sum[i];
    free(sum);
    optim_set_norm(p->optim, total);
    return ret;
}

/* Every rank measures its parts. */
static int measure_shares(struct parallel *p, struct err *e)
{
    const struct graph *g = p->graph;
    struct dev *dev = g->dev;
    double total = 0, *on = p->optim->sum.data;

    dev->type->zero(dev, on, sizeof *on);
    for (int u = 0; u < g->n_units; u++)
        if (own_part(p, u))
            optim_add_squares(p->optim, on, own_acc(p, u), own_part(p, u),
                              false);
    dev->type->get(dev, &total, on, sizeof total);
    if (dev_sync(dev, e) < 0 || coll_sum_f64(p->coll, &total, 1, e) < 0)
        return -1;
    optim_set_norm(p->optim, total);
    return 0;
}

/* Gather the gradients for an update of all weights on every rank. */
static void gather_grads(struct parallel *p)
{
    const struct graph *g = p->graph;

    for (int u = 0; u < g->n_units; u++) {
        const int64_t *bounds = p->unit[u].bounds;

        copy_memory(p, grads_of(p, u) + bounds[p->coll->rank], own_acc(p, u),
                    (size_t)own_part(p, u) * sizeof(float));
        coll_gather(p->coll, grads_of(p, u), bounds, sizeof(float));
    }
}

int parallel_measure(struct parallel *p, struct err *e)
{
    if (coll_check(p->coll, e) < 0)
        return -1;
    if (!p->acc.data) {
        optim_measure(p->optim);
        return 0;
    }
    if ((p->ordered ? measure_in_order(p, e) : measure_shares(p, e)) < 0)
        return -1;
    if (!parallel_shares_state(p))
        gather_grads(p);
    return coll_check(p->coll, e);
}

/* ---- after the update ------------------------------------------------ */

/* Units are gathered in the order in which the next forward pass needs them; it
 * waits for each of them. */
void parallel_stepped(struct parallel *p)
{
    const struct graph *g = p->graph;
    size_t size;
    char *to;

    if (!parallel_shares_state(p))
        return;
    for (int u = g->n_units - 1; u >= 0; u--) {
        p->unit[u].present = false;
        if (parallel_gathers(p))
            continue;
        to = weights_of(p, u, &size);
        coll_gather(p->coll, to, p->unit[u].bounds, size);
        p->unit[u].gathered = coll_begun(p->coll);
    }
}

/* ---- whole blocks ---------------------------------------------------- */

/* A part of a block that this rank keeps; `own` is its position among all own
 * parts. */
struct held_piece {
    int64_t at, count, own;
    char *data;
    enum dtype type;
};

static bool get_state_piece(const struct parallel *p, enum parallel_state what,
                            int i, struct held_piece *out)
{
    const struct optim *o = p->optim;
    const struct optim_range *r = &o->range[i];

    if (i >= o->n_ranges)
        return false;
    *out = (struct held_piece){ r->at, r->count, r->own, NULL,
                                optim_moment_type(o) };
    if (what == PARALLEL_M)
        out->data = (char *)o->m.data + (size_t)r->own * dtype_size(out->type);
    else if (r->v_at >= 0)
        out->data = (char *)o->v.data + (size_t)r->v_at * dtype_size(out->type);
    if (what == PARALLEL_V)
        out->count = optim_range_seconds(o, r);
    return true;
}

static bool get_weights_piece(const struct parallel *p, int i,
                              struct held_piece *out)
{
    const struct graph *g = p->graph;
    const struct shared_unit *s = &p->unit[i];

    if (!parallel_shares_masters(p)) {
        *out =
            (struct held_piece){ 0, g->count, 0, g->weights.data, g->masters };
        return i == 0;
    }
    if (i >= g->n_units)
        return false;
    *out = (struct held_piece){ g->unit[i].at + s->bounds[p->coll->rank],
                                own_part(p, i), s->own,
                                (char *)p->weights.data +
                                    (size_t)s->own * dtype_size(g->masters),
                                g->masters };
    return true;
}

/* The i-th piece; false if there are fewer. */
static bool get_piece(const struct parallel *p, enum parallel_state what, int i,
                      struct held_piece *out)
{
    return what == PARALLEL_WEIGHTS ? get_weights_piece(p, i, out)
                                    : get_state_piece(p, what, i, out);
}

bool parallel_kept_weights(const struct parallel *p, int k, int64_t *at,
                           int64_t *count)
{
    struct held_piece piece;

    if (!get_weights_piece(p, k, &piece))
        return false;
    *at = piece.at;
    *count = piece.count;
    return true;
}

/* Convert n fp32 weights, at `at` in the block, to the type of the model. */
static void round_weights(const struct parallel *p, void *to, void *from,
                          int64_t n, int64_t at)
{
    const struct graph *g = p->graph;
    const struct tensor masters = tensor_vector(from, DT_F32, n);
    struct tensor rounded = tensor_vector(to, g->type, n);

    optim_round(p->optim, g->dev, &rounded, &masters, at);
}

/* Make the 16-bit copies of the weights, if the model reads them. */
static void make_copies(struct parallel *p)
{
    const struct graph *g = p->graph;

    if (!graph_has_copies(g))
        return;
    if (!parallel_shares_masters(p)) {
        round_weights(p, g->copies.data, g->weights.data, g->count, 0);
        return;
    }
    for (int u = 0; u < g->n_units; u++) {
        const struct shared_unit *s = &p->unit[u];
        const int64_t begin = s->bounds[p->coll->rank];
        size_t size;
        char *to = weights_of(p, u, &size) + (size_t)begin * size;

        if (parallel_gathers(p))
            to = (char *)p->copies.data + (size_t)s->own * size;
        round_weights(p, to, (float *)p->weights.data + s->own, own_part(p, u),
                      g->unit[u].at + begin);
    }
}

/* Store n floats as bf16 in the memory of a device. */
static void put_halves(struct dev *dev, void *to, const float *x, int64_t n)
{
    float block[4096];
    const int64_t most = sizeof block / sizeof *block;

    for (int64_t at = 0; at < n; at += most) {
        const int64_t now = n - at < most ? n - at : most;

        memcpy(block, x + at, (size_t)now * sizeof *block);
        coll_pack_halves(block, now);
        dev->type->put(dev, (char *)to + (size_t)at * 2, block,
                       (size_t)now * 2);
    }
}

/* Copy floats of the host to a piece. */
static void put_piece(struct dev *dev, const struct held_piece *k, int64_t from,
                      const float *values, int64_t n)
{
    char *to = k->data + (size_t)from * dtype_size(k->type);

    if (k->type == DT_BF16)
        put_halves(dev, to, values, n);
    else
        dev->type->put(dev, to, values, (size_t)n * sizeof *values);
}

int parallel_load(struct parallel *p, enum parallel_state what, int64_t at,
                  const float *values, int64_t count, struct err *e)
{
    struct dev *dev = p->graph->dev;
    struct held_piece k;

    coll_wait(p->coll);
    for (int i = 0; get_piece(p, what, i, &k); i++) {
        const int64_t end = k.at + k.count;
        const int64_t from = at > k.at ? at : k.at;
        const int64_t to = at + count < end ? at + count : end;

        if (from < to)
            put_piece(dev, &k, from - k.at, values + (from - at), to - from);
    }
    return dev_sync(dev, e);
}

int parallel_loaded(struct parallel *p, struct err *e)
{
    make_copies(p);
    if (parallel_shares_masters(p))
        parallel_stepped(p);
    return dev_sync(p->graph->dev, e);
}

int parallel_collect(struct parallel *p, enum parallel_state what, float *whole,
                     float *own, struct err *e)
{
    const struct graph *g = p->graph;
    /* does each rank keep different pieces? */
    const bool sharded = what == PARALLEL_WEIGHTS ? parallel_shares_masters(p)
                                                  : parallel_shares_state(p);
    struct dev *dev = g->dev;
    struct held_piece k;
    int ret;

    coll_wait(p->coll);
    if (sharded)
        memset(own, 0, (size_t)p->own_count * sizeof *own);
    for (int i = 0; (sharded || whole) && get_piece(p, what, i, &k); i++)
        dev->type->get(dev, sharded ? own + k.own : whole + k.at, k.data,
                       (size_t)k.count * dtype_size(k.type));
    ret = dev_sync(dev, e);
    for (int i = 0; (sharded || whole) && get_piece(p, what, i, &k); i++)
        if (k.type == DT_BF16)
            coll_unpack_halves(sharded ? own + k.own : whole + k.at, k.count);
    for (int u = 0; sharded && ret == 0 && u < g->n_units; u++)
        coll_collect(p->coll, whole ? whole + g->unit[u].at : NULL,
                     own + p->unit[u].own, p->unit[u].bounds, sizeof(float));
    if (ret == 0)
        ret = coll_check(p->coll, e);
    coll_wait(p->coll);
    return ret;
}
