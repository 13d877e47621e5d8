#include "config.h"
#include "trainer/checkpoint/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "trainer/checkpoint/checkpoint_state.h"

void snapshot_list(struct snapshot *s, const struct job *j)
{
    const struct graph *g = &j->gpt.graph;

    s->n = g->n_params;
    s->tensor = xcalloc((size_t)s->n + 1, sizeof *s->tensor);
    for (int i = 0; i < s->n; i++) {
        const struct graph_param *p = &g->param[i];
        const struct tensor *t = &g->node[p->node].val;
        struct snapshot_tensor *to = &s->tensor[i];

        memcpy(to->name, p->name, sizeof to->name);
        to->rank = t->rank;
        to->dim[0] = t->dim[0];
        to->dim[1] = t->dim[1];
        to->at = p->at;
        to->has_v = j->optim.seconds && optim_has_second(&j->optim, p);
    }
}

/* Copy a whole block to rank 0; every rank takes part. */
static int copy_block(struct job *j, enum parallel_state what, float **copy,
                      struct err *e)
{
    const size_t n = (size_t)j->gpt.graph.count;

    *copy = mem_alloc(n, sizeof **copy, "copy of the state", e);
    if (!*copy)
        return -1;
    return parallel_collect(&j->parallel, what, *copy, e);
}

int snapshot_take(struct snapshot *s, struct job *j, const char *run_id,
                  struct err *e)
{
    struct buf config = BUF_INIT;

    *s = (struct snapshot){ 0 };
    snapshot_list(s, j);
    conf_dump(&j->set->conf, &config);
    s->config = buf_detach(&config);
    s->state = checkpoint_state_text(j, run_id);
    if (copy_block(j, PARALLEL_WEIGHTS, &s->weights, e) < 0 ||
        (j->gpt.graph.training && copy_block(j, PARALLEL_M, &s->m, e) < 0) ||
        (j->optim.seconds && copy_block(j, PARALLEL_V, &s->v, e) < 0))
        return -1;
    return dev_sync(&j->dev, e);
}

int snapshot_join(struct job *j, struct err *e)
{
    if (parallel_collect(&j->parallel, PARALLEL_WEIGHTS, NULL, e) < 0 ||
        parallel_collect(&j->parallel, PARALLEL_M, NULL, e) < 0)
        return -1;
    return j->optim.seconds
               ? parallel_collect(&j->parallel, PARALLEL_V, NULL, e)
               : 0;
}

void snapshot_clear(struct snapshot *s)
{
    free(s->weights);
    free(s->m);
    free(s->v);
    free(s->tensor);
    free(s->config);
    free(s->state);
    *s = (struct snapshot){ 0 };
}
