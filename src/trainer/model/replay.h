#ifndef TRAINER_MODEL_REPLAY_H
#define TRAINER_MODEL_REPLAY_H

#include "trainer/model/graph_run.h"
#include "trainer/settings/settings.h"

/*
 * replay - a micro-step that is launched with one call
 *
 *      replay_open(&r, g, wanted, flops);
 *      replay_train(&r, ready, arg);           in place of graph_run_train()
 *      replay_close(&r);
 *
 * Launching the few hundred kernels of a micro-step takes a GPU a millisecond
 * or two: little where they run for a hundred, a third of the time where the
 * batch is small.  A device that can record work (dev.h: graph_begin) records
 * the micro-step once and then runs the recording.  The first micro-step of a
 * kind runs as usual, so that algorithms are chosen and memory is allocated;
 * the second is recorded.  There are two kinds: gradients are set in the first
 * micro-batch of a step, and added to in the others.
 *
 * A recording has the values of the kernels' arguments, so another is made
 * when the loss scale has changed.  A model with dropout, whose random numbers
 * depend on the step, is never replayed; nor is one whose gradients are
 * exchanged during backward.  If recording fails, training continues without.
 */
struct replay {
    struct graph *graph;
    bool on;
    struct replay_kind {
        bool has_run; /* once, without being recorded */
        struct dev_graph *work;
        float head_scale; /* as recorded */
    } kind[2];
    int64_t times; /* how often a recording was run */
};

/* `flops` are those of a micro-step: `auto` replays short ones only. */
void replay_open(struct replay *, struct graph *, enum cuda_graphs,
                 double flops);
void replay_train(struct replay *, graph_ready_fn *ready, void *arg);
void replay_close(struct replay *);

#endif
