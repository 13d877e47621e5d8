#ifndef COMMON_STATS_CORRELATION_H
#define COMMON_STATS_CORRELATION_H

#include <stddef.h>

/*
 * correlation - how far two numbers rise together
 *
 * Spearman's rank correlation: 1 if the greater x always has the greater y, -1
 * if it always has the smaller one.  Equal values share the mean of their
 * ranks.  Pairs with a value that is not finite are left out; *used becomes the
 * number of the others.  NaN if either does not vary.
 */
double correlation_ranks(const double *x, const double *y, size_t n,
                         size_t *used);

#endif
