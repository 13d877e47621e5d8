#include "config.h"
#include "trainer/plan_memory.h"

#include "trainer/model/gpt.h"
#include "trainer/model/graph_memory.h"
#include "trainer/model/optim.h"
#include "trainer/ranks/parallel.h"

/* Lay out each rank in turn, for micro-batches of B sequences, without
 * allocating memory. */
void plan_memory_find(struct settings *s, int ranks, enum parallel_mode mode,
                      int64_t B, struct plan_memory *most)
{
    const enum parallel_mode saved = s->parallel.mode;
    struct coll c = { .size = ranks };
    struct gpt gpt = { 0 };

    *most = (struct plan_memory){ .sent = 0 };
    s->parallel.mode = mode;
    for (c.rank = 0; c.rank < ranks; c.rank++) {
        struct graph_conf how = { .training = true, .fuse = true };
        struct parallel p;
        struct optim optim;
        int64_t memory[DEV_MODEL_USES];

        parallel_open(&p, s, &c, true);
        parallel_configure(&p, &how);
        if (c.rank == 0) {
            gpt_build(&gpt, s, B);
            graph_memory_size(&gpt.graph, &how, &ref_ops);
        }
        optim_lay_out(&optim, &s->optim, &gpt.graph);
        parallel_lay_out(&p, &gpt.graph, &optim);
        parallel_memory(&p, memory);
        for (int i = 0; i < DEV_MODEL_USES; i++)
            if (memory[i] > most->memory[i])
                most->memory[i] = memory[i];
        most->sent = parallel_traffic(&p, s->is.accumulate);
        parallel_close(&p);
        optim_close(&optim);
    }
    graph_clear(&gpt.graph);
    s->parallel.mode = saved;
}

int64_t plan_memory_sum(const struct plan_memory *m)
{
    int64_t sum = 0;

    for (int i = 0; i < DEV_MODEL_USES; i++)
        sum += m->memory[i];
    return sum;
}

static double sum_bytes(struct settings *s, int ranks, int64_t B)
{
    struct plan_memory m;

    plan_memory_find(s, ranks, s->parallel.mode, B, &m);
    return (double)plan_memory_sum(&m);
}

/* A tenth is left to other uses. */
static double usable(double gib)
{
    return 0.9 * gib * 0x1p30;
}

int64_t plan_memory_batch(struct settings *s, int ranks, double gib)
{
    const double limit = usable(gib);
    const bool given = s->train.batch || s->train.tokens_per_step;
    int64_t low = 0, high = 1;

    while (high < 65536 && sum_bytes(s, ranks, high) <= limit) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        const int64_t mid = (low + high) / 2;

        if (sum_bytes(s, ranks, mid) <= limit)
            low = mid;
        else
            high = mid;
    }
    while (given && low > 1 && s->is.windows % (low * ranks) != 0)
        low--;
    return low;
}

double plan_memory_model(struct settings *s, int ranks, double gib)
{
    struct plan_memory m;
    double state;

    plan_memory_find(s, ranks, s->parallel.mode, 1, &m);
    state = (double)(m.memory[DEV_WEIGHTS] + m.memory[DEV_GRADS] +
                     m.memory[DEV_MOMENTS]);
    return usable(gib) / state * (double)s->is.parameters;
}
