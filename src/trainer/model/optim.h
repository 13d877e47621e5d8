#ifndef TRAINER_MODEL_OPTIM_H
#define TRAINER_MODEL_OPTIM_H

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * optim - from gradients to the next weights
 *
 *      optim_lay_out(&o, conf, graph);
 *      optim_open(&o, e)
 *      optim_measure(&o);              ask for the norm
 *      dev_sync(...)
 *      optim_norm(&o, scale)           what it is before clipping
 *      optim_step(&o, lr, scale);      clip and update
 *
 * Parameters that are treated alike lie together in the block, so an update is
 * a few calls over ranges.  Decay is for tensors of two or more dimensions.
 * Muon moves the matrices of the blocks; embeddings, head and vectors have
 * AdamW beside it.  State is fp32: first moments for all parameters, second
 * ones for those that AdamW or Adam moves.
 *
 * A gradient that is not finite moves nothing; the caller sees it in the norm
 * and need not take the step.
 */
/* A part of the block whose state this process keeps, from `own` on in m. */
struct optim_piece {
    int64_t at, count, own;
};

struct optim_range {
    int64_t at, count;  /* in the block */
    int64_t own;        /* in m; `at`, unless the state is shared out */
    int64_t v_at;       /* in v; -1: has none */
    int64_t rows, cols; /* of a matrix for muon */
    enum optim_name name;
    bool decayed;
    double lr_factor; /* on the scheduled rate */
};

struct optim {
    const struct optim_settings *conf;
    struct graph *graph;
    struct optim_range *range;
    int n_ranges, room_ranges;
    struct region m, v, work, sum;
    int64_t m_count, v_count;
    bool seconds; /* some parameter has second moments, maybe elsewhere */
    /* Shared out: where the own pieces are, addressed as m is; else empty. */
    struct region own_weights, own_copies, own_grads;
    double sumsq;  /* on the host, after a sync */
    int64_t steps; /* updates made */
    /* The 16-bit copies of weights are rounded at random, by this seed and the
     * number of updates, whoever keeps them. */
    bool rounds_randomly;
    uint64_t seed;
};

/* Sizes alone; gtrain plan needs no more. */
void optim_lay_out(struct optim *, const struct optim_settings *,
                   struct graph *);
/* Keep the state of these pieces alone; `total` elements of m. */
void optim_keep_pieces(struct optim *, const struct optim_piece *, int n,
                       int64_t total);
bool optim_has_second(const struct optim *, const struct graph_param *);

/* Take the memory of what was laid out. */
int optim_open(struct optim *, struct err *);
void optim_close(struct optim *);

void optim_measure(struct optim *);
/* The same from a sum that is known already. */
void optim_set_norm(struct optim *, double sumsq);
void optim_step(struct optim *, double lr, double scale);
/* Weights from `at` on in the block to their 16-bit copies, as optim_step()
 * leaves them: what was loaded has the bits that it had when it was saved. */
void optim_round(const struct optim *, struct dev *, struct tensor *low,
                 const struct tensor *w, int64_t at);
double optim_norm(const struct optim *, double scale);

#endif
