#ifndef TRAINER_MODEL_QUANTIZE_H
#define TRAINER_MODEL_QUANTIZE_H

#include "trainer/model/graph.h"

/*
 * quantize - 8-bit weights for inference
 *
 * Adds an 8-bit copy of each matrix that a linear operation reads, with a
 * scale for each row; the operation reads the copy from then on.  The weights
 * must have been loaded.
 */
int quantize_weights(struct graph *, struct err *);

#endif
