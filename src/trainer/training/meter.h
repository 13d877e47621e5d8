#ifndef TRAINER_TRAINING_METER_H
#define TRAINER_TRAINING_METER_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/run.h"
#include "trainer/training/job.h"

/*
 * meter - how much of the machine is used
 *
 * A thread of its own wakes every few seconds, reads memory and utilisation
 * from /proc (and of GPUs from NVML, where there is one) and stores them under
 * the step that training has reached.  It takes well under a millisecond each
 * time, and training does not wait for it.
 */
enum meter_value {
    METER_CPU_UTIL, METER_RSS, METER_ALLOCATED, METER_RESERVED, METER_PEAK,
    METER_GPU_UTIL, METER_GPU_MEM, METER_GPU_POWER, METER_GPU_ENERGY,
    METER_GPU_TEMP, METER_GPU_CLOCK, METER_GPU_MEM_CLOCK, METER_GPU_THROTTLED,
    METER_USES, /* the device's memory, by what it is for */
    METER_VALUES = METER_USES + DEV_USES
};

struct meter {
    struct run *run;            /* of rank 0; NULL elsewhere */
    int rank, size;
    double every;
    struct dev *dev;
    struct dev_memory memory; /* as the last step left it; under the lock */
    double peak_flops; /* of the device; 0: unknown */
    double flops_per_token;
    atomic_llong step;
    bool running, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct nvml *nvml; /* or NULL */
    double latest[METER_VALUES];        /* under the lock; NaN: none */
    bool fresh;
};

void meter_open(struct meter *, struct job *, struct run *);
void meter_step(struct meter *, int64_t step);
/* What was read since the last call, NaN where nothing was.  Ranks that do not
 * write the run hand theirs to rank 0, which stores them under their rank. */
void meter_take(struct meter *, double out[METER_VALUES]);
void meter_store(struct meter *, int rank, const double value[METER_VALUES]);
void meter_close(struct meter *);

/* Part of the device's peak that so many tokens a second are, or NaN. */
double meter_mfu(const struct meter *, double tokens_per_second);

/* The rate of a large matrix product, in operations a second; and of a large
 * copy, in bytes read and written a second.  0: it cannot be told. */
double meter_measure_peak(struct dev *, enum dtype);
double meter_measure_copy(struct dev *);

#endif
