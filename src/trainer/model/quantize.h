#pragma once

#include "trainer/model/graph.h"

/*
 * quantize - weights of 8 or 4 bits for inference
 *
 *      if (quantize_weights(&decoder, 4, e) < 0)
 *          ...
 *      quantize_borrow(&prompt, &decoder);
 *
 * Makes a copy of each matrix that a linear operation of the graph reads, with
 * a scale for each group of numbers.  From then on, the operation reads the
 * copy.  The weights must have been loaded before.  Another graph of the same
 * model can read the copies of the first, which must live longer.
 */
int quantize_weights(struct graph *, int bits, struct err *);
void quantize_borrow(struct graph *to, const struct graph *from);
