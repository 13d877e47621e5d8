#ifndef TRAINER_MODEL_QUANTIZE_H
#define TRAINER_MODEL_QUANTIZE_H

#include "trainer/model/graph.h"

/*
 * quantize - 8-bit weights for inference
 *
 * Makes an 8-bit copy of each matrix that a linear operation reads, with a
 * scale for each row.  From then on, the operation reads the copy.  The weights
 * must have been loaded before.
 */
int quantize_weights(struct graph *, struct err *);

#endif
