#pragma once

#include "kernels/dev.h"

/*
 * measure - measure how fast a device multiplies matrices and copies memory
 *
 * measure_large_product() returns the rate of a large matrix product in
 * operations per second, which is a little below the peak of the data sheet;
 * measure_product() that of a product of m x k and k x n; and measure_copy()
 * that of a large copy in bytes read and written per second.  0: not known.
 */
double measure_large_product(struct dev *, enum dtype);
double measure_product(struct dev *, enum dtype, int64_t m, int64_t k,
                       int64_t n);
double measure_copy(struct dev *);

/*
 * Of the CPU: numbers per second to which GELU is applied while they are in the
 * cache; empty parallel regions of `threads` threads per second; and bytes per
 * second that a core sends to itself over TCP and adds to others.
 */
double measure_activations(struct dev *, enum dtype);
double measure_regions(int threads);
double measure_loopback(void);
