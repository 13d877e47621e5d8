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
            !is_random(g) && !g->fetch;
}

static void drop_recorded(struct recording *r, struct recording_kind *k)
{
    struct dev *dev = r->graph->dev;

    if (k->work)
        dev->type->capture_free(dev, k->work);
    k->work = NULL;
}

/* Run what was recorded, after recording it if there is none, or an old one. */
static bool run_recorded(struct recording *r, struct recording_kind *k)
{
    struct graph *g = r->graph;
    struct dev *dev = g->dev;

    if (k->work &&
        (k->head_scale < g->head_scale || k->head_scale > g->head_scale))
        drop_recorded(r, k);
    for (int i = 0; i < 2; i++) {
        if (!k->work) {
            g->phases = NULL; /* marks are not recorded */
            dev->type->capture_begin(dev);
            graph_run_train(g, NULL, NULL);
            k->work = dev->type->capture_end(dev);
            k->head_scale = g->head_scale;
        }
        if (!k->work)
            return false;
        if (dev->type->capture_run(dev, k->work) == 0)
            return true;
        drop_recorded(r, k);
    }
    return false;
}

void recording_train(struct recording *r, graph_ready_fn *ready, void *arg)
{
    struct graph *g = r->graph;
    struct recording_kind *k = &r->kind[g->first_micro];

    if (r->on && k->has_run) {
        if (run_recorded(r, k)) {
            r->times++;
            return;
        }
        log_info("the device cannot record a micro-step; training without CUDA "
                 "graphs");
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
