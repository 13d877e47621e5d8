#pragma once

#include <stdbool.h>
#include <stddef.h>

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
