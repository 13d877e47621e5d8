#include "config.h"
#include "trainer/ranks/recording.h"

#include "common/log.h"
#include "trainer/model/graph.h"

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

/* Whether all ranks answer this alike where there are sums. */
static bool may_run_recorded(const struct recording *r,
                             const struct recording_kind *k,
                             const struct parallel *p, bool sums)
{
    return k->ran_after && k->ran_after <= r->graph->step &&
           !parallel_gathers(p) &&
           (sums ? r->on_all && coll_can_record(p->coll) : r->on);
}

int recording_train(struct recording *r, struct parallel *p, struct err *e)
{
    struct graph *g = r->graph;
    const bool sums = parallel_sums_now(p);
    struct recording_kind *k = &r->kind[p->first][sums];
    const bool may_run = may_run_recorded(r, k, p, sums);

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
