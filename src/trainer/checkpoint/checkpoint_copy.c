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

/* No block is fine for a count of 0. */
static bool is_alloced(float **block, int64_t count, struct err *e)
{
    if (count > 0)
        *block = mem_alloc((size_t)count, sizeof **block,
                           "memory for checkpoints", e);
    return count == 0 || *block;
}

int checkpoint_copy_open(struct checkpoint_copy *s, struct engine *eng,
                         struct err *e)
{
    const int64_t n = eng->coll.rank == 0 ? eng->gpt.graph.count : 0;
    const int64_t m = eng->gpt.graph.training ? n : 0;
    int64_t lacks = !is_alloced(&s->weights, n, e) ||
                    !is_alloced(&s->m, m, e) ||
                    !is_alloced(&s->v, eng->optim.seconds ? n : 0, e) ||
                    !is_alloced(&s->own, eng->parallel.own_count, e);
    struct buf config = BUF_INIT;

    if (coll_max(&eng->coll, &lacks, e) < 0)
        return -1;
    if (lacks && e->kind == ERR_NONE)
        err_set(e, ERR_SYSTEM, "another rank lacks memory for checkpoints");
    if (lacks)
        return -1;
    checkpoint_copy_list(s, eng);
    conf_dump(&eng->set->conf, &config);
    s->config = buf_detach(&config);
    return 0;
}

int checkpoint_copy_take(struct checkpoint_copy *s, struct engine *eng,
                         const char *run_id, struct err *e)
{
    if (!s->config && checkpoint_copy_open(s, eng, e) < 0)
        return -1;
    free(s->state);
    s->state = checkpoint_state_text(eng, run_id);
    if (parallel_collect(&eng->parallel, PARALLEL_WEIGHTS, s->weights, s->own,
                         e) < 0 ||
        (eng->gpt.graph.training &&
         parallel_collect(&eng->parallel, PARALLEL_M, s->m, s->own, e) < 0) ||
        (eng->optim.seconds &&
         parallel_collect(&eng->parallel, PARALLEL_V, s->v, s->own, e) < 0))
        return -1;
    return dev_sync(&eng->dev, e);
}

void checkpoint_copy_clear(struct checkpoint_copy *s)
{
    FREE(s->weights, s->m, s->v, s->own, s->tensor, s->config, s->state);
    *s = (struct checkpoint_copy){ 0 };
}
