#pragma once

#include <stdbool.h>

#include "common/err.h"

BEGIN_EXTERN_C

/*
 * gpus - what data sheets say about GPUs, and about what plan compares
 *
 * Rates are of dense products with sums in fp32, in TFLOP/s of all devices of
 * the row together; memory and links are in GB/s of one device.  0 is not
 * known, or it cannot.
 */
struct gpu {
    const char *name; /* words, all of which are in the device's name */
    int capability;   /* ten times the compute capability; 0: not NVIDIA's */
    int sms;          /* multiprocessors, which tell laptops; 0: not known */
    double f32, tf32, half, fp8;
    double gib, memory; /* size and rate of its memory */
    double link;        /* to another device of the machine, one direction */
    bool hours;         /* the table of hours of gtrain plan has it */
    int devices;        /* 0: one */
};

enum { GPU_CAPABILITY = 80 }; /* the least that the CUDA kernels need */

extern const struct gpu gpu_table[]; /* ends with a NULL name */

/* The share of the row's rates that a device has by its name and number of
 * multiprocessors: 1, less for a slice (MIG), and 0 for another device. */
double gpu_share(const struct gpu *gpu, const char *device, int sms);

END_EXTERN_C
