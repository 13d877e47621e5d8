#pragma once

#include "common/err.h"
#include "kernels/dev.h"
#include "kernels/gpus.h"
#include "trainer/settings/settings.h"

/*
 * hardware - the rates of machines for training, looked up or measured
 *
 * Rates are without sparsity, in TFLOP/s of all devices together, and in GB/s
 * of one device.
 */
enum { HARDWARE_FP8 = 3 };

struct hardware {
    const char *name;
    /* fp32 (TF32 if the device has it), bf16, fp16, fp8; 0: not known, or it
     * cannot */
    double tflops[4];
    double gib;    /* memory of one device */
    double memory; /* its rate; 0: not known */
    double link;   /* to another device of the machine, in one direction */
    int devices;
    const char *source;
    bool whole; /* ranks share it */
};

struct hardware hardware_of(const struct gpu *);

/* The device that train.device names on this machine, with its memory and its
 * peak rate in train.precision, which is plan.peak_tflops, known or measured;
 * false if it has none. */
bool hardware_measure(struct hardware *, const struct settings *);

/* The peak rate in train.precision, in TFLOP/s; with auto, in the precision
 * that this device would choose. */
double hardware_tflops(const struct hardware *, const struct settings *);

/* The CPU threads of one of `local_ranks` ranks on this machine; `shared` as
 * for cores_of_rank(). */
int hardware_threads(const struct settings *, int local_ranks, bool shared);

/* Parse one row of "name:tflops:GiB:devices, ..." and advance *text past it.
 * Returns 1, or 0 at the end.  h->name is set to `name`. */
int hardware_parse(const char **text, char name[32], struct hardware *,
                   struct err *);

/*
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
