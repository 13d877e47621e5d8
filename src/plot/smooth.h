#ifndef PLOT_SMOOTH_H
#define PLOT_SMOOTH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * smooth - a calmer curve
 *
 *      ema:0.98   exponential mean, divided by 1 - 0.98^t, so that the first
 *                 points are not drawn to zero
 *      ma:50      mean of the 50 points around each, fewer at the ends
 *      gauss:20   mean weighted by a Gaussian of 20 points, cut at 4 sigma
 *
 * Values that are not finite count for nothing and stay as they are.
 */
enum smooth_kind { SMOOTH_NONE, SMOOTH_EMA, SMOOTH_MA, SMOOTH_GAUSS };

struct smooth {
    enum smooth_kind kind;
    double amount;
};

/* Read "ema:0.98"; false, leaving *out alone, when it is none of these. */
bool smooth_parse(const char *text, struct smooth *out);
/* out may not be in. */
void smooth_apply(const struct smooth *, const double *in, double *out,
                  size_t n);
/* "exponential moving average, 0.98": for the caption. */
char *smooth_name(char out[64], const struct smooth *);

#endif
