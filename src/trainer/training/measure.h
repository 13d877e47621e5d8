#ifndef TRAINER_TRAINING_MEASURE_H
#define TRAINER_TRAINING_MEASURE_H

#include "kernels/dev.h"

/*
 * measure - measure how fast a device multiplies matrices and copies memory
 *
 * measure_matmul() returns the rate of a large matrix product in operations per
 * second, which is a little below the peak of the data sheet; measure_copy()
 * that of a large copy in bytes read and written per second.  0: not known.
 */
double measure_matmul(struct dev *, enum dtype);
double measure_copy(struct dev *);

#endif
