#pragma once

#include <stdint.h>

#include "common/err.h"
#include "common/stats/scaling_law.h"

/*
 * scaling - the loss of a model of N parameters after D tokens
 *
 *      if (scaling_fit(&s, "mlruns", e) < 0)
 *          return -1;
 *      loss = scaling_loss(&s, 124e6, 2.5e9);
 *
 * L = E + A N^-a + B D^-b (Hoffmann et al., "Training compute-optimal large
 * language models", 2022; common/stats/scaling_law.h) is fitted to the last
 * val/loss of those finished runs of a store that have the validation data of
 * the newest one.
 */
enum { SCALING_LEAST = 5 }; /* runs */

struct scaling {
    struct scaling_law law;
    int64_t runs;
    double least_n, most_n; /* parameters of these runs */
    double off; /* the median error for a run that is left out of the fit */
};

/* Too few runs, or too few sizes or lengths of training, are ERR_MISSING. */
int scaling_fit(struct scaling *, const char *root, struct err *);
/* The law that Besiroglu et al., "Chinchilla scaling: a replication attempt"
 * (arXiv:2404.10102, 2024), fitted to the runs of Hoffmann et al.; it has no
 * runs here. */
void scaling_published(struct scaling *);
double scaling_loss(const struct scaling *, double parameters, double tokens);
