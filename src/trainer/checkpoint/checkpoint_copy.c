#include "config.h"
#include "trainer/checkpoint/checkpoint_copy.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "trainer/checkpoint/checkpoint_state.h"

void checkpoint_copy_list(struct checkpoint_copy *s, const struct engine *eng)
{
    const struct graph *g = &eng->gpt.graph;

    s->n = g->n_params;
    s->tensor = xcalloc((size_t)s->n + 1, sizeof *s->tensor);
    for (int i = 0; i < s->n; i++) {
        const struct graph_param *p = &g->param[i];
        const struct tensor *t = &g->node[p->node].val;
        struct checkpoint_copy_tensor *to = &s->tensor[i];

        memcpy(to->name, p->name, sizeof to->name);
        to->rank = t->rank;
        to->dim[0] = t->dim[0];
        to->dim[1] = t->dim[1];
        to->at = p->at;
        to->v_count =
            eng->optim.seconds ? optim_second_count(&eng->optim, p) : 0;
    }
}

struct checkpoint_copy_tensor checkpoint_copy_second(
    const struct checkpoint_copy_tensor *t)
{
    struct checkpoint_copy_tensor v = *t;

    if (t->rank == 2 && t->v_count < t->dim[0] * t->dim[1]) {
        v.rank = 1;
        v.dim[0] = t->v_count;
        v.dim[1] = 0;
    }
    return v;
}

/* Copy a whole block to rank 0; every rank takes part. */
static int copy_block(struct engine *eng, enum parallel_state what,
                      float **copy, struct err *e)
{
    const size_t n = (size_t)eng->gpt.graph.count;

    *copy = mem_alloc(n, sizeof **copy, "copy of the state", e);
    if (!*copy)
        return -1;
    return parallel_collect(&eng->parallel, what, *copy, e);
}

int checkpoint_copy_take(struct checkpoint_copy *s, struct engine *eng,
                         const char *run_id, struct err *e)
{
    struct buf config = BUF_INIT;

    *s = (struct checkpoint_copy){ 0 };
    checkpoint_copy_list(s, eng);
    conf_dump(&eng->set->conf, &config);
    s->config = buf_detach(&config);
    s->state = checkpoint_state_text(eng, run_id);
    if (copy_block(eng, PARALLEL_WEIGHTS, &s->weights, e) < 0 ||
        (eng->gpt.graph.training &&
         copy_block(eng, PARALLEL_M, &s->m, e) < 0) ||
        (eng->optim.seconds && copy_block(eng, PARALLEL_V, &s->v, e) < 0))
        return -1;
    return dev_sync(&eng->dev, e);
}

int checkpoint_copy_join(struct engine *eng, struct err *e)
{
    if (parallel_collect(&eng->parallel, PARALLEL_WEIGHTS, NULL, e) < 0 ||
        parallel_collect(&eng->parallel, PARALLEL_M, NULL, e) < 0)
        return -1;
    return eng->optim.seconds
               ? parallel_collect(&eng->parallel, PARALLEL_V, NULL, e)
               : 0;
}

void checkpoint_copy_clear(struct checkpoint_copy *s)
{
    free(s->weights);
    free(s->m);
    free(s->v);
    free(s->tensor);
    free(s->config);
    free(s->state);
    *s = (struct checkpoint_copy){ 0 };
}
