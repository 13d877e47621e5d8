#pragma once

#include <stdint.h>

/*
 * forecast - the end of a loss curve, from its beginning and its schedule
 *
 *      struct loss_curve c = { .steps = n, .loss = loss, .lr = lr };
 *
 *      forecast_losses(&c, now, step, n, loss);
 *          ... the losses near these n steps, as step `now` lets them be seen
 *
 * The law is from Tissue, Wang and Wang, "Scaling law with learning rate
 * annealing" (arXiv:2408.11029): L = L0 + A S1^-a - C S2, where S1 is the sum
 * of the learning rates so far, and S2 that of their decreases, each of which
 * has its effect gradually.  For each of some exponents, L0, A and C follow by
 * least squares from means of the losses so far; the exponent with the least
 * squares counts.  L0 is 0 where it would be negative, and what C takes off in
 * the rest of the schedule is at most a seventh of the present loss, which no
 * forecast exceeds.
 *
 * forecast_interval() tells how far such forecasts are off, from forecasts of
 * curves whose end is known: if the next one is like these, its error lies
 * between two of theirs with a known probability (Vovk et al., "Algorithmic
 * learning in a random world", 2005), whatever their distribution is.
 */
struct loss_curve {
    int64_t steps; /* of the whole training */
    double *loss;  /* of step i + 1; NaN: none */
    double *lr;
};

enum {
    FORECAST_LEAST = 100, /* steps before `now` */
    FORECAST_VALUES = 8   /* values, of which the first fifth is passed over */
};

/* NaN for each step if there are too few losses, or no law fits them. */
void forecast_losses(const struct loss_curve *, int64_t now,
                     const int64_t *step, int n, double *loss);

/* The mean of the losses of the last 2 % of the steps up to this one, but of at
 * least 25 or, if they are fewer than 250, a tenth of them, or the last loss
 * before it; NaN if there is none. */
double forecast_mean(const struct loss_curve *, int64_t step);

struct forecast_interval {
    double loss, low, high;
    double coverage; /* the probability that the interval contains the loss; 0:
                      * there are fewer than three other curves */
};

/* Correct a forecast by n ratios of a true loss to its forecast, which are
 * sorted; nothing is above `most`. */
struct forecast_interval forecast_interval(double loss, double *ratio,
                                           int64_t n, double most);
