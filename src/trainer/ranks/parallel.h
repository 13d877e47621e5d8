#ifndef TRAINER_RANKS_PARALLEL_H
#define TRAINER_RANKS_PARALLEL_H

#include "trainer/model/graph_run.h"
#include "trainer/model/optim.h"
#include "trainer/ranks/coll.h"
#include "trainer/settings/settings.h"

/*
 * parallel - what each rank keeps, and when ranks exchange it
 *
 *      mode    weights  gradients  moments     floats a rank holds, of N ranks
 *      ddp     whole    whole      whole       4 P
 *      zero1   whole    whole      shared      2 P + 3 P / N
 *      zero2   whole    shared     shared      1 P + 3 P / N, and two layers
 *      fsdp    shared   shared     shared      4 P / N, and two layers twice
 *
 * Where the model computes in 16 bits, "whole" weights are 16-bit ones and the
 * fp32 ones are shared with the moments, from zero1 on.
 *
 * The unit of sharing is a unit of the graph (a layer, the embedding, the
 * head): each is cut into as many parts as there are ranks, at whole chunks of
 * SUMSQ_CHUNK elements, and rank r keeps the r-th.  Muon turns whole matrices,
 * so then cuts are between them, and a rank may keep nothing of a unit.
 *
 * When backward is done with a unit, its gradients are summed over the ranks
 * by the thread of coll.h while backward goes on.  Under fsdp a layer's weights
 * are gathered before they are needed, the next layer's while it computes;
 * there is room for two layers, and the embedding and the head stay.
 *
 * Deterministic (train.deterministic), the gradient of every micro-batch is
 * computed from zero and added whole, in the order of the micro-batches in the
 * step, whichever rank made them; and the norm is summed by chunks in order.
 * So the weights after any number of steps have the same bits for every mode
 * and any number of ranks that share a step's micro-batches evenly, one
 * included.  Otherwise ddp and zero1 sum what a rank has accumulated, once a
 * step, and results differ by rounding.
 *
 *      parallel_open(&p, ...)          before the graph is placed
 *      parallel_attach(&p, ...)        after, and before optim_open()
 *      for each micro-batch:
 *          parallel_begin_micro(&p, i, n);
 *          graph_run_train(g, parallel_ready, &p);
 *      parallel_measure(&p, e)         the norm, over all ranks
 *      optim_step(...)
 *      parallel_stepped(&p)            everyone gets the new weights
 *
 * parallel_lay_out() is what parallel_attach() does without memory or other
 * ranks: the sizes of all regions are known after it.
 */
struct parallel {
    const struct settings *set;
    struct coll *coll;
    struct graph *graph;
    struct optim *optim;
    enum parallel_mode mode;
    bool training;
    bool ordered;               /* deterministic */
    bool fresh, last;           /* this micro-batch: the first, the last */

    struct shared_unit {
        struct shared_chunk {
            int64_t at;         /* from the unit's start */
            bool may_cut;       /* before it */
        } *chunk;               /* and one at the end */
        int n_chunks, room_chunks;
        int64_t *cut;           /* size + 1; from the unit's start */
        int *cut_chunk;         /* the chunk that begins there */
        int64_t own;            /* of the own part, in own storage */
        uint64_t reduced;       /* the call of coll.h that sums it */
        uint64_t gathered;      /* that gathers its weights */
        bool there;             /* fsdp: gathered, or on the way */
    } *unit;
    int64_t own_count;          /* of all own parts, each 16-aligned */
    int64_t chunks;             /* of all units */
    struct region acc;          /* own gradient sums */
    struct region weights;      /* fsdp: own weights */
    struct region copies;       /* fsdp: their 16-bit copies */
    struct region squares;      /* deterministic: a sum a chunk, in double */
};

/* Does this job need any of it?  One rank does if it is deterministic. */
bool parallel_used(const struct parallel *);
bool parallel_shares_state(const struct parallel *);    /* zero1 and up */
bool parallel_shares_grads(const struct parallel *);    /* zero2 and up */
bool parallel_gathers(const struct parallel *);         /* fsdp */
bool parallel_shares_masters(const struct parallel *);  /* fp32 weights */
/* Are the gradients of each micro-batch summed, or a rank's all at once? */
bool parallel_sums_each(const struct parallel *);

void parallel_open(struct parallel *, const struct settings *, struct coll *,
                   bool training);
/* What to ask of graph_memory_alloc(). */
void parallel_configure(const struct parallel *, struct graph_conf *);
/* The graph is placed, or planned, and the optimiser laid out. */
void parallel_lay_out(struct parallel *, struct graph *, struct optim *);
/* The graph is placed and the optimiser laid out, but not opened. */
int parallel_attach(struct parallel *, struct graph *, struct optim *,
                    struct err *);
void parallel_close(struct parallel *);

void parallel_begin_micro(struct parallel *, int64_t i, int64_t n);
graph_ready_fn parallel_ready;
/* Gradients of all ranks are there, and the optimiser knows their norm. */
int parallel_measure(struct parallel *, struct err *);
void parallel_stepped(struct parallel *);
/* Let another graph that borrows the weights gather them, too. */
void parallel_attach_reader(struct parallel *, struct graph *);

/* Numbers at..at+count of a whole block, of weights, m or v, from host memory
 * (every rank has them) to what this rank keeps of them.  What was never put is
 * zero.  When the weights are in place, parallel_loaded(). */
enum parallel_state { PARALLEL_WEIGHTS, PARALLEL_M, PARALLEL_V };
int parallel_load(struct parallel *, enum parallel_state, int64_t at,
                  const float *values, int64_t count, struct err *);
int parallel_loaded(struct parallel *, struct err *);
/* The whole block on rank 0, which gives memory for it; NULL elsewhere. */
int parallel_collect(struct parallel *, enum parallel_state, float *whole,
                     struct err *);

/* Bytes of this rank's regions, of graph and optimiser too. */
void parallel_memory(const struct parallel *, int64_t kept[DEV_MODEL_USES]);
/* Bytes of gradients and weights that a rank sends in a step, in the mean: a
 * sum over N ranks is (N - 1) / N of what is summed, and so is gathering. */
int64_t parallel_traffic(const struct parallel *, int64_t micro);

#endif
