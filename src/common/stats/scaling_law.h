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

/*
 * least_squares - factors of a few terms whose sum is nearest to some values
 *
 *      struct least_squares l = { .x = x, .stride = 3, .y = y, .n = n };
 *
 *      if (least_squares_fit(&l, 3))
 *          ... l.factor[0] x[3 i] + l.factor[1] x[3 i + 1] + ... is near y[i]
 *
 * The normal equations are solved by elimination, which is exact enough for up
 * to four terms of similar size.
 */
enum { LEAST_SQUARES_TERMS = 4 };

struct least_squares {
    const double *x; /* the terms of each value, every `stride` numbers */
    size_t stride;
    const double *y;
    size_t n;
    double factor[LEAST_SQUARES_TERMS]; /* 0 for terms that are not used */
    double squares;                     /* the sum of squared differences */
};

/* Use the first `terms` terms.  False if they depend on each other. */
bool least_squares_fit(struct least_squares *, int terms);
