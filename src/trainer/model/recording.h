#pragma once

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * recording - launch a micro-step with one call
 *
 *      recording_open(&r, g, wanted, flops);
 *      recording_train(&r, alone, ready, arg);    in place of graph_run_train()
 *      recording_close(&r);
 *
 * Launching the few hundred kernels of a micro-step takes a millisecond or two.
 * That is a third of the time if the batch is small.  A device that can record
 * work (dev.h: capture_begin) records the micro-step once and then runs the
 * recording.  The first micro-step of a kind runs as usual, so that algorithms
 * are chosen and memory is allocated; the second is recorded.  There are two
 * kinds: gradients are set in the first micro-batch of a step, and added to in
 * the others.
 *
 * A recording contains the arguments of the kernels, so another one is made
 * when the loss scale has changed.  A model with dropout, whose random numbers
 * depend on the step, is never recorded; nor is a micro-step that other ranks
 * take part in, which is then not `alone`.  If recording fails, that is a
 * warning, and training continues without it.
 *
 * recording_make() records a micro-step.  If that fails, it tries again with
 * kernels that do not overlap; if they have to stay so, it says that, and sets
 * *waits.
 */
struct recording {
    struct graph *graph;
    bool on;
    struct recording_kind {
        bool has_run; /* without being recorded */
        struct dev_capture *work;
        float head_scale; /* as recorded */
    } kind[2];
    int64_t times; /* how often a recording was run */
};

/* `flops` is the cost of a micro-step: `auto` records short ones only. */
void recording_open(struct recording *, struct graph *, enum cuda_graphs,
                    double flops);
void recording_train(struct recording *, bool alone, graph_ready_fn *ready,
                     void *arg);
void recording_close(struct recording *);
struct dev_capture *recording_make(struct graph *, bool *waits, struct err *);
