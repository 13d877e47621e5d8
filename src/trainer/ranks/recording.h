#pragma once

#include "trainer/ranks/parallel.h"
#include "trainer/settings/settings.h"

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
