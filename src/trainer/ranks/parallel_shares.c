/*
 * parallel_shares - the parts that each rank keeps, and what they cost
 *
 * These functions compute sizes without memory or other ranks, for gtrain plan.
 */
#include "config.h"
#include "trainer/ranks/parallel.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/machine/limits.h"
#include "common/mem.h"
#include "common/num.h"
#include "trainer/model/gpt.h"

bool parallel_used(const struct parallel *p)
{
    return p->coll->size > 1 || p->ordered;
}

bool parallel_shares_state(const struct parallel *p)
{
    return p->coll->size > 1 && p->mode >= PARALLEL_ZERO1;
}

bool parallel_shares_grads(const struct parallel *p)
{
    return p->coll->size > 1 && p->mode >= PARALLEL_ZERO2;
}

bool parallel_gathers(const struct parallel *p)
{
    return p->coll->size > 1 && p->mode == PARALLEL_FSDP;
}

bool parallel_shares_masters(const struct parallel *p)
{
    return parallel_gathers(p) || (parallel_shares_state(p) &&
                                   p->set->train.precision != PRECISION_FP32 &&
                                   p->set->optim.masters == STATE_FP32);
}

bool parallel_sums_each(const struct parallel *p)
{
    return p->ordered || parallel_shares_grads(p);
}

/* ---- parts of units -------------------------------------------------- */

/* The elements of unit u from `at` on, with padding, up to the next range: of a
 * matrix, if the optimiser needs the one that begins there `whole`, or else of
 * all up to the next such matrix.  Ranges are in ascending order. */
static int64_t count_from(const struct optim *o, const struct graph_unit *u,
                          int64_t at, bool *whole)
{
    int64_t n = u->count - at;

    *whole = false;
    for (int i = 0; i < o->n_ranges; i++) {
        const struct optim_range *r = &o->range[i];
        const int64_t to = r->at - u->at - at;

        if (to == 0)
            *whole = r->rows > 0;
        else if (to > 0 && to < n && (*whole || r->rows))
            n = to;
    }
    return n;
}

static void add_chunks(struct shared_unit *s, int64_t from, int64_t count,
                       bool whole)
{
    for (int64_t at = 0; at < count; at += SUMSQ_CHUNK) {
        APPEND(s->chunk, s->n_chunks, s->room_chunks) =
            (struct shared_chunk){ .at = from + at,
                                   .may_divide = at == 0 || !whole };
    }
}

/* List the chunks of a unit.  The sum of squares of a chunk has the same bits
 * on any rank. */
static void list_chunks(struct shared_unit *s, const struct optim *o,
                        const struct graph_unit *u)
{
    for (int64_t at = 0, n; at < u->count; at += n) {
        bool whole;

        n = count_from(o, u, at, &whole);
        add_chunks(s, at, n, whole);
    }
    GROW(s->chunk, s->n_chunks, s->room_chunks);
    s->chunk[s->n_chunks] =
        (struct shared_chunk){ .at = u->count, .may_divide = true };
}

/* The possible bound that is nearest to `want`, not before `from`. */
static int nearest_bound(const struct shared_unit *s, int from, int64_t want)
{
    int best = from;

    for (int k = from + 1; k <= s->n_chunks; k++) {
        if (!s->chunk[k].may_divide)
            continue;
        if (llabs(s->chunk[k].at - want) > llabs(s->chunk[best].at - want))
            break;
        best = k;
    }
    return best;
}

static bool has_whole_matrix(const struct shared_unit *s)
{
    for (int k = 0; k < s->n_chunks; k++)
        if (!s->chunk[k].may_divide)
            return true;
    return false;
}

/* Divide into equal parts, which NCCL reduces and gathers in one call; the last
 * rank also has the rest.  A part begins at a multiple of 16 bytes, even of
 * 16-bit weights. */
static void divide_evenly(struct shared_unit *s, int64_t count, int size)
{
    const int64_t each = count / size / 8 * 8;

    for (int r = 1; r < size; r++)
        s->bounds[r] = r * each;
    s->bounds[size] = count;
}

/* Divide at whole chunks, as evenly as possible. */
static void divide_at_chunks(struct shared_unit *s, int64_t count, int size)
{
    int k = 0;

    for (int r = 1; r <= size; r++) {
        k = nearest_bound(s, k, count / size * r + count % size * r / size);
        s->bound_chunk[r] = k;
        s->bounds[r] = s->chunk[k].at;
    }
}

static void divide_unit(const struct parallel *p, struct shared_unit *s,
                        int64_t count)
{
    const int size = p->coll->size;

    s->bounds = xcalloc((size_t)size + 1, sizeof *s->bounds);
    s->bound_chunk = xcalloc((size_t)size + 1, sizeof *s->bound_chunk);
    if (p->ordered || has_whole_matrix(s))
        divide_at_chunks(s, count, size);
    else
        divide_evenly(s, count, size);
}

/* Divide every unit, and list the own parts. */
static void divide_units(struct parallel *p, struct optim_piece *piece)
{
    const struct graph *g = p->graph;
    const struct coll *c = p->coll;

    p->unit = xcalloc((size_t)g->n_units, sizeof *p->unit);
    for (int u = 0; u < g->n_units; u++) {
        struct shared_unit *s = &p->unit[u];

        list_chunks(s, p->optim, &g->unit[u]);
        divide_unit(p, s, g->unit[u].count);
        s->own = p->own_count;
        piece[u] = (struct optim_piece){
            .at = g->unit[u].at + s->bounds[c->rank],
            .count = s->bounds[c->rank + 1] - s->bounds[c->rank],
            .own = s->own,
        };
        p->own_count += (piece[u].count + 15) / 16 * 16;
        p->chunks += s->n_chunks;
    }
    /* a rank may have nothing of a small model, but has the same regions */
    if (p->own_count == 0)
        p->own_count = 16;
}

void parallel_lay_out(struct parallel *p, struct graph *g, struct optim *o)
{
    AUTO_FREE struct optim_piece *piece = NULL;
    size_t n;

    p->graph = g;
    p->optim = o;
    if (!p->training || !parallel_used(p))
        return;
    piece = xcalloc((size_t)g->n_units, sizeof *piece);
    divide_units(p, piece);
    n = (size_t)p->own_count;
    if (parallel_shares_state(p))
        optim_keep_pieces(o, piece, g->n_units, p->own_count);
    if (parallel_sums_each(p) || parallel_shares_state(p))
        p->acc.bytes = n * sizeof(float);
    if (p->ordered)
        p->squares.bytes = (size_t)p->chunks * sizeof(double);
    if (parallel_shares_masters(p))
        p->weights.bytes = n * dtype_size(g->masters);
    if (parallel_gathers(p) && graph_has_copies(g))
        p->copies.bytes = n * dtype_size(g->type);
}

/* ---- costs ----------------------------------------------------------- */

void parallel_memory(const struct parallel *p, int64_t bytes[DEV_MODEL_USES])
{
    const struct graph *g = p->graph;
    const struct optim *o = p->optim;
    const size_t sizes[DEV_MODEL_USES] = {
        [DEV_WEIGHTS] = g->weights.bytes + g->copies.bytes + p->weights.bytes +
                        p->copies.bytes,
        [DEV_GRADS] = g->grads.bytes + p->acc.bytes + p->squares.bytes,
        [DEV_MOMENTS] = o->m.bytes + o->v.bytes + o->work.bytes + o->sum.bytes,
        [DEV_ACTIVATIONS] = g->activations.bytes,
        [DEV_INPUTS] = g->inputs.bytes,
    };

    for (int i = 0; i < DEV_MODEL_USES; i++)
        bytes[i] = (int64_t)sizes[i];
}

/* How often a step of `micro` micro-batches gathers a unit under fsdp.  The
 * layers take turns in two places, so the two that a pass used last are still
 * present for the next one. */
static int64_t gathers_of(const struct parallel *p, int unit, int64_t micro)
{
    const struct graph *g = p->graph;
    int before = 0, after = 0;

    if (g->unit[unit].layer < 0 || !p->set->parallel.reshard)
        return 1;
    for (int u = 0; u < g->n_units; u++) {
        before += g->unit[u].layer >= 0 && u > unit;
        after += g->unit[u].layer >= 0 && u < unit;
    }
    /* forward, except in the first micro-batch, and backward */
    return 1 + (before >= 2 ? micro - 1 : 0) + (after >= 2 ? micro : 0);
}

int64_t parallel_sum_size(const struct settings *s)
{
    return s->parallel.sum_type == SUM_BF16 ? 2 : (int64_t)sizeof(float);
}

int64_t parallel_traffic(const struct parallel *p, int64_t micro)
{
    const struct graph *g = p->graph;
    const int64_t size = parallel_sum_size(p->set);
    const int64_t weight =
        parallel_shares_state(p) ? (int64_t)dtype_size(g->type) : size;
    const int64_t sums = parallel_sums_each(p) ? micro : 1;
    int64_t sent = 0;

    for (int u = 0; u < g->n_units; u++) {
        const int64_t gathers =
            parallel_gathers(p) ? gathers_of(p, u, micro) : 1;

        sent += g->unit[u].count * (sums * size + gathers * weight);
    }
    return (int64_t)((double)sent * (p->coll->size - 1) / p->coll->size);
}

/* ---- the memory of all ranks -------------------------------------------- */

/* Lay out each rank in turn. */
void rank_memory_find(struct settings *s, int ranks, enum parallel_mode mode,
                      int64_t B, struct rank_memory *most)
{
    const enum parallel_mode saved = s->parallel.mode;
    struct coll c = { .size = ranks };
    struct gpt gpt = { 0 };

    *most = (struct rank_memory){ .sent = 0 };
    s->parallel.mode = mode;
    for (c.rank = 0; c.rank < ranks; c.rank++) {
        struct graph_conf how = { .training = true, .fuse = true };
        AUTO(parallel_close) struct parallel p = { 0 };
        AUTO(optim_close) struct optim optim = { 0 };
        int64_t bytes[DEV_MODEL_USES];

        parallel_open(&p, s, &c, true);
        parallel_configure(&p, &how);
        if (c.rank == 0) {
            gpt_build(&gpt, s, B);
            graph_memory_size(&gpt.graph, &how);
        }
        optim_lay_out(&optim, &s->optim, &gpt.graph);
        parallel_lay_out(&p, &gpt.graph, &optim);
        parallel_memory(&p, bytes);
        for (int i = 0; i < DEV_MODEL_USES; i++)
            if (bytes[i] > most->bytes[i])
                most->bytes[i] = bytes[i];
        most->sent = parallel_traffic(&p, s->is.accumulate);
    }
    graph_clear(&gpt.graph);
    s->parallel.mode = saved;
}

int64_t rank_memory_sum(const struct rank_memory *m)
{
    int64_t sum = m->scratch;

    for (int i = 0; i < DEV_MODEL_USES; i++)
        sum += m->bytes[i];
    return sum;
}

void rank_memory_warn(struct settings *s, int ranks, int local)
{
    char from[1024], least[NUM_TEXT], most[NUM_TEXT];
    const double limit = limits_memory("", from, sizeof from);
    struct rank_memory m;
    double need;

    rank_memory_find(s, ranks, s->parallel.mode, s->train.micro_batch, &m);
    need = (double)rank_memory_sum(&m) * local;
    if (need <= limit)
        return;
    num_bytes(least, need);
    num_bytes(most, limit);
    if (*from)
        log_warn("training needs at least %s of memory on this machine, and %s "
                 "allows %s; the kernel may kill it without a message",
                 least, from, most);
    else
        log_warn("training needs at least %s of memory on this machine, which "
                 "has %s; the kernel may kill it without a message",
                 least, most);
}

/* ---- recorded micro-steps ----------------------------------------------- */

/* Some ten milliseconds of an H100; launching less work takes a noticeable part
 * of the time. */
#define RECORDED_FLOPS 5e12

static bool is_random(const struct graph *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->node[i].attr.drop.p > 0.0f || g->node[i].attr.attn.drop.p > 0.0f)
            return true;
    return false;
}

void recording_open(struct recording *r, struct graph *g,
                    enum cuda_graphs wanted, double flops)
{
    *r = (struct recording){ .graph = g };
    r->on = g->dev->type->capture_begin && wanted != CUDA_GRAPHS_NO &&
            (wanted == CUDA_GRAPHS_YES || flops < RECORDED_FLOPS) &&
            !is_random(g);
    r->on_all = r->on;
}

static void drop_recorded(struct recording *r, struct recording_kind *k)
{
    struct dev *dev = r->graph->dev;

    if (k->work)
        dev->type->capture_free(dev, k->work);
    k->work = NULL;
}

static struct dev_capture *record_once(struct graph *g, struct parallel *p,
                                       struct coll_calls *calls, struct err *e)
{
    struct phases *marked = g->phases;
    graph_fetch_fn *fetch = g->fetch;
    struct dev_capture *work = NULL;

    if (p)
        coll_record_begin(p->coll, calls);
    if (g->dev->type->capture_begin(g->dev, e) == 0) {
        g->phases = NULL; /* marks are not recorded */
        if (!p)
            g->fetch = NULL; /* recorded work runs when all has arrived */
        graph_run_train(g, p ? parallel_ready : NULL, p);
        if (p)
            coll_wait(p->coll);
        work = g->dev->type->capture_end(g->dev, e);
    }
    if (p) {
        coll_record_end(p->coll, calls);
        parallel_end_recorded(p);
    }
    g->phases = marked;
    g->fetch = fetch;
    return work;
}

struct dev_capture *recording_make(struct graph *g, struct parallel *p,
                                   struct coll_calls *calls, bool *waits,
                                   struct err *e)
{
    const struct dev_type *type = g->dev->type;
    struct dev_capture *work = record_once(g, p, calls, e);
    struct err again = { 0 };

    if (work || !type->overlap || !type->overlap(g->dev, false))
        return work;
    work = record_once(g, p, calls, &again);
    if (!work) {
        type->overlap(g->dev, true);
        return NULL;
    }
    log_warn("a micro-step whose kernels overlap cannot be recorded as a CUDA "
             "graph (%s); they do not overlap now, which GT_OVERLAP=off asks "
             "for",
             e->text);
    *e = again;
    *waits = true;
    return work;
}

/* Record this micro-step, if all ranks can where it has sums.  -1: a rank does
 * not respond. */
static int record_kind(struct recording *r, struct recording_kind *k,
                       struct parallel *p, bool sums, struct err *e)
{
    struct graph *g = r->graph;
    struct err why = { 0 };
    int64_t failed;
    bool waits;

    drop_recorded(r, k);
    if (sums && (coll_check(p->coll, e) < 0 || dev_sync(g->dev, e) < 0))
        return -1;
    if (r->on)
        k->work = recording_make(g, sums ? p : NULL, &k->calls, &waits, &why);
    k->head_scale = g->head_scale;
    if (r->on && !k->work) {
        log_warn("a micro-step cannot be recorded as a CUDA graph (%s); "
                 "training without CUDA graphs",
                 why.text);
        r->on = false;
    }
    failed = !k->work;
    if (!sums)
        return 0;
    if (coll_max(p->coll, &failed, e) < 0)
        return -1;
    r->on_all = !failed;
    if (failed)
        drop_recorded(r, k);
    return 0;
}

int recording_train(struct recording *r, struct parallel *p, struct err *e)
{
    struct graph *g = r->graph;
    const bool sums = parallel_sums_now(p);
    struct recording_kind *k = &r->kind[p->first][sums];
    /* where there are sums, all ranks answer this alike */
    const bool may_run = k->ran_after && k->ran_after <= g->step &&
                         !parallel_gathers(p) &&
                         (sums ? r->on_all && coll_can_record(p->coll) : r->on);

    if (may_run &&
        (!k->work || k->head_scale < g->head_scale ||
         k->head_scale > g->head_scale) &&
        record_kind(r, k, p, sums, e) < 0)
        return -1;
    if (may_run && k->work) {
        parallel_begin_recorded(p);
        if (sums)
            coll_run_recorded(p->coll, k->work, &k->calls);
        else
            g->dev->type->capture_run(g->dev, k->work);
        if (sums)
            parallel_end_recorded(p);
        return 0;
    }
    if (!k->ran_after)
        k->ran_after = g->step + 1;
    graph_run_train(g, parallel_ready, p);
    return 0;
}

void recording_close(struct recording *r)
{
    if (r->graph)
        for (int i = 0; i < 4; i++)
            drop_recorded(r, &r->kind[i / 2][i % 2]);
    *r = (struct recording){ 0 };
}
