#ifndef PLOT_FIT_H
#define PLOT_FIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * fit - fit y = a x^-b to points by least squares of the logarithms
 *
 * r2 is the part of the variance of log y that the law explains.
 */
struct fit {
    double a, b, r2;
};

/* False for fewer than three points, values of 0 or less, or only one x. */
bool fit_power(struct fit *, const double *x, const double *y, size_t n);

#endif
