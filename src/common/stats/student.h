#pragma once

#include <stddef.h>

/*
 * student - quantiles of Student's t-distribution
 *
 *      half = student_quantile(0.975, n - 1) * deviation / sqrt(n);
 *
 * is half of the 95 % interval of a mean.  The distribution function follows
 * Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
 */

/* p from 0.5 to below 1; freedom 1 or more. */
double student_quantile(double p, size_t freedom);
