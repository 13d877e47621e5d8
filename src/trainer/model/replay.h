#ifndef TRAINER_MODEL_REPLAY_H
#define TRAINER_MODEL_REPLAY_H

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * replay - a micro-step given to the device with one call
 *
 *      replay_open(&r, g, wanted, flops);
 *      replay_train(&r, ready, arg);           in place of graph_train()
 *      replay_close(&r);
 *
 * A GPU has to be told of some hundred kernels a micro-step, which takes a
 * millisecond or two: nothing where it works on them for a hundred, and a
 * third of the time where the batch is small.  A device that can keep work
 * (dev.h: graph_begin) is told once, and from then on to do that again.  The
 * first micro-step of a kind runs as always, so that plans are made and memory
 * is taken; the second is kept.  There are two kinds: gradients are set in the
 * first micro-batch of a step, and added to in the others.
 *
 * What a kernel is told by value stays as it was, so work is kept again when
 * the scale of the loss has moved, and a model with dropout, whose random
 * numbers are counted by step, is never replayed; nor is one whose gradients
 * are exchanged as they come.  Where keeping fails, all goes on as without.
 */
struct replay {
    struct graph *graph;
    bool on;
    struct replay_kind {
        bool warm; /* it has run once */
        struct dev_graph *work;
        float head_scale; /* as it is in there */
    } kind[2];
    int64_t times; /* that it was replayed */
};

/* `flops` are those of a micro-step: auto replays where they are few. */
void replay_open(struct replay *, struct graph *, enum cuda_graphs,
                 double flops);
void replay_train(struct replay *, graph_ready_fn *ready, void *arg);
void replay_close(struct replay *);

#endif
