#include "config.h"
#include "trainer/ranks/rank_memory.h"

#include "common/log.h"
#include "common/machine/limits.h"
#include "common/num.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph.h"
#include "trainer/model/optim.h"
#include "trainer/ranks/parallel.h"

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
        struct parallel p;
        struct optim optim;
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
        parallel_close(&p);
        optim_close(&optim);
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
