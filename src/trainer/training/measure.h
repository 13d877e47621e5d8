#ifndef TRAINER_TRAINING_MEASURE_H
#define TRAINER_TRAINING_MEASURE_H

#include "kernels/dev.h"

/*
 * measure - how fast a device multiplies matrices and copies memory
 *
 * measure_matmul() is the rate of a large matrix product, in operations a
 * second, a little below the peak of the data sheet; measure_copy() that of a
 * large copy, in bytes read and written a second.  0: not known.
 */
double measure_matmul(struct dev *, enum dtype);
double measure_copy(struct dev *);

#endif
