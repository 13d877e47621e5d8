#include "config.h"
#include "trainer/model/recording.h"

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
}

static void drop_recorded(struct recording *r, struct recording_kind *k)
{
    struct dev *dev = r->graph->dev;

    if (k->work)
        dev->type->capture_free(dev, k->work);
    k->work = NULL;
}

static struct dev_capture *record_once(struct graph *g, struct err *e)
{
    struct phases *phases = g->phases;
    graph_fetch_fn *fetch = g->fetch;
    struct dev_capture *work;

    if (g->dev->type->capture_begin(g->dev, e) < 0)
        return NULL;
    g->phases = NULL; /* marks are not recorded */
    g->fetch = NULL;  /* the caller has waited for the weights */
    graph_run_train(g, NULL, NULL);
    work = g->dev->type->capture_end(g->dev, e);
    g->phases = phases;
    g->fetch = fetch;
    return work;
}

struct dev_capture *recording_make(struct graph *g, bool *waits, struct err *e)
{
    const struct dev_type *type = g->dev->type;
    struct dev_capture *work = record_once(g, e);
    struct err again = { 0 };

    if (work || !type->overlap || !type->overlap(g->dev, false))
        return work;
    work = record_once(g, &again);
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

/* Run what was recorded, after recording it if there is none, or an old one. */
static int run_recorded(struct recording *r, struct recording_kind *k,
                        struct err *e)
{
    struct graph *g = r->graph;
    struct dev *dev = g->dev;
    bool waits;

    if (k->work &&
        (k->head_scale < g->head_scale || k->head_scale > g->head_scale))
        drop_recorded(r, k);
    for (int i = 0; i < 2; i++) {
        if (!k->work) {
            k->work = recording_make(g, &waits, e);
            k->head_scale = g->head_scale;
        }
        if (!k->work)
            return -1;
        if (dev->type->capture_run(dev, k->work) == 0)
            return 0;
        drop_recorded(r, k);
    }
    return err_set(e, ERR_SYSTEM, "memory that it uses has moved twice");
}

void recording_train(struct recording *r, bool alone, graph_ready_fn *ready,
                     void *arg)
{
    struct graph *g = r->graph;
    struct recording_kind *k = &r->kind[g->first_micro];
    struct err e = { 0 };

    if (r->on && alone && k->has_run) {
        if (run_recorded(r, k, &e) == 0) {
            r->times++;
            return;
        }
        log_warn("a micro-step cannot be recorded as a CUDA graph (%s); "
                 "training without CUDA graphs",
                 e.text);
        r->on = false;
    }
    k->has_run = true;
    graph_run_train(g, ready, arg);
}

void recording_close(struct recording *r)
{
    if (r->graph)
        for (int i = 0; i < 2; i++)
            drop_recorded(r, &r->kind[i]);
    *r = (struct recording){ 0 };
}
