#pragma once

#include <stddef.h>

/*
 * spike - a value that stands out
 *
 *      struct spike_window w = { .n = 0 };
 *
 *      for (i = 0; i < n; i++)
 *          if (spike_score(&w, value[i], &middle) > SPIKE_DEVIATIONS)
 *              ...
 *
 * A value is a spike if it is more than SPIKE_DEVIATIONS robust standard
 * deviations above the median of the SPIKE_WINDOW finite values before it
 * (1.4826 times the median absolute deviation estimates the standard deviation
 * of normal numbers).
 */
enum { SPIKE_WINDOW = 64, SPIKE_LEAST = 16, SPIKE_DEVIATIONS = 8 };

/* The last finite values. */
struct spike_window {
    double value[SPIKE_WINDOW]; /* as they came; the oldest at `next` */
    double sorted[SPIKE_WINDOW];
    size_t n, next;
};

/* The deviations of the next value above that median, *middle; both are NaN if
 * there are fewer than SPIKE_LEAST values before it. */
double spike_score(struct spike_window *, double value, double *middle);
