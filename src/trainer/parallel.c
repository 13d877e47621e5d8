#include "config.h"
#include "trainer/parallel.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

bool parallel_used(const struct parallel *p)
{
    return p->coll->size > 1 || p->ordered;
}

bool parallel_shares_state(const struct parallel *p)
{
    return p->coll->size > 1 && p->mode >= PARALLEL_ZERO1;
}

static bool shares_grads(const struct parallel *p)
{
    return p->coll->size > 1 && p->mode >= PARALLEL_ZERO2;
}

bool parallel_gathers(const struct parallel *p)
{
    return p->coll->size > 1 && p->mode == PARALLEL_FSDP;
}

/* Are the gradients of each micro-batch summed, or a rank's all at once? */
static bool sums_each(const struct parallel *p)
{
    return p->ordered || shares_grads(p);
}

/* ---- opening ----------------------------------------------------------- */

int parallel_open(struct parallel *p, const struct settings *s, struct coll *c,
                  bool training, struct err *e)
{
    *p = (struct parallel){ .set = s, .coll = c };
    if (!training)
        return 0;
    p->mode = (enum parallel_mode)s->parallel.mode;
    p->ordered = s->train.deterministic;
    p->training = true;
    if (parallel_shares_state(p) && s->optim.name == OPTIM_MUON)
        return conf_fail(&s->conf, "parallel.mode", e,
                         "muon needs whole matrices: only ddp will do");
    return 0;
}

void parallel_place(const struct parallel *p, struct place *how)
{
    how->share_grads = how->training && shares_grads(p);
    how->share_weights = parallel_gathers(p) && p->set->parallel.reshard;
}

static int take(struct parallel *p, struct region *r, size_t bytes,
                const char *what, struct err *e)
{
    struct dev *dev = p->graph->dev;

    r->bytes = bytes;
    r->data = dev->type->alloc(dev, bytes ? bytes : 1, e);
    if (!r->data)
        return err_wrap(e, "%s", what);
    dev->type->zero(dev, r->data, bytes);
    return 0;
}

/* Cut every unit, and list the own parts. */
static void cut_units(struct parallel *p, struct optim_piece *piece)
{
    const struct graph *g = p->graph;
    const struct coll *c = p->coll;

    p->unit = xcalloc((size_t)g->n_units, sizeof *p->unit);
    for (int u = 0; u < g->n_units; u++) {
        struct shared_unit *s = &p->unit[u];

        s->cut = xcalloc((size_t)c->size + 1, sizeof *s->cut);
        coll_cut(c, g->unit[u].count, SUMSQ_CHUNK, s->cut);
        s->own = p->own_count;
        piece[u] = (struct optim_piece){
            .at = g->unit[u].at + s->cut[c->rank],
            .count = s->cut[c->rank + 1] - s->cut[c->rank],
            .own = s->own,
        };
        p->own_count += (piece[u].count + 15) / 16 * 16;
    }
    /* a rank of a small model may have nothing, but has the same regions */
    if (p->own_count == 0)
        p->own_count = 16;
}

static int64_t chunks_of(int64_t n)
{
    return (n + SUMSQ_CHUNK - 1) / SUMSQ_CHUNK;
}

static int64_t all_chunks(const struct graph *g)
{
    int64_t n = 0;

    for (int u = 0; u < g->n_units; u++)
        n += chunks_of(g->unit[u].count);
    return n;
}

static graph_need_fn need;

int parallel_attach(struct parallel *p, struct graph *g, struct optim *o,
                    struct err *e)
{
    struct optim_piece *piece;
    size_t n;
    int ret = 0;

    p->graph = g;
    p->optim = o;
    if (!p->training || !parallel_used(p))
        return 0;
    piece = xcalloc((size_t)g->n_units, sizeof *piece);
    cut_units(p, piece);
    n = (size_t)p->own_count;
    if (parallel_shares_state(p))
        optim_share(o, piece, g->n_units, p->own_count);
    free(piece);
    if (sums_each(p) || parallel_shares_state(p))
        ret = take(p, &p->acc, n * sizeof(float), "own gradients", e);
    if (ret == 0 && p->ordered)
        ret = take(p, &p->squares, (size_t)all_chunks(g) * sizeof(double),
                   "chunk sums", e);
    if (ret == 0 && parallel_gathers(p))
        ret = take(p, &p->weights, n * sizeof(float), "own weights", e);
    if (ret == 0 && parallel_gathers(p) && g->type != DT_F32)
        ret = take(p, &p->copies, n * dtype_size(g->type), "own 16-bit weights",
                   e);
    if (parallel_shares_state(p))
        o->own_grads = p->acc;
    o->own_weights = p->weights;
    o->own_copies = p->copies;
    g->need = need;
    g->need_arg = p;
    return ret;
}

void parallel_lend(struct parallel *p, struct graph *to)
{
    if (parallel_shares_state(p)) {
        to->need = need;
        to->need_arg = p;
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
        if (all[i]->data)
            p->graph->dev->type->free(p->graph->dev, all[i]->data);
    for (int u = 0; p->unit && u < p->graph->n_units; u++)
        free(p->unit[u].cut);
    free(p->unit);
    *p = (struct parallel){ 0 };
}

/* ---- addresses --------------------------------------------------------- */

static float *grads_of(const struct parallel *p, int unit)
{
    return (float *)p->graph->grads.data + p->graph->unit[unit].grads_at;
}

static float *own_acc(const struct parallel *p, int unit)
{
    return (float *)p->acc.data + p->unit[unit].own;
}

/* Where a unit lies for the model to use, in the type that it uses. */
static char *weights_of(const struct parallel *p, int unit, size_t *size)
{
    const struct graph *g = p->graph;
    const struct region *r = g->type == DT_F32 ? &g->weights : &g->copies;

    *size = dtype_size(g->type);
    return (char *)r->data + (size_t)g->unit[unit].weights_at * *size;
}

/* Memory of the device to memory of the device. */
static void copy(const struct parallel *p, void *to, const void *from,
                 size_t bytes)
{
    p->graph->dev->type->copy(p->graph->dev, to, from, bytes);
}

static int64_t own_part(const struct parallel *p, int unit)
{
    const int64_t *cut = p->unit[unit].cut;

    return cut[p->coll->rank + 1] - cut[p->coll->rank];
}

/* ---- weights, as they are needed --------------------------------------- */

/* Another unit that lies in the same place has to go. */
static void make_room(struct parallel *p, int unit)
{
    const struct graph *g = p->graph;

    for (int u = 0; u < g->n_units; u++)
        if (u != unit && g->unit[u].weights_at == g->unit[unit].weights_at)
            p->unit[u].there = false;
}

static void gather(struct parallel *p, int unit)
{
    struct shared_unit *s = &p->unit[unit];
    const struct region *own =
        p->graph->type == DT_F32 ? &p->weights : &p->copies;
    size_t size;
    char *to = weights_of(p, unit, &size);

    if (s->there)
        return;
    make_room(p, unit);
    copy(p, to + (size_t)s->cut[p->coll->rank] * size,
         (const char *)own->data + (size_t)s->own * size,
         (size_t)own_part(p, unit) * size);
    coll_gather(p->coll, to, s->cut, size);
    s->gathered = coll_begun(p->coll);
    s->there = true;
}

/* Units are in the order in which backward is done with them. */
static int next_of(const struct parallel *p, int unit, bool backward)
{
    const int next = backward ? unit + 1 : unit - 1;

    if (next < 0 || next >= p->graph->n_units || p->graph->unit[next].layer < 0)
        return -1;
    return next;
}

/* The same unit of the graph that owns the weights. */
static int own_unit(const struct parallel *p, const struct graph *g, int unit)
{
    if (g == p->graph)
        return unit;
    for (int u = 0; u < p->graph->n_units; u++)
        if (strcmp(p->graph->unit[u].name, g->unit[unit].name) == 0)
            return u;
    abort();
}

/* Gradients that are still on their way must leave before new ones come to
 * the same place. */
static void wait_for_place(struct parallel *p, int unit)
{
    const struct graph *g = p->graph;

    for (int u = 0; u < g->n_units; u++)
        if (g->unit[u].grads_at == g->unit[unit].grads_at)
            coll_wait_for(p->coll, p->unit[u].reduced);
}

static void need(void *arg, struct graph *g, int unit, bool backward)
{
    struct parallel *p = arg;
    const int own = own_unit(p, g, unit);
    int next;

    if (g == p->graph && g->training && !g->evaluating)
        wait_for_place(p, own);
    if (parallel_gathers(p))
        gather(p, own);
    coll_wait_for(p->coll, p->unit[own].gathered);
    if (!parallel_gathers(p))
        return;
    next = next_of(p, own, backward);
    if (next >= 0)
        gather(p, next);
}

/* ---- gradients, as they are done --------------------------------------- */

void parallel_micro(struct parallel *p, int64_t i, int64_t n)
{
    p->fresh = i == 0;
    p->last = i == n - 1;
    p->graph->first_micro = p->fresh || sums_each(p);
}

void parallel_ready(void *arg, struct graph *g, int unit)
{
    struct parallel *p = arg;
    struct shared_unit *s;

    if (!parallel_used(p) || (!sums_each(p) && !p->last))
        return;
    s = &p->unit[unit];
    if (!sums_each(p) && p->mode == PARALLEL_DDP)
        coll_sum(p->coll, grads_of(p, unit), g->unit[unit].count);
    else
        coll_reduce(p->coll, own_acc(p, unit), grads_of(p, unit), s->cut,
                    p->fresh || !sums_each(p));
    s->reduced = coll_begun(p->coll);
}

/* ---- the norm ---------------------------------------------------------- */

static void measure(struct parallel *p, float *g, int64_t n, double *out,
                    bool fresh)
{
    struct dev *dev = p->graph->dev;
    struct tensor sum = {
        .data = out, .type = DT_F64, .rank = 1, .dim = { 1 }, .fresh = fresh
    };
    const struct tensor part = {
        .data = g, .type = DT_F32, .rank = 1, .dim = { n }
    };

    dev->ops->sumsq(dev, &sum, &part);
}

/* Squares of n gradients, a sum a chunk. */
static void measure_chunks(struct parallel *p, float *g, int64_t n, double *out)
{
    for (int64_t at = 0; at < n; at += SUMSQ_CHUNK)
        measure(p, g + at, n - at < SUMSQ_CHUNK ? n - at : SUMSQ_CHUNK, out++,
                true);
}

/* Every rank measures its chunks; nothing is added but zeros, so the sum over
 * ranks is exact, and the chunks are then added in order. */
static int measure_in_order(struct parallel *p, struct err *e)
{
    const struct graph *g = p->graph;
    struct dev *dev = g->dev;
    const int64_t n = all_chunks(g);
    double *sum = xcalloc((size_t)n, sizeof *sum), *on = p->squares.data;
    double total = 0;
    int ret;

    dev->type->zero(dev, on, p->squares.bytes);
    for (int u = 0; u < g->n_units; u++) {
        measure_chunks(p, own_acc(p, u), own_part(p, u),
                       on + p->unit[u].cut[p->coll->rank] / SUMSQ_CHUNK);
        on += chunks_of(g->unit[u].count);
    }
    dev->type->get(dev, sum, p->squares.data, p->squares.bytes);
    ret = dev_sync(dev, e);
    if (ret == 0)
        ret = coll_sum_f64(p->coll, sum, (size_t)n, e);
    for (int64_t i = 0; i < n; i++)
        total += sum[i];
    free(sum);
    optim_measured(p->optim, total);
    return ret;
}

/* Every rank measures what it keeps. */
static int measure_shares(struct parallel *p, struct err *e)
{
    const struct graph *g = p->graph;
    struct dev *dev = g->dev;
    double total = 0, *on = p->optim->sum.data;

    dev->type->zero(dev, on, sizeof *on);
    for (int u = 0; u < g->n_units; u++)
        if (own_part(p, u))
            measure(p, own_acc(p, u), own_part(p, u), on, false);
    dev->type->get(dev, &total, on, sizeof total);
    if (dev_sync(dev, e) < 0 || coll_sum_f64(p->coll, &total, 1, e) < 0)
        return -1;
    optim_measured(p->optim, total);
    return 0;
}

/* Whole gradients for an update that every rank makes whole. */
static void share_sums(struct parallel *p)
{
    const struct graph *g = p->graph;

    for (int u = 0; u < g->n_units; u++) {
        const int64_t *cut = p->unit[u].cut;

        copy(p, grads_of(p, u) + cut[p->coll->rank], own_acc(p, u),
             (size_t)own_part(p, u) * sizeof(float));
        coll_gather(p->coll, grads_of(p, u), cut, sizeof(float));
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
        share_sums(p);
    return coll_check(p->coll, e);
}

/* ---- after the update -------------------------------------------------- */

/* Units are gathered in the order in which the next forward pass needs them,
 * which waits for each in its turn. */
void parallel_stepped(struct parallel *p)
{
    const struct graph *g = p->graph;
    size_t size;

    if (!parallel_shares_state(p))
        return;
    for (int u = g->n_units - 1; u >= 0; u--) {
        p->unit[u].there = false;
        if (parallel_gathers(p))
            continue;
        coll_gather(p->coll, (float *)g->weights.data + g->unit[u].weights_at,
                    p->unit[u].cut, sizeof(float));
        if (g->type != DT_F32)
            coll_gather(p->coll, weights_of(p, u, &size), p->unit[u].cut,
                        dtype_size(g->type));
        p->unit[u].gathered = coll_begun(p->coll);
    }
}

/* ---- whole blocks ------------------------------------------------------ */

static struct region *region_of(struct parallel *p, enum parallel_what what)
{
    switch (what) {
    case PARALLEL_M:
        return &p->optim->m;
    case PARALLEL_V:
        return &p->optim->v;
    case PARALLEL_WEIGHTS:
        break;
    }
    return parallel_gathers(p) ? &p->weights : &p->graph->weights;
}

/* Does this rank keep a part of it alone? */
static bool is_shared(const struct parallel *p, enum parallel_what what)
{
    return what == PARALLEL_WEIGHTS ? parallel_gathers(p)
                                    : parallel_shares_state(p);
}

/* Weights in the type that the model uses, if that is another. */
static void make_copies(struct parallel *p)
{
    const struct graph *g = p->graph;
    const bool own = parallel_gathers(p);
    const int64_t n = own ? p->own_count : g->count;
    struct tensor from = { .data = own ? p->weights.data : g->weights.data,
                           .type = DT_F32,
                           .rank = 1,
                           .dim = { n } };
    struct tensor to = { .data = own ? p->copies.data : g->copies.data,
                         .type = g->type,
                         .rank = 1,
                         .dim = { n } };

    if (to.data)
        g->dev->ops->cast(g->dev, &to, &from);
}

int parallel_put(struct parallel *p, enum parallel_what what, int64_t at,
                 const float *values, int64_t count, struct err *e)
{
    const struct region *r = region_of(p, what);
    const struct graph *g = p->graph;
    struct dev *dev = g->dev;

    if (!r->data)
        return 0;
    coll_wait(p->coll);
    if (!is_shared(p, what))
        dev->type->put(dev, (float *)r->data + at, values,
                       (size_t)count * sizeof *values);
    for (int u = 0; u < g->n_units && is_shared(p, what); u++) {
        const int64_t own = g->unit[u].at + p->unit[u].cut[p->coll->rank];
        const int64_t from = at > own ? at : own;
        const int64_t end = own + own_part(p, u);
        const int64_t to = at + count < end ? at + count : end;

        if (from < to)
            dev->type->put(
                dev, (float *)r->data + p->unit[u].own + (from - own),
                values + (from - at), (size_t)(to - from) * sizeof *values);
    }
    return dev_sync(dev, e);
}

int parallel_renew(struct parallel *p, struct err *e)
{
    const struct graph *g = p->graph;

    make_copies(p);
    for (int u = 0; u < g->n_units && parallel_gathers(p); u++)
        p->unit[u].there = false;
    return dev_sync(g->dev, e);
}

int parallel_collect(struct parallel *p, enum parallel_what what, float *whole,
                     struct err *e)
{
    const struct region *r = region_of(p, what);
    const struct graph *g = p->graph;
    struct dev *dev = g->dev;
    float *own;
    int ret;

    if (!r->data)
        return 0;
    coll_wait(p->coll);
    if (!is_shared(p, what)) {
        if (whole)
            dev->type->get(dev, whole, r->data, r->bytes);
        return dev_sync(dev, e);
    }
    own = mem_alloc((size_t)p->own_count, sizeof *own, "the own part", e);
    if (!own)
        return -1;
    dev->type->get(dev, own, r->data, (size_t)p->own_count * sizeof *own);
    ret = dev_sync(dev, e);
    for (int u = 0; ret == 0 && u < g->n_units; u++)
        coll_collect(p->coll, whole ? whole + g->unit[u].at : NULL,
                     own + p->unit[u].own, p->unit[u].cut, sizeof(float), 0);
    if (ret == 0)
        ret = coll_check(p->coll, e);
    coll_wait(p->coll);
    free(own);
    return ret;
}
