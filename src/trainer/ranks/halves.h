#pragma once

#include "kernels/dev.h"

/*
 * halves - floats that travel or stay as bf16
 *
 * halves_pack() rounds n floats to bf16, in the first half of their own memory,
 * and halves_unpack() makes them floats again.  halves_put() stores n floats as
 * bf16 in the memory of a device.
 */
void halves_pack(float *x, int64_t n);
void halves_unpack(float *x, int64_t n);
void halves_put(struct dev *, void *to, const float *x, int64_t n);
