#pragma once

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * optim - update the weights by the gradients
 *
 *      optim_lay_out(&o, conf, graph);
 *      optim_open(&o, e)
 *      optim_add_losses(&o, losses, first);    of each micro-batch
 *      optim_measure(&o);              compute the norm
 *      optim_read_sums(&o);
 *      dev_sync(...)
 *      optim_norm(&o, scale)           the norm before clipping
 *      optim_step(&o, lr, scale);      clip and update
 *
 * Parameters that are treated alike are adjacent in the block, so an update is
 * a few calls over ranges.  Decay applies to tensors of two or more dimensions.
 * Muon updates the matrices of the blocks, each projection by itself, and AdamW
 * the embeddings, head and vectors.  The state has first moments for all
 * parameters, second ones for those that AdamW or Adam updates, and with
 * muon_rows one for each row of a matrix that Muon updates.  Moments are
 * fp32 or bf16, and so are the weights (graph->masters); bf16 is rounded at
 * random after each update.
 *
 * A gradient that is not finite changes nothing, nor, with needs_losses, does a
 * sum of losses that is not finite.  So optim_step() may come before the wait;
 * the caller sees these numbers after it, and calls optim_undo_step() if the
 * weights have not moved.
 */

/*
 * How fast a parameter is updated.  An optim.group.N names
 * parameters, by a pattern or as one of four kinds, and gives them a rate, a
 * first decay rate or a weight decay of their own.  Later groups take
 * precedence.  param_rates_check() refuses a group that cannot be read, or that
 * names no parameter of the graph; after it param_rates_of() cannot fail.
 */
struct param_rates {
    double lr_factor; /* on the scheduled rate */
    double beta1;     /* or the momentum; -1: as the settings say */
    double decay;     /* at the start of the schedule */
};

int param_rates_check(const struct settings *, const struct graph *,
                      struct err *);
/* muon: whether Muon updates it; decayed: whether it is by default. */
struct param_rates param_rates_of(const struct optim_settings *,
                                  const struct graph_param *, bool muon,
                                  bool decayed);
/* The parameters that a group names, in all. */
int64_t param_rates_count(const char *group, const struct graph *);

/* A part of the block whose state this process keeps, at `own` in m. */
struct optim_piece {
    int64_t at, count, own;
};

struct optim_range {
    int64_t at, count;          /* in the block */
    int64_t own;                /* in m; `at`, unless the state is sharded */
    int64_t v_at;               /* in v; -1: none */
    int64_t rows, cols;         /* of a matrix for muon, */
    int64_t stack[GRAPH_STACK]; /* and of the projections in it */
    enum optim_name name;
    struct param_rates rates;
};

struct optim {
    const struct optim_settings *conf;
    struct graph *graph;
    struct optim_range *range;
    int n_ranges, room_ranges;
    struct region m, v, work, sum;
    int64_t m_count, v_count;
    bool seconds; /* a parameter, here or elsewhere, has second moments */
    /* The own pieces, addressed as m is, if sharded; else empty. */
    struct region own_weights, own_copies, own_grads;
    double decay_left;    /* of the next step */
    double sumsq;         /* on the host, after a sync */
    double losses;        /* the sum of the losses, likewise */
    double first_sumsq;   /* of the gradient of the first micro-batch */
    bool needs_losses;    /* to be finite */
    int64_t steps;        /* updates made */
    bool rounds_randomly; /* the 16-bit copies of weights */
    uint64_t seed;        /* of rounding, with the number of updates */
};

/* Sizes only, which is all that gtrain plan needs. */
void optim_lay_out(struct optim *, const struct optim_settings *,
                   struct graph *);
/* Keep only the state of these pieces; m has `total` elements. */
void optim_keep_pieces(struct optim *, const struct optim_piece *, int n,
                       int64_t total);
enum dtype optim_moment_type(const struct optim *);
/* How many second moments a parameter has: one for each element or row, or
 * none; and a range. */
int64_t optim_second_count(const struct optim *, const struct graph_param *);
int64_t optim_range_seconds(const struct optim *, const struct optim_range *);

/* Allocate what was laid out. */
int optim_open(struct optim *, struct err *);
void optim_close(struct optim *);

void optim_add_losses(struct optim *, const struct tensor *, bool first);
/* Add squares up at `to`, on the device, from zero if they are the first. */
void optim_add_squares(struct optim *, void *to, float *grad, int64_t n,
                       bool first);
/* The same for the gradient of the first micro-batch, or a part of it. */
void optim_add_first(struct optim *, float *grad, int64_t n, bool first);
void optim_read_sums(struct optim *);
void optim_measure(struct optim *);
/* Set the norm from a sum of squares that is already known. */
void optim_set_norm(struct optim *, double sumsq);
void optim_step(struct optim *, double lr, double scale);
/* The last step has changed nothing on the device, and does not count. */
void optim_undo_step(struct optim *);
/* Round the weights that begin at `at` in the block to 16 bits as optim_step()
 * does, so that loaded weights have the copies they had when saved. */
void optim_round(const struct optim *, struct dev *, struct tensor *rounded,
                 const struct tensor *w, int64_t at);
double optim_norm(const struct optim *, double scale);
