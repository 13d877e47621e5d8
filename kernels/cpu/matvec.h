#pragma once

#include "kernels/cpu/cpu.h"

/*
 * matvec - products of a few rows with a whole matrix, as in sampling
 *
 * y(N,M) = x(N,C) w(M,C)' + b(M); b is optional.  w is read once, from end to
 * end, which takes most of the time.
 */
void matvec_linear(struct dev *, struct tensor *y, const struct tensor *x,
                   const struct tensor *w, const struct tensor *b)
    CPU_SYMBOL(matvec_linear);
