#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * scaling_law - fit L = E + A x^-a, or L = E + A x^-a + B y^-b, to losses
 *
 *      struct scaling_law law = { .variables = 1 };
 *
 *      if (scaling_law_fit(&law, compute, loss, n, n))
 *          loss = scaling_law_at(&law, &(double){ 1e21 });
 *
 * E is the loss that no model goes below, since text is not predictable: a
 * power law without it forecasts too low a loss for larger models.  Neither E
 * nor the factors are negative.  For given exponents they follow by least
 * squares; the exponents are searched on a grid, and then around its best
 * point.
 */
enum { SCALING_LAW_VARIABLES = 2 };

struct scaling_law {
    int variables; /* set by the caller */
    double floor;  /* E */
    double factor[SCALING_LAW_VARIABLES], exponent[SCALING_LAW_VARIABLES];
    double r2; /* the part of the variance of the losses that it explains */
};

/* Fit to n losses and the `variables` numbers above 0 of each, without the one
 * of index left_out, if it is below n.  False if no law fits, or if there are
 * fewer losses than variables and two. */
bool scaling_law_fit(struct scaling_law *, const double *x, const double *loss,
                     size_t n, size_t left_out);
double scaling_law_at(const struct scaling_law *, const double *x);
