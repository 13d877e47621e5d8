#ifndef COMMON_STATS_POWER_LAW_H
#define COMMON_STATS_POWER_LAW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * power_law - fit y = a x^-b to points by least squares of the logarithms
 *
 * r2 is the part of the variance of log y that the law explains.
 */
struct power_law {
    double a, b, r2;
};

/* False for fewer than three points, values of 0 or less, or only one x. */
bool power_law_fit(struct power_law *, const double *x, const double *y,
                   size_t n);

#endif
