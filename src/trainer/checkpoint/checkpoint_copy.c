#include "config.h"
#include "trainer/checkpoint/checkpoint_copy.h"

#include <stdlib.h>

#include "common/mem.h"
#include "trainer/checkpoint/checkpoint_state.h"

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
    s->engine = eng;
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
    FREE(s->weights, s->m, s->v, s->own, s->config, s->state);
    *s = (struct checkpoint_copy){ 0 };
}
