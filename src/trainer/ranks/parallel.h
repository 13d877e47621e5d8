#pragma once

#include "kernels/dev.h"
#include "trainer/model/graph.h"
#include "trainer/model/optim.h"
#include "trainer/ranks/coll.h"
#include "trainer/settings/settings.h"

/*
 * parallel - divide the state of training among ranks
 *
 *      mode    weights  gradients  moments     floats of each of N ranks
 *      ddp     whole    whole      whole       4 P
 *      zero1   whole    whole      sharded     2 P + 3 P / N
 *      zero2   whole    sharded    sharded     1 P + 3 P / N, and two layers
 *      fsdp    sharded  sharded    sharded     4 P / N, and two layers twice
 *
 * If the model computes in 16 bits, "whole" weights are 16-bit ones, and fp32
 * master weights are sharded with the moments, from zero1 on.
 *
 * Each unit of the graph (a layer, the embedding, the head) is divided into as
 * many parts as there are ranks, and rank r keeps the r-th part.  The parts are
 * equal, except that the last rank also keeps the rest of the division.  With
 * train.deterministic, parts are whole chunks of SUMSQ_CHUNK elements, so that
 * the norm does not depend on the number of ranks.  Muon needs whole matrices,
 * so then the bounds are between matrices.  In both cases, a rank may keep
 * nothing of a unit.
 *
 * When backward has finished a unit, the thread of coll.c sums its gradients
 * over the ranks while backward continues.  Under fsdp, the weights of a layer
 * are gathered before they are needed, those of the next layer while it
 * computes; there is memory for two layers, and the embedding and the head
 * stay.
 *
 * With train.deterministic, the gradient of every micro-batch is computed from
 * zero and added as a whole, in the order of the micro-batches in the step,
 * whichever rank computed it; and the norm is summed by chunks in order.  So
 * the weights after any number of steps have the same bits for every mode and
 * any number of ranks that share the micro-batches of a step evenly, one rank
 * included.  Otherwise ddp and zero1 sum what a rank has accumulated, once per
 * step, and results differ by rounding.
 *
 *      parallel_open(&p, ...)
 *      parallel_configure(&p, &conf)   before graph_memory_alloc()
 *      parallel_attach(&p, ...)        after it, and before optim_open()
 *      for each micro-batch:
 *          parallel_begin_micro(&p, i, n);
 *          graph_run_train(g, parallel_ready, &p);
 *      parallel_measure(&p, e)         the norm, over all ranks
 *      optim_step(...)
 *      parallel_stepped(&p)            all ranks get the new weights
 *
 * parallel_lay_out() does what parallel_attach() does, but without memory or
 * other ranks: the sizes of all regions are known after it.
 */
struct parallel {
    const struct settings *set;
    struct coll *coll;
    struct graph *graph;
    struct optim *optim;
    enum parallel_mode mode;
    bool training;
    bool ordered;     /* deterministic */
    bool first, last; /* is this micro-batch of the step */

    struct shared_unit {
        struct shared_chunk {
            int64_t at;      /* from the unit's start */
            bool may_divide; /* the unit before it */
        } * chunk;           /* and one more at the end */
        int n_chunks, room_chunks;
        int64_t *bounds;   /* size + 1; from the unit's start */
        int *bound_chunk;  /* deterministic: the chunk that begins there */
        int64_t own;       /* where the own part is in own regions */
        uint64_t reduced;  /* the call of coll.h that sums it */
        uint64_t gathered; /* the call that gathers its weights */
        bool present;      /* fsdp: gathered, or being gathered */
    } * unit;
    int64_t own_count;     /* elements of all own parts */
    int64_t chunks;        /* of all units */
    struct region acc;     /* own gradient sums */
    struct region weights; /* fsdp: own weights */
    struct region copies;  /* fsdp: their 16-bit copies */
    struct region squares; /* deterministic: a double per chunk */
};

/* Several ranks use all of this, and one rank does if it is deterministic. */
bool parallel_used(const struct parallel *);
bool parallel_shares_state(const struct parallel *);   /* zero1 and up */
bool parallel_shares_grads(const struct parallel *);   /* zero2 and up */
bool parallel_gathers(const struct parallel *);        /* fsdp */
bool parallel_shares_masters(const struct parallel *); /* master weights */
/* Are gradients summed over the ranks after each micro-batch? */
bool parallel_sums_each(const struct parallel *);

void parallel_open(struct parallel *, const struct settings *, struct coll *,
                   bool training);
/* Set what the graph shares or keeps elsewhere. */
void parallel_configure(const struct parallel *, struct graph_conf *);
/* After graph_memory_alloc() or graph_memory_size(), and optim_lay_out(). */
void parallel_lay_out(struct parallel *, struct graph *, struct optim *);
/* After graph_memory_alloc() and optim_lay_out(), before optim_open(). */
int parallel_attach(struct parallel *, struct graph *, struct optim *,
                    struct err *);
void parallel_close(struct parallel *);

void parallel_begin_micro(struct parallel *, int64_t i, int64_t n);
/* Are gradients summed over the ranks while this micro-step runs? */
bool parallel_sums_now(const struct parallel *);
/* A unit's gradient is there: sum it over the ranks, and before that its
 * squares, if it is that of the first micro-batch of the step. */
graph_ready_fn parallel_ready;
/* Before recorded work is run: it waits for what is still on the way.  And
 * after it ran or was recorded: the calls of coll.h that summed the gradients
 * of units are not those that parallel_ready() made. */
void parallel_begin_recorded(struct parallel *);
void parallel_end_recorded(struct parallel *);
/* Wait for the gradients of all ranks, and set their norm in the optimiser. */
int parallel_measure(struct parallel *, struct err *);
void parallel_stepped(struct parallel *);
/* Let another graph, which borrows the weights, gather them, too. */
void parallel_attach_reader(struct parallel *, struct graph *);

/* Load elements at..at+count of the whole block of weights, m or v, which every
 * rank has in the memory of the host, into the pieces that this rank keeps.
 * Elements that are never loaded are zero.  After all weights, call
 * parallel_loaded(). */
enum parallel_state { PARALLEL_WEIGHTS, PARALLEL_M, PARALLEL_V };
int parallel_load(struct parallel *, enum parallel_state, int64_t at,
                  const float *values, int64_t count, struct err *);
int parallel_loaded(struct parallel *, struct err *);
/* The k-th part of the block of weights that this rank keeps, `count` elements
 * from `at` on; false if there are fewer parts. */
bool parallel_kept_weights(const struct parallel *, int k, int64_t *at,
                           int64_t *count);
/* Collect a whole block in memory of rank 0; NULL on other ranks.  `own` has
 * room for own_count elements. */
int parallel_collect(struct parallel *, enum parallel_state, float *whole,
                     float *own, struct err *);

/* Bytes of the regions of this rank, the graph and the optimiser. */
void parallel_memory(const struct parallel *, int64_t bytes[DEV_MODEL_USES]);
/* Bytes of gradients and weights that a rank sends per step, on average: to
 * reduce or gather a block over N ranks it sends (N - 1) / N of it. */
int64_t parallel_traffic(const struct parallel *, int64_t micro);
/* The bytes that are sent for one element of a gradient. */
int64_t parallel_sum_size(const struct settings *);

/*
 * rank_memory - the memory that ranks will need for training
 *
 * It follows from the layout that training uses; nothing is allocated.  The
 * settings have been resolved; they are changed and restored.
 */
struct rank_memory {
    int64_t bytes[DEV_MODEL_USES]; /* of the rank that needs most */
    int64_t scratch;               /* what a GPU needs besides: plan_step.h */
    int64_t sent;                  /* bytes per step, averaged over ranks */
};

/* For micro-batches of B sequences, without scratch memory. */
void rank_memory_find(struct settings *, int ranks, enum parallel_mode,
                      int64_t B, struct rank_memory *);
int64_t rank_memory_sum(const struct rank_memory *);

/* Warn if `local` of the ranks, on CPUs of this machine, need more memory than
 * the machine has or than a control group allows: where the kernel kills a
 * process for that, it leaves no message. */
void rank_memory_warn(struct settings *, int ranks, int local);

/*
 * recording - launch a micro-step with one call
 *
 *      recording_open(&r, g, wanted, flops);
 *      if (recording_train(&r, p, e) < 0)      in place of graph_run_train()
 *          return -1;
 *      recording_close(&r);                    before parallel_close()
 *
 * Launching the few hundred kernels of a micro-step takes a millisecond or two.
 * That is a third of the time if the batch is small.  A device that can record
 * work (dev.h: capture_begin) records the micro-step once and then runs the
 * recording.  In the first step a micro-step runs as usual, so that algorithms
 * are chosen, memory is allocated and ranks are connected.  There are four
 * kinds: gradients are set in the first micro-batch of a step, and added to in
 * the others; and in some they are summed over the ranks, which is part of the
 * recording where coll_can_record().  Of those, all ranks run what they
 * recorded, or none does.
 *
 * A recording contains the arguments of the kernels, so another one is made
 * when the loss scale has changed.  A model with dropout, whose random numbers
 * depend on the step, is never recorded; nor is a micro-step that gathers
 * weights.  If recording fails, that is a warning, and training continues
 * without it.
 *
 * recording_make() records a micro-step, with its sums over the ranks unless p
 * is NULL.  If that fails, it tries again with kernels that do not overlap; if
 * they have to stay so, it says that, and sets *waits.
 */
struct recording {
    struct graph *graph;
    bool on, on_all; /* this rank can record; so can all ranks */
    struct recording_kind {
        uint64_t ran_after; /* a step in which it was not recorded; 0: none */
        struct dev_capture *work;
        float head_scale; /* as recorded */
        struct coll_calls calls;
    } kind[2][2]; /* the first of a step; with sums */
};

/* `flops` is the cost of a micro-step: `auto` records short ones only. */
void recording_open(struct recording *, struct graph *, enum cuda_graphs,
                    double flops);
int recording_train(struct recording *, struct parallel *, struct err *);
void recording_close(struct recording *);
struct dev_capture *recording_make(struct graph *, struct parallel *p,
                                   struct coll_calls *, bool *waits,
                                   struct err *);
