#ifndef STORE_SPIKE_H
#define STORE_SPIKE_H

#include <stddef.h>

/*
 * spike - a value that stands out
 *
 * A value is a spike if it is more than SPIKE_DEVIATIONS robust standard
 * deviations above the median of the SPIKE_WINDOW finite values before it
 * (1.4826 times the median absolute deviation estimates the standard deviation
 * of normal numbers).
 */
enum { SPIKE_WINDOW = 64, SPIKE_LEAST = 16, SPIKE_DEVIATIONS = 8 };

/* The deviations of value i above that median, *middle; both are NaN if there
 * are fewer than SPIKE_LEAST values before it. */
double spike_score(const double *value, size_t i, double *middle);

#endif
